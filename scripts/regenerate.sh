#!/bin/sh
# Writes what is generated from tables into the documents.
set -eu
cd "$(dirname "$0")/.."
build/lynxbench lint --schema >docs/contract.schema.json
build/lynxbench lint --reference >build-reference.md
python3 - <<'PY'
page = open("docs/contract.md").read()
head, _, rest = page.partition("<!-- fields -->")
_, _, tail = rest.partition("<!-- end of fields -->")
open("docs/contract.md", "w").write(head + "<!-- fields -->\n" + open("build-reference.md").read() + "<!-- end of fields -->" + tail)
PY
rm -f build-reference.md
