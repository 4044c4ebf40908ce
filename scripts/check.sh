#!/bin/sh
# What `make check` holds the tree against: sanitizers, fuzzing, compilers, static analysis, formatting, layers, documents.
set -u
cd "$(dirname "$0")/.."
failed=""
step() {
  name=$1
  shift
  echo "== $name"
  began=$(date +%s)
  if "$@" >build-check.log 2>&1; then
    tail -n "${TAIL:-1}" build-check.log
  else
    code=$?
    if [ "$code" = 77 ]; then tail -n 1 build-check.log; else
      tail -n 60 build-check.log
      echo "FAILED: $name"
      failed="$failed; $name: $(tail -n 1 build-check.log)"
    fi
  fi
  echo "   $(($(date +%s) - began)) s"
}
sanitized() {
  [ -f build-asan/build.ninja ] || CC="${CCACHE:-} gcc" meson setup build-asan -Db_sanitize=address,undefined -Dbuildtype=debugoptimized || return 1
  ninja -C build-asan || return 1
  # Without what judges intervals: the sanitizers slow both sides unlike, and `make test` has judged them.
  long="--no-suite long --no-suite quiet" && [ -n "${SANITIZE_ALL:-}" ] && long=""
  # Leaks count too. The libraries' own start-up leaks are listed in scripts/lsan.supp with their reasons.
  ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 LSAN_OPTIONS=suppressions=$PWD/scripts/lsan.supp:print_suppressions=0 LANES=$(($(nproc) + 1)) scripts/test.sh build-asan $long
}
command -v ccache >/dev/null && CCACHE=ccache || CCACHE=""
export CCACHE

step "warnings are errors: gcc" scripts/werror.sh gcc
step "warnings are errors: clang" scripts/werror.sh clang
step "schedules: the same bytes from gcc and clang at -O0 and -O3" scripts/schedules.sh
step "all tests under the address and undefined-behaviour sanitizers" sanitized
TAIL=6 step "fuzzing, ${FUZZ_SECONDS:-12} s for each reader" scripts/fuzz.sh "${FUZZ_SECONDS:-12}"
step "clang-tidy" scripts/tidy.sh
step "cppcheck" cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --enable=warning,performance,portability --suppress=missingIncludeSystem --suppress=nullPointerRedundantCheck --suppress=invalidPrintfArgType_sint -D__GNUC__ -D_GNU_SOURCE -DLYNX_VERSION='""' -DRECORDED='""' --include=scripts/cppcheck.h -I src -I . src reference
step "layers: no folder includes one above it, no files form a circle" scripts/layers.py build-asan
step "packages: what tests and checks import and call is installed" python3 scripts/needs.py
step "documents against tables" scripts/documents.sh
step "words: plain ones, in short sentences" scripts/words.py
step "formatting" scripts/format.sh
if [ -n "$failed" ]; then
  printf 'make check: FAILED:%s\n' "${failed#;}"
  exit 1
fi
echo "make check: all held"
