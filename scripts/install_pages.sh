#!/bin/sh
# Manual pages and completion, from the command tables.
set -eu
lynx=$1/lynxbench
prefix=$2
mkdir -p "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
"$lynx" help --man >"$prefix/share/man/man1/lynxbench.1"
"$lynx" help --all | sed -n 's/^  \([a-z][a-z ]*[a-z]\)  .*/\1/p' | while read -r name; do
  # shellcheck disable=SC2086 # of two words
  "$lynx" help $name --man >"$prefix/share/man/man1/lynxbench-$(echo "$name" | tr ' ' -).1"
done
"$lynx" help --bash >"$prefix/share/bash-completion/completions/lynxbench"
"$lynx" help --zsh >"$prefix/share/zsh/site-functions/_lynxbench"
"$lynx" help --fish >"$prefix/share/fish/vendor_completions.d/lynxbench.fish"
echo "manual pages and completion in $prefix/share"
