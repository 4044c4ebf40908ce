#!/bin/sh
# The tree is as clang-format 14 writes it (another version breaks lines elsewhere, so it is not asked).
set -eu
for file in $(git ls-files scripts packaging docs examples src web python); do
  if [ ! -s "$file" ]; then
    echo "$file is empty" >&2
    exit 1
  fi
done
if LC_ALL=C.UTF-8 grep -nE '^.{121,}$' tests/e2e/*.py; then
  echo "lines of tests with more than 120 characters" >&2
  exit 1
fi
idle=$(grep -L 'main(__file__)' tests/e2e/test_*.py || true)
if [ -n "$idle" ]; then
  echo "run as programs these tests do nothing: they lack main(__file__): $idle" >&2
  exit 1
fi
version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
if [ "$version" != 14 ]; then
  echo "skipped, because clang-format is $version and the tree is formatted by 14"
  exit 77
fi
git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
echo "formatted"
