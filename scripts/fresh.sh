#!/bin/sh
# lynxbench in empty Debian roots, as a newcomer has them (as root): fresh.sh RELEASE ... runs `make demo` and `make test` in each;
# fresh.sh --packages RELEASE ... builds the Debian packages in one and installs and tries them in another that has never seen the source.
# A root is made by debootstrap (minbase, with git, make and certificates) and thrown away at the end; KEEP=1 keeps it. MIRROR names where
# Debian is taken from; else this machine's own sources do.
set -eu
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root, for debootstrap and chroot" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh.sh: debootstrap is missing: apt-get install debootstrap" >&2; exit 2; }
mirror=${MIRROR:-$(sed -n 's/^URIs: *//p;s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)}
source=$(git rev-parse --show-toplevel)
packages=
[ "${1:-}" != --packages ] || { packages=yes; shift; }
failed=0

leave() {
  umount "$root/proc" "$root/dev/pts" "$root/dev" "$root/sys" 2>/dev/null || true
  if [ -z "${KEEP:-}" ]; then rm -rf --one-file-system "$root"; else echo "$root is kept"; fi
  trap - EXIT INT TERM
}

# enter RELEASE PACKAGES: sets root
enter() {
  root=$(mktemp -d)
  chmod 0755 "$root" # other users look for files in it
  trap leave EXIT INT TERM
  echo "--- $1: an empty root"
  debootstrap --variant=minbase --include="$2" "$1" "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -n 5 "$root.log" >&2; echo "fresh.sh: $1 could not be made ($root.log)" >&2; exit 2; }
  rm -f "$root.log"
  # What this machine needs to reach its packages, the root needs too.
  for one in /etc/apt/apt.conf.d/*; do # what packages put there, they put there too
    dpkg-query -S "$one" >/dev/null 2>&1 || cp -a "$one" "$root/etc/apt/apt.conf.d/"
  done
  cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  mount --bind /dev "$root/dev"
  mount --bind /dev/pts "$root/dev/pts" 2>/dev/null || true
  mount -t proc proc "$root/proc"
  mount --bind /sys "$root/sys"
}

within() {
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 ${http_proxy:+http_proxy=$http_proxy} \
    ${https_proxy:+https_proxy=$https_proxy} sh -c "update-ca-certificates >/dev/null 2>&1; $1"
}

# try RELEASE NAME COMMAND
try() {
  echo "--- $1: $2"
  log=build-fresh-$1-$(echo "$2" | tr ' ' -).log
  if within "$3" >"$log" 2>&1; then tail -n 1 "$log"; else
    failed=1
    grep -E 'FAIL|failed|[Ee]rror' "$log" | tail -n 15
  fi
}

for release in "$@"; do
  enter "$release" git,make,ca-certificates
  git clone -q "$source" "$root/root/lynxbench"
  if [ -z "$packages" ]; then
    try "$release" "make demo" "cd /root/lynxbench && make demo"
    try "$release" "make test" "cd /root/lynxbench && make test"
    leave
    continue
  fi
  try "$release" "make deb" "cd /root/lynxbench && make deb"
  made=$(mktemp -d)
  cp "$root"/root/lynxbench/build/deb/*.deb "$made" 2>/dev/null || true
  leave
  enter "$release" ca-certificates
  mkdir "$root/root/deb"
  cp "$made"/*.deb "$source/scripts/deb_try.sh" "$root/root/deb" 2>/dev/null || true
  rm -rf "$made"
  try "$release" "the packages installed" "cd /root/deb && sh deb_try.sh"
  leave
done
exit $failed
