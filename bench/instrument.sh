#!/bin/sh
# What measuring costs and how late it is, on this machine, against the metronome's log of actual writes. Nothing here is asserted.
set -eu
build=$1
cd "$(dirname "$0")/.."
export BUILD="$PWD/$build" SOURCE="$PWD"
echo "== The instrument against the metronome's log of actual writes (tests/e2e/test_metronome.py)"
python3 tests/e2e/test_metronome.py
echo
echo "== The instrument alone: the null driver at 1,000 requests/s of 8 tokens"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$build/lynxbench" run examples/null.yaml --out "$dir/null.lynx" --quiet >/dev/null
"$build/lynxbench" show "$dir/null.lynx" | sed -n '/the instrument/p'
echo
echo "== One session against the metronome, 200 requests/s of 32 tokens: the engine's own account"
"$build/lynxbench-ref" --mode metronome --port 8197 --first-token 10ms --gap 2ms >"$dir/ref.log" &
ref=$!
sleep 1
cat >"$dir/c.yaml" <<'YAML'
lynxbench: 1
name: bench
executor: {endpoint: "http://127.0.0.1:8197"}
workload: {model: metronome, output_tokens: 32, prompts: {count: 8, bytes: 64}}
regime: {load: constant, rate_per_s: 200}
method: {warm_up: 1s, counted: 5s, sessions: 1, drain: 2s, instrument_error_at_most: 1}
YAML
"$build/lynxbench" run "$dir/c.yaml" --out "$dir/c.lynx" --quiet >/dev/null 2>&1
echo "  samplers, of that server:"
"$build/bench/samplers" $ref | sed 's/^/    /'
kill $ref
"$build/lynxbench" show "$dir/c.lynx" | sed -n '/the instrument/p'
python3 - "$dir/c.lynx" <<'PY'
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
i = json.loads(db.execute("SELECT instrument FROM session").fetchone()[0])
n, tokens, blob = db.execute("SELECT count(*), sum(output_tokens), sum(length(events)) FROM request WHERE outcome = 'ok'").fetchone()
print(f"  {i['cpu_ns'] / n / 1e3:.1f} us of CPU per request, {i['cpu_ns'] / tokens / 1e3:.2f} us per token (HTTP, SSE, JSON, stamps); {blob / tokens:.2f} bytes of record per token time")
PY
