#!/bin/sh
# In a root without the source: installs the packages that lie here, and uses what they bring. deb.sh fresh runs it.
set -eu
export DEBIAN_FRONTEND=noninteractive
rm -f ./*-dbgsym_*.deb
apt-get -q update
apt-get -q install -y --no-install-recommends ./lynxbench_*.deb ./lynxbench-ref_*.deb ./liblynxbench0_*.deb ./liblynxbench-dev_*.deb gcc libc6-dev pkg-config
cd /tmp
lynxbench --version
test -f /usr/share/bash-completion/completions/lynxbench
lynxbench-ref --shape byte --port 8100 >ref.log &
ref=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do grep -q ready ref.log && break; sleep 1; done
lynxbench diagnose http://127.0.0.1:8100 --for 30s --at-most 4 --quiet --out d.lynx --html d.html || [ $? = 4 ]
lynxbench init http://127.0.0.1:8100 --out c.yaml
lynxbench lint c.yaml
kill $ref
lynxbench show d.lynx
lynxbench audit d.lynx || [ $? = 3 ]
test -s d.html
cp /usr/share/doc/lynxbench/examples/read_bundle.c* .
gzip -df read_bundle.c.gz 2>/dev/null || true
cc read_bundle.c $(pkg-config --cflags --libs lynxbench) -o read_bundle
./read_bundle d.lynx | tail -c 300
apt-get -q remove -y lynxbench lynxbench-ref liblynxbench0 liblynxbench-dev
[ ! -e /usr/bin/lynxbench ] && [ ! -e /usr/bin/lynxbench-ref ]
echo "installed, used and removed: good"
