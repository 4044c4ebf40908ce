#!/bin/sh
# lynxbench in empty Debian roots, as a newcomer has them (as root): fresh.sh RELEASE ... runs `make demo` and `make test` in each;
# fresh.sh --packages RELEASE ... builds the Debian packages in one and installs and tries them in another that has never seen the source;
# fresh.sh --quick-starts RELEASE ... runs `make demo` and the README's quick starts in each, and writes docs/fresh-machine.md.
# A root is made by debootstrap (minbase, with git, make and certificates) and thrown away at the end; KEEP=1 keeps it. MIRROR names where
# Debian is taken from; else this machine's own sources do.
set -eu
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root, for debootstrap and chroot" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh.sh: debootstrap is missing: apt-get install debootstrap" >&2; exit 2; }
mirror=${MIRROR:-$(sed -n 's/^URIs: *//p;s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)}
source=$(git rev-parse --show-toplevel)
packages=
quick=
[ "${1:-}" != --packages ] || { packages=yes; shift; }
[ "${1:-}" != --quick-starts ] || { quick=docs/fresh-machine.md; shift; }
failed=0

leave() {
  for one in run/netns proc dev/pts dev sys; do umount "$root/$one" 2>/dev/null || true; done
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

# release: what its transcript says of it
transcript() {
  installed=$(within "dpkg-query -f . -W | wc -c" | tail -n 1)
  begun=$(date +%s)
  try "$1" "make demo" "cd /root/lynxbench && make demo" >&2
  minutes=$(awk -v s=$(($(date +%s) - begun)) 'BEGIN { printf "%.1f", s / 60 }')
  printf '\n## Debian %s (%s)\n\n%s packages were there. `make demo` took %s minutes, with installing what is missing and\nbuilding. It ended:\n\n```\n' \
    "$(cat "$root/etc/debian_version")" "$1" "$installed" "$minutes"
  sed 's/\x1b\[[0-9;]*m//g; s/.*\r//' "$log" | tail -n 24 | cut -c 1-110
  printf '```\n\n'
  try "$1" "quick starts" "cd /root/lynxbench && python3 scripts/quick_starts.py" >&2
  cat "$log"
}

if [ -n "$quick" ]; then
  cat >"$quick.new" <<END
# On a fresh machine

Written by \`scripts/fresh.sh --quick-starts $*\`, of version
$(sed -n "s/.*version: '\([0-9.]*\)'.*/\1/p" meson.build | head -n 1), on $(date +%F), on a machine of $(nproc) processors.
Each root was empty: \`debootstrap --variant=minbase\`, with git and make, which a clone needs. The
lines are the README's; lines of progress are left out. \`examples/slow_server.py\` replaces your
server. \`nightly.yaml\` is a contract of a few seconds, which was run three times before. There is no
systemd in such a root, so that \`schedule add\` prints a line for cron.
END
fi
for release in "$@"; do
  enter "$release" git,make,ca-certificates
  git clone -q "$source" "$root/root/lynxbench"
  if [ -n "$quick" ]; then
    transcript "$release" >>"$quick.new"
    leave
    continue
  fi
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
[ -z "$quick" ] || [ "$failed" != 0 ] || mv "$quick.new" "$quick"
exit $failed
