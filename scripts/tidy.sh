#!/bin/sh
# clang-tidy over our own sources, two at a time. The analyzer follows a third of its usual steps through a function: it then
# takes a third of the time, and what it cuts is the long functions' last paths; NODES=225000 follows them all.
set -eu
[ -f build/compile_commands.json ] || meson setup build >/dev/null
git ls-files 'src/*.c' 'reference/*.c' | grep -v onednn >build/tidy.list
major=$(sed -n 's/^#define DNNL_VERSION_MAJOR *\([0-9]*\).*/\1/p' /usr/include/oneapi/dnnl/dnnl_version.h)
echo "reference/onednn$major.c" >>build/tidy.list
xargs -P 2 -n 6 clang-tidy -p build --quiet --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes="${NODES:-75000}" <build/tidy.list 2>/dev/null
echo "$(wc -l <build/tidy.list) files, no finding"
rm -f build/tidy.list
