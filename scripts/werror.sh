#!/bin/sh
# Everything compiles without a warning, from nothing.
set -eu
compiler=$1
dir=build-werror-$compiler
rm -rf "$dir"
CC="${CCACHE:-} $compiler" meson setup "$dir" -Dwerror=true >/dev/null
ninja -C "$dir" # and what only a benchmark builds
ninja -C "$dir" $(ninja -C "$dir" -t targets all | sed -n 's|^\(bench/[a-z_]*\): .*LINKER.*|\1|p')
rm -rf "$dir"
echo "$compiler: no warning"
