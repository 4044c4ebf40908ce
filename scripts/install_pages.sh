#!/bin/sh
# Manual pages and completion, from the command tables.
set -eu
lynx=$1/lynxbench
prefix=$2
mkdir -p "$prefix/share/man/man1" "$prefix/share/bash-completion/completions"
"$lynx" help --man >"$prefix/share/man/man1/lynxbench.1"
for name in $("$lynx" help | awk '{print $1}'); do "$lynx" help "$name" --man >"$prefix/share/man/man1/lynxbench-$name.1"; done
"$lynx" help --bash >"$prefix/share/bash-completion/completions/lynxbench"
echo "manual pages and completion in $prefix/share"
