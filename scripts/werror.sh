#!/bin/sh
# Everything compiles without a warning, from nothing.
set -eu
compiler=$1
dir=build-werror-$compiler
rm -rf "$dir"
CC="${CCACHE:-} $compiler" meson setup "$dir" -Dwerror=true >/dev/null
ninja -C "$dir"
rm -rf "$dir"
echo "$compiler: no warning"
