#!/bin/sh
# Writes what is generated from tables into the documents.
set -eu
cd "$(dirname "$0")/.."
build/lynxbench lint --schema >docs/contract.schema.json
build/lynxbench lint --reference >build-reference.md
build/lynxbench lint --drivers >build-drivers.md
python3 - <<'PY'
for path, mark, part in (("docs/contract.md", "fields", "build-reference.md"), ("docs/drivers.md", "drivers", "build-drivers.md")):
    page = open(path).read()
    head, _, rest = page.partition(f"<!-- {mark} -->")
    _, _, tail = rest.partition(f"<!-- end of {mark} -->")
    open(path, "w").write(head + f"<!-- {mark} -->\n" + open(part).read() + f"<!-- end of {mark} -->" + tail)
PY
rm -f build-reference.md build-drivers.md
# The plots of docs/method.md: `scripts/regenerate.sh figures`, from docs/simulation.txt.
if [ "${1:-}" = figures ]; then
  [ -x build/figures/bin/python ] || python3 -m venv build/figures
  build/figures/bin/pip install -q matplotlib
  build/figures/bin/python scripts/figures.py
fi
