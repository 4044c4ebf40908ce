#!/bin/sh
# tests/unit/test_schedule.c holds the digests; here it is built four ways.
set -eu
for compiler in gcc clang; do
  for level in -O0 -O3; do
    $compiler $level -ffp-contract=off -std=c17 -D_GNU_SOURCE -Isrc -I. tests/unit/test_schedule.c src/load/schedule.c src/stats/draw.c src/stats/special.c src/base/random.c src/base/digest.c src/base/arena.c src/base/status.c -lcrypto -lm -o build-schedule
    ./build-schedule
    echo "$compiler $level: the same bytes"
  done
done
rm -f build-schedule
