#!/bin/sh
# Puts py-spy beside the built program, where diagnose looks for it: py_spy.sh BUILD. One that is there stays. By pip, from PyPI.
set -eu
build=${1:?the build folder}
[ ! -x "$build/py-spy" ] || exit 0
found=$(command -v py-spy || true)
if [ -z "$found" ]; then
  { python3 -m venv "$build/demo-tools" && "$build/demo-tools/bin/pip" install -q py-spy; } >/dev/null 2>&1 || exit 1
  found=$build/demo-tools/bin/py-spy
fi
cp "$found" "$build/py-spy.new"
chmod 755 "$build/py-spy.new"
mv "$build/py-spy.new" "$build/py-spy"
