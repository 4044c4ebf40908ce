#!/bin/sh
# The demo: a contract, a run on a real (if small) inference stack, the claims it supports, and a report.
set -eu
build=$1
cd "$(dirname "$0")/.."
rm -rf "$build/demo"
mkdir -p "$build/demo"
bundle=$build/demo/demo.lynx
echo "== 1. The contract: what is measured, and what it leaves unstated"
"$build/lynxbench" lint examples/demo.yaml
echo
echo "== 2. The run: 3 precisions x 10 sessions of a transformer on oneDNN, each session a fresh process (about 3 minutes)"
sed "s#build/lynxbench-ref#$build/lynxbench-ref#" examples/demo.yaml >"$build/demo/demo.yaml"
code=0
"$build/lynxbench" run "$build/demo/demo.yaml" --out "$bundle" || code=$?
[ "$code" = 0 ] || [ "$code" = 4 ] || exit "$code" # 4: this machine's conditions; the claims below say which
echo
echo "== 3. The figures, recomputed from the raw rows of the sealed bundle"
"$build/lynxbench" show "$bundle"
echo
echo "== 4. What can be claimed, with every assumption in it"
code=0
"$build/lynxbench" claim "$bundle" || code=$?
[ "$code" -le 1 ] || exit "$code"
[ "$code" = 0 ] || echo "(A refused claim is an answer too: this machine did not meet the contract's bar. The reasons are above.)"
echo
echo "== 5. The report"
"$build/lynxbench" report "$bundle" --out "$build/demo/demo.html"
echo "Open it in a browser. Next, a server of your own: $build/lynxbench diagnose http://HOST:PORT, or $build/lynxbench init http://HOST:PORT"
