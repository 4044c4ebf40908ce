#!/bin/sh
# The demo tells one story: a slow server, what bounds it, an experiment that confirms it, the fix and what it brings, sealed and verified.
set -eu
cd "$(dirname "$0")/.."
build=${1:?the build folder}
lynx=$build/lynxbench
out=$build/demo
began=$(date +%s)
rm -rf "$out"
mkdir -p "$out"
XDG_STATE_HOME=$(cd "$out" && pwd)/state
export XDG_STATE_HOME

say() {
  echo
  echo "== $(($(date +%s) - began)) s: $*"
}

# Runs a command whose verdict may be any; whose exit code says that it could not be carried out ends the demo.
verdict() {
  code=0
  "$@" || code=$?
  case $code in 0 | 1 | 3 | 4) ;; *) exit "$code" ;; esac
}

# Names of Python functions come from py-spy. Without it the story is told with fewer names.
scripts/py_spy.sh "$build" || echo "py-spy cannot be installed: Python functions have no names below"
port=8123
server="python3 examples/slow_server.py $port"

say "A server is slow. What bounds it, and whose is that?"
verdict "$lynx" diagnose "http://127.0.0.1:$port" --model tiny-gpt --for 45s --at-most 32 --quiet --out "$out/slow.lynx" --html "$out/why.html" -- $server

say "Before anything is changed, the method is agreed: signed in a ledger"
"$lynx" ledger key ml --out "$out" >/dev/null
export LYNXBENCH_LEDGER="$out/team.ledger" LYNXBENCH_KEY="$out/ml.key"
"$lynx" ledger create "$out/team.ledger" >/dev/null
model=$("$lynx" capture --json --quiet-routes | python3 -c '
import json, sys
print(next((f["value"] for f in json.load(sys.stdin)["facts"] if f["key"] == "cpu.model" and "value" in f), ""))')
expect=
[ -z "$model" ] || expect="expect: {accelerator.cpu.model: \"$model\"}"
here="s#8123#$port#; s#python3, examples#python3, $PWD/examples#; s|# .make demo. adds.*|$expect|"
sed "$here" examples/demo_story.yaml >"$out/before.yaml"
sed 's#"{port}"\]#"{port}", --table]#' "$out/before.yaml" >"$out/after.yaml"
sed "$here" examples/demo_capacity.yaml >"$out/capacity.yaml"
for contract in before after capacity; do
  "$lynx" ledger sign "$out/$contract.yaml" --out "$out/$contract.dsse.json"
done

say "The slow server, five fresh processes; what its threads did is recorded as findings"
verdict "$lynx" run "$out/before.yaml" --quiet --out "$out/before.lynx"
verdict "$lynx" attribute "$out/before.lynx" --record "$out/before.lynx" >"$out/before.txt"
grep "finding" "$out/before.txt" || true
finding=$("$lynx" attribute "$out/before.lynx" --json | python3 -c '
import json, sys
f = [f for f in json.load(sys.stdin)["findings"] if f["by_confirm"]]
print(f[0]["id"] if f else "")') || finding=

if [ -n "$finding" ]; then
  say "That is suspected. An experiment decides: what it suspects is slowed by a known share, in random blocks"
  verdict "$lynx" confirm "$out/before.lynx" "$finding" --contract "$out/before.yaml" --for 40s --quiet --out "$out/confirmed.lynx" --record
else
  say "No finding with an experiment of its own was made on this machine: nothing is confirmed"
fi
entry=$("$lynx" iterate list --json | python3 -c '
import json, sys
rows = sorted((f for f in json.load(sys.stdin) if f["state"] == "open"), key=lambda f: f["experiment"] != "confirmed")
print(rows[0]["finding"] if rows else "")') || entry=
[ -z "$entry" ] || "$lynx" iterate start "$entry" --change "the words are looked up once, when the server starts"

say "The fix, measured like the slow server: did it help, and by how much?"
verdict "$lynx" run "$out/after.yaml" --quiet --out "$out/demo.lynx"
verdict "$lynx" iterate measure "$out/before.lynx" "$out/demo.lynx" ${entry:+--finding "$entry"} --change "the words are looked up once, when the server starts"
verdict "$lynx" diff "$out/before.lynx" "$out/demo.lynx"

say "How many requests a second does the mended server sustain?"
verdict "$lynx" run "$out/capacity.yaml" --quiet --out "$out/capacity.lynx"

say "Anybody may run the sealed contract again"
digest=$(env -u LYNXBENCH_LEDGER "$lynx" show "$out/demo.lynx" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["contract"]["digest"])')
verdict "$lynx" verify "$out/demo.lynx" --run "$digest" --sessions-at-most 5 --quiet --out "$out/again.lynx"

say "What can be claimed, with every assumption in it"
verdict "$lynx" show "$out/demo.lynx" --claim
[ "$code" = 0 ] || echo "(A refused claim is an answer too: this machine did not meet the contract's bar. The reasons are above.)"

say "The page"
"$lynx" show "$out/demo.lynx" --html "$out/demo.html"
"$lynx" site "$out/team.ledger" "$out/site"
echo "Open $out/why.html, $out/demo.html and $out/site/index.html in a browser."
echo "Next, a server of your own: $lynx diagnose http://HOST:PORT"
