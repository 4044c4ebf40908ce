#!/bin/sh
# Tests of a build; ends in one line that counts them: test.sh BUILD [meson test's options]
set -u
build=$1
shift
log=$build/meson-logs/testlog.txt
UNIT_ONLY=${UNIT_ONLY:-}
lanes=${LANES:-$(($(nproc) * 2))} # most of what a test does is wait for a server
if meson test -C "$build" --no-rebuild --num-processes "$lanes" --print-errorlogs ${UNIT_ONLY:+--suite unit} "$@"; then code=0; else code=1; fi
count() { sed -n "s/^$1: *\([0-9][0-9]*\) *$/\1/p" "$log" | tail -1; }
ok=$(count Ok) bad=$(count Fail) late=$(count Timeout) skipped=$(count Skipped)
# Cases that this machine cannot run, each with its reason; where LYNX_TESTS_NEED names what was promised, they failed instead.
cases=$(grep -c '^skipped: ' "$log")
sed -n 's/^skipped: /skipped, because /p' "$log" | sort | uniq -c
echo "$((${cases:-0})) cases were skipped, for what this machine lacks"
# Who reads only the last lines of a log learns which tests failed, and of what.
failures=$(python3 scripts/failures.py "$build/meson-logs/testlog.json")
[ -z "$failures" ] || printf '%s\n' "$failures"
names=$(printf '%s\n' "$failures" | sed -n 's/^FAILED TEST: //p' | paste -s -d ' ' -)
echo "$((${ok:-0})) passed, $((${bad:-0} + ${late:-0})) failed${names:+ ($names)}, $((${skipped:-0})) skipped"
[ "$code" = 0 ] && [ "${ok:-0}" -gt 0 ]
