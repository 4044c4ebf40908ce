#!/bin/sh
# Tests of a build; ends in one line that counts them: test.sh BUILD [meson test's options]
set -u
build=$1
shift
log=$build/meson-logs/testlog.txt
UNIT_ONLY=${UNIT_ONLY:-}
lanes=$(($(nproc) + 1)) # most of what a test does is wait for a server
if meson test -C "$build" --no-rebuild --num-processes "$lanes" --print-errorlogs ${UNIT_ONLY:+--suite unit} "$@"; then code=0; else code=1; fi
count() { sed -n "s/^$1: *\([0-9][0-9]*\) *$/\1/p" "$log" | tail -1; }
ok=$(count Ok) bad=$(count Fail) late=$(count Timeout) skipped=$(count Skipped)
sed -n 's/^skipped: /skipped, because /p' "$log" | sort | uniq -c
echo "$((${ok:-0})) passed, $((${bad:-0} + ${late:-0})) failed, $((${skipped:-0})) skipped"
[ "$code" = 0 ] && [ "${ok:-0}" -gt 0 ]
