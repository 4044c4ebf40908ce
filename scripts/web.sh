#!/bin/sh
# What the tests of the pages check accessibility by: axe-core, as PyPI has it, in build/web.
set -eu
build=$1
[ -f "$build/web/axe.min.js" ] && exit 0
mkdir -p "$build/web"
[ -x "$build/web/python/bin/pip" ] || python3 -m venv "$build/web/python"
"$build/web/python/bin/pip" install -q --no-deps axe-playwright-python
cp "$("$build/web/python/bin/python" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("axe_playwright_python").origin))')/axe.min.js" "$build/web/"
