#!/bin/sh
# What is generated from tables stands in the documents as it is; every formula, command and table has its place.
set -eu
lynx=${BUILD:-build}/lynxbench
[ -x "$lynx" ] || ninja -C build lynxbench >/dev/null
fail() {
  echo "documents: $1"
  exit 1
}
"$lynx" help --all | sed -n '/^Prepare$/,/^exit codes/p' | sed '$d' | python3 -c "
import sys
sys.exit(0 if sys.stdin.read().strip() in open('README.md').read() else 1)" || fail "README.md: the block of commands is not that of lynxbench help --all"
# The worked examples of how to extend it are C.
python3 - <<'PY' || fail "CONTRIBUTING.md: an example does not compile"
import re, subprocess, sys
blocks = re.findall(r"```c\n(.*?)```", open("CONTRIBUTING.md").read(), flags=re.S)
flags = "-std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -Wmissing-prototypes -Isrc -I. -fsyntax-only -xc -".split()
sys.exit(0 if len(blocks) >= 3 and all(subprocess.run(["gcc", *flags], input=b, text=True).returncode == 0 for b in blocks) else 1)
PY
"$lynx" lint --schema | cmp -s - docs/contract.schema.json || fail "docs/contract.schema.json: run scripts/regenerate.sh"
for page in reference:contract drivers:drivers; do
  "$lynx" lint --"${page%:*}" >build-part.md
  python3 - build-part.md "docs/${page#*:}.md" <<'PY' || fail "docs/${page#*:}.md: run scripts/regenerate.sh"
import sys
sys.exit(0 if open(sys.argv[1]).read().strip() in open(sys.argv[2]).read() else 1)
PY
done
rm -f build-part.md
for id in $(sed -n 's/.*{"\(lynx\.[a-z_0-9.]*\)".*/\1/p' src/result/formula.c); do grep -q "$id" docs/method.md || fail "docs/method.md does not describe $id"; done
"$lynx" help --all | sed -n 's/^  \([a-z][a-z ]*[a-z]\)  .*/\1/p' | while read -r name; do
  grep -qE "lynxbench $name|\`$name\`" README.md docs/*.md || fail "no document names $name"
done
for table in meta input fact session request phase sample accuracy answer event thread activity stack section seal; do grep -q "\`$table\`" docs/bundle.md || fail "docs/bundle.md does not describe the table $table"; done
for name in $(grep -rhoE --exclude-dir=preload 'getenv\("[A-Z_]+"\)' src | sed 's/.*"\(.*\)".*/\1/' | sort -u); do "$lynx" help --man | grep -q "$name" || fail "src/cli/manual.c: ENVIRONMENT does not name $name"; done
for code in 0 1 2 3 4 5 70 130; do grep -q "^| $code |" README.md || fail "README.md: exit code $code"; done
# Each promise names its test: words in code quotes after a colon.
for test in $(sed -n '/^## What is promised/,/^## What you must/p' SECURITY.md | tr '\n' ' ' | grep -oE '`[a-z_]+`' | tr -d '`' | sort -u); do
  grep -qE "^def (test_)?[a-z_]*$test" tests/e2e/*.py || fail "SECURITY.md: no test is named $test"
done
for folder in src/*/; do grep -q "src/$(basename "$folder")" ARCHITECTURE.md || fail "ARCHITECTURE.md does not name $folder"; done
digest=$("$lynx" lint examples/questions/how_fast.yaml | sed -n 's/.*digest \(............\).*/\1/p')
grep -q -- "--run $digest" README.md || fail "README.md: examples/questions/how_fast.yaml has the digest $digest"
for contract in examples/*.yaml examples/questions/*.yaml; do "$lynx" lint "$contract" >/dev/null || fail "$contract is not valid"; done
python3 - <<'PY' || fail "docs/attribution.md: its tables of rules are not those of src/attribute/rules"
import pathlib
import re
import sys

page, wrong = open("docs/attribution.md").read(), 0
for path in sorted(pathlib.Path("src/attribute/rules").glob("*.c")):
    text = re.sub(r'"\s*\n\s*"', "", path.read_text())
    name, threshold, title = (re.search(rf'\.{field} =\s+"([^"]*)"', text).group(1) for field in ("name", "threshold", "title"))
    row = f"`{name}`" if "NEEDS_TRACE" in text else f"| `{name}` | {title} | {threshold} |"
    if row not in page:
        print(f"{path}: {row}")
        wrong = 1
sys.exit(wrong)
PY
python3 - <<'PY' || fail "a link in a document leads nowhere"
import os, re, sys, glob
bad = []
for page in glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True):
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", open(page).read()):
        if "://" not in link and not os.path.exists(os.path.join(os.path.dirname(page), link)):
            bad.append(f"{page}: {link}")
print("\n".join(bad))
sys.exit(1 if bad else 0)
PY
echo "schema, reference, formulas, commands, tables, exit codes, folders, examples and links agree"
