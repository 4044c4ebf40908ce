#!/bin/sh
# Installs the Debian packages that a step needs: only what is missing, saying so. With everything there it touches no network.
#   packages.sh build | test | web | peers | check | bench | deb
set -eu
build="gcc libc6-dev make meson ninja-build pkg-config libyaml-dev libjansson-dev libsqlite3-dev libssl-dev libcurl4-openssl-dev libhwloc-dev libelf-dev libdw-dev libdnnl-dev zlib1g-dev libexpat1-dev libpcre2-dev libpq-dev libmicrohttpd-dev"
test="$build git python3 python3-pytest python3-venv python3-yaml sqlite3 openssl curl socat postgresql iproute2 procps openssh-client systemd libxml2-utils"
web="$test chromium chromium-driver fonts-dejavu-core"
peers="$test golang-go golang-golang-x-mod-dev mpich openssh-server slurm-client slurmd slurmctld munge"
check="$test clang libclang-rt-dev clang-tidy clang-format cppcheck"
deb="$build build-essential debhelper dpkg-dev lintian python3"
bench="$test g++ libsimdjson-dev nginx-light wrk"
case ${1:-build} in
  build) wanted=$build ;;
  test) wanted=$test ;;
  web) wanted=$web ;;
  peers) wanted=$peers ;;
  check) wanted=$check ;;
  bench) wanted=$bench ;;
  deb) wanted=$deb ;;
  *) echo "packages.sh: '$1' is not build, test, web, peers, check, bench or deb" >&2; exit 2 ;;
esac
missing=""
for package in $wanted; do
  # Debian 12 names the sanitizers' runtime by clang's version.
  if [ "$package" = libclang-rt-dev ] && grep -q '^VERSION_ID="12"' /etc/os-release; then package=libclang-rt-14-dev; fi
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null || { echo "packages.sh: this is not Debian; install what corresponds to:$missing" >&2; exit 2; }
if [ "$(id -u)" = 0 ]; then as_root=""; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=sudo; else
  echo "These Debian packages are missing, and installing them needs root. Run this, then the same make again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 2
fi
echo "Installing the Debian packages that are missing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q -o Acquire::Retries=3 update
$as_root apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends $missing
