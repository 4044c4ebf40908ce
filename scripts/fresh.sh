#!/bin/sh
# `make demo` and `make test` in empty Debian roots, as a newcomer has them: fresh.sh RELEASE ... (as root).
# A root is made by debootstrap (minbase, with git, make and certificates) and thrown away at the end; KEEP=1 keeps it. MIRROR names where
# Debian is taken from; else this machine's own sources do.
set -eu
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root, for debootstrap and chroot" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh.sh: debootstrap is missing: apt-get install debootstrap" >&2; exit 2; }
mirror=${MIRROR:-$(sed -n 's/^URIs: *//p;s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)}
source=$(git rev-parse --show-toplevel)
failed=0
leave() {
  umount "$root/proc" "$root/dev/pts" "$root/dev" "$root/sys" 2>/dev/null || true
  if [ -z "${KEEP:-}" ]; then rm -rf --one-file-system "$root"; else echo "$root is kept"; fi
}
for release in "$@"; do
  root=$(mktemp -d)
  chmod 0755 "$root" # other users look for files in it
  trap leave EXIT INT TERM
  echo "--- $release: an empty root"
  debootstrap --variant=minbase --include=git,make,ca-certificates "$release" "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -n 5 "$root.log" >&2; echo "fresh.sh: $release could not be made ($root.log)" >&2; exit 2; }
  rm -f "$root.log"
  # What this machine needs to reach its packages, the root needs too.
  cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
  cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  mount --bind /dev "$root/dev"
  mount --bind /dev/pts "$root/dev/pts" 2>/dev/null || true
  mount -t proc proc "$root/proc"
  mount --bind /sys "$root/sys"
  git clone -q "$source" "$root/root/lynxbench"
  for target in demo test; do
    echo "--- $release: make $target"
    if chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 ${http_proxy:+http_proxy=$http_proxy} \
        ${https_proxy:+https_proxy=$https_proxy} sh -c "update-ca-certificates >/dev/null 2>&1; cd /root/lynxbench && make $target" >"$root/root/$target.log" 2>&1; then
      tail -n 1 "$root/root/$target.log"
    else
      failed=1
      grep -E 'FAIL|failed|Error' "$root/root/$target.log" | tail -n 15
    fi
    cp "$root/root/$target.log" "build-fresh-$release-$target.log"
  done
  leave
  trap - EXIT INT TERM
done
exit $failed
