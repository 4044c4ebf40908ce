#!/bin/sh
# The documents as a site in build/site-docs. A link that leads nowhere is an error.
set -eu
[ -x build/docs-tools/bin/mkdocs ] || {
  python3 -m venv build/docs-tools
  build/docs-tools/bin/pip install -q mkdocs-material
}
rm -rf build/pages
mkdir -p build/pages
git ls-files '*.md' 'docs/*.png' 'docs/*.txt' LICENSE | while read -r file; do
  mkdir -p "build/pages/$(dirname "$file")"
  cp "$file" "build/pages/$file"
done
mv build/pages/README.md build/pages/index.md
# Files of the tree that a page links are laid beside it; a folder is named and no link.
python3 - <<'PY'
import os, pathlib, re, shutil

root = pathlib.Path("build/pages")


def lead(page, match):
    words, target, anchor = match.group(1), match.group(2), match.group(3) or ""
    if "://" in target:
        return match.group(0)
    path = os.path.relpath(os.path.normpath(page.parent / target), root)
    if path == "README.md":
        return f"[{words}]({os.path.relpath(root / 'index.md', page.parent)}{anchor})"
    if os.path.isdir(path):
        return words
    if not (root / path).exists() and os.path.isfile(path):
        os.makedirs((root / path).parent, exist_ok=True)
        shutil.copy(path, root / path)
    return match.group(0)


for page in list(root.rglob("*.md")):
    page.write_text(re.sub(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)", lambda m: lead(page, m), page.read_text()))
PY
NO_MKDOCS_2_WARNING=1 build/docs-tools/bin/mkdocs build --strict --quiet
echo "build/site-docs: $(find build/site-docs -name '*.html' | wc -l) pages"
