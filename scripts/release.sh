#!/bin/sh
# A release of the last commit, in build/release: source, Debian packages, wheel, SBOM, checksums; and, with TAG=yes, a signed tag.
# It refuses a tree that is not clean, versions that differ, and a version that CHANGELOG.md calls not released.
set -eu
cd "$(git -C "$(dirname "$0")/.." rev-parse --show-toplevel)"
version=$(sed -n "s/^project('lynxbench'.* version: '\([0-9.]*\)'.*/\1/p" meson.build)
[ -z "$(git status --porcelain)" ] || { echo "release.sh: the tree is not clean; commit first" >&2; exit 2; }
grep -q "^## \[$version\] - [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]" CHANGELOG.md ||
  { echo "release.sh: CHANGELOG.md has no date for $version; accepted: ## [$version] - YYYY-MM-DD" >&2; exit 2; }
make deb
make wheel
rm -rf build/release
mkdir build/release
git archive --prefix="lynxbench-$version/" HEAD | gzip -n >"build/release/lynxbench-$version.tar.gz"
cp build/deb/lynxbench_*.deb build/deb/lynxbench-ref_*.deb build/wheel/*.whl build/release
scripts/sbom.py build/lynxbench "$version" >"build/release/lynxbench-$version.cdx.json"
(cd build/release && sha256sum ./* >SHA256SUMS)
cat build/release/SHA256SUMS
[ "${TAG:-}" = yes ] || { echo "build/release is made; TAG=yes signs the tag v$version too"; exit 0; }
git tag -s "v$version" -m "lynxbench $version"
gpg --armor --detach-sign build/release/SHA256SUMS
