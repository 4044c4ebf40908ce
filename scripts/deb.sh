#!/bin/sh
# Debian packages of the last commit, in build/deb: deb.sh build | twice (and compare the bytes) | check | fresh RELEASE ... (as root)
# The version is the newest one of CHANGELOG.md; the date is the commit's, so that two builds give the same bytes.
set -eu
cd "$(git -C "$(dirname "$0")/.." rev-parse --show-toplevel)"
version=$(sed -n 's/^## \[\([0-9.]*\)\].*/\1/p' CHANGELOG.md | head -n 1)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# build DIR: the packages, in DIR
build() {
  mkdir -p "$1"
  work=$(mktemp -d)
  mkdir "$work/lynxbench-$version"
  git archive HEAD | tar -x -C "$work/lynxbench-$version"
  (
    cd "$work/lynxbench-$version"
    cp -r packaging/debian debian
    mkdir debian/source
    mv debian/source.format debian/source/format
    chmod +x debian/rules
    printf 'lynxbench (%s) unstable; urgency=medium\n\n  * CHANGELOG.md says what changed.\n\n -- lynxbench maintainers <lynxbench@lynxbench.invalid>  %s\n' \
      "$version" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" >debian/changelog
    cp CHANGELOG.md debian/upstream-changelog
    DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
  )
  rm -f "$1"/*.deb
  cp "$work"/*.deb "$1"
  rm -rf "$work"
  ls -l "$1"/*.deb
}

check_style() {
  lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs,bogus-mail-host-in-debian-changelog,bogus-mail-host build/deb/*.deb
  echo "lintian: nothing found"
}

case ${1:-build} in
  build) build build/deb ;;
  twice)
    build build/deb
    build build/deb-again
    for one in build/deb/*.deb; do cmp "$one" "build/deb-again/$(basename "$one")"; done
    echo "two builds give the same bytes: $(cd build/deb && sha256sum *.deb | cut -c 1-16 | tr '\n' ' ')"
    ;;
  check) check_style ;;
  fresh)
    shift
    scripts/fresh.sh --packages "$@"
    ;;
  *) echo "deb.sh: '$1' is not build, twice, check or fresh" >&2; exit 2 ;;
esac
