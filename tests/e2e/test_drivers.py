"""The drivers besides http: programs over pipes (and their Python package), tensors over HTTP, ONNX Runtime that is not there; Unix sockets and keys
from files. Each fault is a counted failure with a reason, or a clear error."""
import http.server
import socketserver
import threading

from lynx import *

METHOD = "{warm_up: 200ms, counted: 1500ms, sessions: 1, drain: 2s, request_timeout: 400ms, instrument_error_at_most: 1, failures_at_most: 1, steady: reported}"
PYTHON = f"{SOURCE}/python"


def program(d, name, text, regime="{load: closed, concurrency: 2}", **more):
    with open(f"{d}/{name}.py", "w") as f:
        f.write(text)
    sections = {"workload": "{driver: command, output_tokens: 4, prompts: {count: 4, bytes: 16}}", "method": METHOD, "regime": regime, **more}
    path = f"{d}/{name}.yaml"
    with open(path, "w") as f:
        f.write(f'lynxbench: 1\nname: "{name}"\nexecutor: {{start: {{command: [env, "PYTHONPATH={PYTHON}", python3, "{d}/{name}.py", "{{precision}}"], ready_within: 5s, stop_within: 2s}}}}\n')
        f.write("".join(f"{k}: {v}\n" for k, v in sections.items()))
    return path


def outcomes(bundle):
    return {(o, r): n for o, r, n in rows(bundle, "SELECT outcome, reason, count(*) FROM request WHERE phase = 'counted' GROUP BY 1, 2")}


with folder() as d:
    # --- the Python package: tokens, phases, facts, what is executed ---
    path = program(d, "good", """
import sys, time
from lynxbench import workload, phase, token, fact, executed
fact("framework.engine", "toy 3")
executed(precision=sys.argv[1], status="native", primitive="sleep")
assert workload is not None
@workload
def infer(request):
    print("what is printed goes to the log")
    assert len(request.prompt) == 16 and request.output_tokens == 4 and request.seed >= 0
    with phase("data"):
        time.sleep(0.001)
    with phase("forward"):
        time.sleep(0.004)
    for i in range(request.output_tokens):
        time.sleep(0.001)
        token("ab")
""")
    r = lynx("run", path, "--out", f"{d}/good.lynx", "--quiet")
    check_equal(r.returncode, 0, f"good: {r.stderr}")
    p = show(f"{d}/good.lynx")["precisions"][0]
    check_equal(p["requests"]["failed"], 0, "good: failed")
    check_equal(p["status"], "native", "good: what the program says that it executes")
    check_equal(rows(f"{d}/good.lynx", "SELECT count(*) FROM request WHERE outcome = 'ok' AND first_token_ns - written_ns < 5000000"), [(0,)], "good: the first token comes after data and forward")
    check_equal(list(p["phases"])[:4], ["formula", "handover", "data", "forward"], "good: phases in their order")
    for name, least in (("data", 1e6), ("forward", 4e6)):
        check(least <= p["phases"][name]["mean_ns"] <= least + 20e6, f"good: {name} takes what it sleeps: {p['phases'][name]}")
    check_equal(rows(f"{d}/good.lynx", "SELECT value FROM fact WHERE key = 'program.engine' AND moment LIKE 'start%'"), [("toy 3",)], "good: a fact of the program")
    check(rows(f"{d}/good.lynx", "SELECT value FROM fact WHERE key = 'python.version'"), "good: the program's Python is captured")
    starts, ends = (rows(f"{d}/good.lynx", f"SELECT key, value FROM fact WHERE kind = 'identity' AND moment LIKE '{m}%' ORDER BY key") for m in ("start", "end"))
    check_equal(starts, ends, "good: the same executor at its end")
    check_in("what is printed goes to the log", open(f"{d}/good.lynx.executor.log").read(), "good: the log")
    tokens = rows(f"{d}/good.lynx", "SELECT DISTINCT n_text_events, flags & 1048576 FROM request WHERE outcome = 'ok'")
    check_equal(tokens, [(4, 1048576)], "good: four tokens, each told")
    r = lynx("attribute", f"{d}/good.lynx", "--json")
    check_equal(r.returncode, 0, f"attribute: {r.stderr}")
    for name in ("data", "forward", "before it was sent"):
        check_in(name, r.stdout, f"attribute: {name}")
    check_in("phases, as told", lynx("show", f"{d}/good.lynx").stdout, "show: phases")
    check_in("Phases, as the executor tells them", (lynx("report", f"{d}/good.lynx", "--out", f"{d}/good.html"), open(f"{d}/good.html").read())[1], "report: phases")
    # By hand, without lynxbench, the decorator changes nothing.
    r = subprocess.run([sys.executable, f"{d}/good.py", "f32"], capture_output=True, text=True, env=environment(PYTHONPATH=PYTHON))
    check_equal((r.returncode, r.stdout), (0, ""), f"by hand: {r.stderr}")

    # --- returns of every kind; an exception fails its request, and the program goes on ---
    path = program(d, "returns", """
from lynxbench import workload
n = 0
@workload
def infer(request):
    global n
    n += 1
    if n % 5 == 0: raise ValueError("bad \\x1b[31m luck")
    if n % 5 == 1: return "a whole text"
    if n % 5 == 2: return {"text": "t", "output_tokens": 7, "prompt_tokens": 3}
    if n % 5 == 3: return (x for x in ("a", "b"))
    return 6
""", regime="{load: closed, concurrency: 1}")
    r = lynx("run", path, "--out", f"{d}/returns.lynx", "--quiet")
    check_equal(r.returncode, 0, f"returns: {r.stderr}")
    kinds = set(rows(f"{d}/returns.lynx", "SELECT outcome, n_text_events, output_tokens, prompt_tokens FROM request WHERE phase = 'counted' AND outcome <> 'abandoned, not counted'"))
    check_equal(kinds, {("ok", 1, None, None), ("ok", 1, 7, 3), ("ok", 2, 2, None), ("ok", 0, 6, None), ("executor failed", 0, None, None)}, "returns: what was recorded")
    check(any("ValueError: bad" in reason and "\x1b" not in reason for (_, reason) in outcomes(f"{d}/returns.lynx")), f"returns: the exception's words: {outcomes(f'{d}/returns.lynx')}")

    # --- everything a program can do wrong; plain programs, by the protocol's document ---
    SERVE = """
import json, sys, time, os
def say(m): sys.stdout.write(json.dumps(m) + "\\n"); sys.stdout.flush()
n = 0
for line in sys.stdin:
    m = json.loads(line)
    if "hello" in m: say({"ready": 1})
    else:
        n += 1
        if n % 4 == 0: exec(FAULT)
        else: time.sleep(0.02)
        say({"done": m["run"], "output_tokens": 1})
"""
    FAULTS = {
        "garbage": ('print("not a message \\x1b[2J", flush=True)', ("executor failed", "a line that is no message: 'not a message ?[2J'")),
        "exit": ("os._exit(3)", ("executor failed", "the program ended with exit code 3")),
        "killed": ("os.kill(os.getpid(), 9)", ("executor failed", "the program was ended by signal 9")),
        "hang": ("time.sleep(60)", ("timed out", "")),
        "closes": ("os.close(1); time.sleep(60)", ("executor failed", "the program closed its output")),
        "long": ('sys.stdout.write("x" * (17 << 20)); sys.stdout.flush()', ("executor failed", "a message of more than 16777216 bytes")),
        "lies": ('say({"token": m["run"], "at": 5, "n": 4294967296}); say({"done": 99999}); say({"done": m["run"], "started": -4, "ended": 2**62, "phases": [["a" * 99, 2**62, 5], ["b", 1], 7, []]})', None),
    }
    for name, (fault, wanted) in FAULTS.items():
        path = program(d, name, SERVE.replace("FAULT", repr(fault)), workload="{driver: command, output_tokens: 1, prompts: {count: 4, bytes: 16}, options: {restarts: \"1000\"}}")
        r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
        check(r.returncode in (0, 3), f"{name}: exit code {r.returncode}: {r.stderr}")
        found = outcomes(f"{d}/{name}.lynx")
        check(any(o == "ok" for o, _ in found), f"{name}: others went well: {found}")
        if wanted:
            check(wanted in found, f"{name}: {wanted} is not in {found}")
        else:
            check_equal({o for o, _ in found} - {"abandoned, not counted"}, {"ok"}, f"{name}: nothing of it is believed")
    # A replacement is the same program in the same circumstances, lives as long as the session, and must become ready in time.
    path = program(d, "replaced", """
import json, os, signal, sys, time
log = open(%r, "a")
signal.signal(signal.SIGTERM, lambda *_: (log.write("SIGTERM\\n"), log.flush(), os._exit(0)))
n = 0
for line in sys.stdin:
    m = json.loads(line)
    if "hello" in m:
        log.write(json.dumps(sorted(os.sched_getaffinity(0))) + "\\n"); log.flush()
        print(json.dumps({"ready": 1}), flush=True)
    else:
        n += 1
        if n == 5 and not os.path.exists(%r): open(%r, "w").close(); os._exit(1)
        time.sleep(0.01)
        print(json.dumps({"done": m["run"]}), flush=True)
log.write("end of input\\n")
""" % (f"{d}/replaced.log", f"{d}/died", f"{d}/died"), regime="{load: closed, concurrency: 1}", method=METHOD.replace("1500ms", "1500ms, processors: \"0\""))
    r = lynx("run", path, "--out", f"{d}/replaced.lynx", "--quiet")
    check_equal(r.returncode, 0, f"replaced: {r.stderr}")
    told = open(f"{d}/replaced.log").read().splitlines()
    check(len(told) == 3 and told[0] == told[1] and told[2] == "end of input", f"replaced: the same processors, and left to the end of its input: {told}")
    keys = [{k for (k,) in rows(f"{d}/replaced.lynx", f"SELECT key FROM fact WHERE moment LIKE '{m}%'")} for m in ("start", "end")]
    check(len(keys[0] - keys[1]) < 5, f"replaced: it is captured at the end like the first: {sorted(keys[0] - keys[1])[:9]}")
    path = program(d, "never-again", f"""
import os, sys, time, json
if os.path.exists({d + "/gone"!r}): time.sleep(60)
for line in sys.stdin:
    m = json.loads(line)
    if "run" in m and m["run"] == 3: open({d + "/gone"!r}, "w").close(); os._exit(1)
    print(json.dumps({{"done": m["run"]}} if "run" in m else {{"ready": 1}}), flush=True)
""", regime="{load: constant, rate_per_s: 20, concurrency: 1}")
    with open(path) as f:
        text = f.read().replace("ready_within: 5s", "ready_within: 200ms")
    with open(path, "w") as f:
        f.write(text)
    r = lynx("run", path, "--out", f"{d}/never-again.lynx", "--quiet")
    check(any("no process is left after 3 restarts (a process in its place was not ready" in reason for _, reason in outcomes(f"{d}/never-again.lynx")), f"never again: {outcomes(f'{d}/never-again.lynx')}")

    # What a program claims and cannot be so.
    path = program(d, "wild", """
import json, sys, time
for line in sys.stdin:
    m = json.loads(line)
    if "hello" in m: print(json.dumps({"ready": 1}), flush=True); continue
    time.sleep(0.005)
    t = time.monotonic_ns()
    for at in (t, t - 3000000): print(json.dumps({"token": m["run"], "at": at}), flush=True)
    print(json.dumps({"done": m["run"], "ended": t - 4000000, "output_tokens": 2**63 - 1, "phases": [["p%d" % i, t, 1] for i in range(20)]}), flush=True)
""")
    r = lynx("run", path, "--out", f"{d}/wild.lynx", "--quiet")
    check_equal(r.returncode, 0, f"wild: {r.stderr}")
    check_equal(rows(f"{d}/wild.lynx", "SELECT count(*) FROM request WHERE outcome = 'ok' AND (last_token_ns < first_token_ns OR end_ns < last_token_ns OR output_tokens IS NOT NULL)"), [(0,)], "wild: times do not run backwards")
    check_equal({n for (n,) in rows(f"{d}/wild.lynx", "SELECT DISTINCT name FROM phase")}, {f"p{i}" for i in range(12)}, "wild: the first twelve phases")

    path = program(d, "spent", SERVE.replace("FAULT", repr("os._exit(3)")))  # 3 restarts
    r = lynx("run", path, "--out", f"{d}/spent.lynx", "--quiet")
    check(any("no process is left after 3 restarts" in reason for _, reason in outcomes(f"{d}/spent.lynx")), f"spent: {outcomes(f'{d}/spent.lynx')}")
    check(sum(outcomes(f"{d}/spent.lynx").values()) < 2000, "spent: nobody there is no reason to storm")

    for name, text, code, words in (
        ("mute", "import time; time.sleep(60)", 5, "executor.start.ready_within is over"),
        ("dies", "import sys; print('no weights', file=sys.stderr); sys.exit(1)", 5, "dies.lynx.executor.log"),
        ("chatty", "print('loading...', flush=True); import time; time.sleep(60)", 5, "a line that is no message: 'loading...'"),
        ("unavailable", "import sys; sys.path.insert(0, sys.argv[0]); import lynxbench; lynxbench.unavailable('no such instructions')", 3, "no such instructions"),
        ("exit69", "import sys; sys.exit(69)", 3, "says so by its exit code"),
    ):
        path = program(d, name, text)
        with open(path) as f:
            text = f.read().replace("ready_within: 5s", "ready_within: 500ms" if name == "mute" else "ready_within: 5s")
        with open(path, "w") as f:
            f.write(text)
        r = lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")
        check_equal(r.returncode, code, f"{name}: exit code: {r.stderr}")
        check_in(words, r.stderr + lynx("show", f"{d}/{name}.lynx").stdout, f"{name}: says why")

    # --- what lint says ---
    def lint(**sections):
        base = {"workload": "{driver: command}", "regime": "{load: closed, concurrency: 2}"}
        with open(f"{d}/lint.yaml", "w") as f:
            f.write("lynxbench: 1\nname: lint\n" + "".join(f"{k}: {v}\n" for k, v in {**base, **sections}.items()))
        r = lynx("lint", f"{d}/lint.yaml")
        return r.stdout if r.returncode == 2 else f"exit {r.returncode}"

    start = "{start: {command: [x]}}"
    for sections, words in (
        ({}, "executor.start: found nothing"),
        ({"executor": start, "regime": "{load: poisson, rate_per_s: 5}"}, "regime.concurrency: found nothing; accepted: how many requests may run at once"),
        ({"executor": start, "workload": "{driver: command, options: {restart: 3}}"}, "the command driver has no option 'restart'; it has restarts"),
        ({"executor": start, "workload": "{driver: command, options: {restarts: many}}"}, "'many' where an integer from 0"),
        ({"executor": '{endpoint: "http://x:1", start: {command: [x]}}'}, "executor.endpoint: found an address"),
        ({"workload": "{driver: onnxruntime}"}, "workload.options.model: found nothing, where the onnxruntime driver needs it"),
        ({"workload": "{driver: onnxruntime, options: {model: m, provider: tpu}}"}, "one of these is expected: cpu, cuda"),
        ({"workload": "{driver: kserve, model: m}"}, "executor.endpoint: found nothing"),
        ({"executor": '{endpoint: "http://x:1"}', "workload": "{driver: http, api: native}"}, "llamacpp, ollama and tgi have one"),
        ({"executor": '{endpoint: "http://x:1"}', "workload": "{driver: http, api: native_chat, options: {server: tgi}}"}, "ollama has one"),
        ({"executor": '{endpoint: "http://unix:relative"}', "workload": "{driver: http}"}, "does not begin with /"),
        ({"executor": '{endpoint: "http://x:1"}', "workload": "{driver: http, api: embeddings}", "slo": "[{metric: time_to_first_token, at_most: 1s}]"}, "an embedding has no tokens"),
        ({"executor": '{endpoint: "http://x:1"}', "workload": "{driver: ftp}"}, "one of: command http kserve null onnxruntime"),
    ):
        check_in(words, lint(**sections), f"lint {sections}")

    # --- ONNX Runtime that is not there ---
    with open(f"{d}/ort.yaml", "w") as f:
        f.write('lynxbench: 1\nname: ort\nworkload: {driver: onnxruntime, options: {model: m.onnx, library: /nowhere/libonnxruntime.so}}\nregime: {load: single_stream}\n')
    r = lynx("run", f"{d}/ort.yaml", "--out", f"{d}/ort.lynx", "--quiet")
    check_equal(r.returncode, 2, f"ort: exit code: {r.stderr}")
    check_in("pip install onnxruntime", r.stderr, "ort: the next step")
    with open(f"{d}/ort.yaml", "w") as f:
        f.write(f'lynxbench: 1\nname: ort\nworkload: {{driver: onnxruntime, options: {{model: m.onnx, library: "{SHIM}"}}}}\nregime: {{load: single_stream}}\n')
    r = lynx("run", f"{d}/ort.yaml", "--out", f"{d}/ort2.lynx", "--quiet")
    check_in("no ONNX Runtime of release 1.10 or later", r.stderr, "ort: another library")

    # --- a server of tensors that does everything wrong; the right ones are in tests/peers ---
    class Quiet(http.server.ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            pass  # clients leave when their session is over

    class Kserve(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        metadata, model, infer = None, None, None

        def log_message(self, *_):
            pass

        def answer(self, code, body, **headers):
            self.send_response(code)
            for key, value in {"Content-Type": "application/json", "Content-Length": len(body), **headers}.items():
                self.send_header(key.replace("_", "-"), str(value))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            if self.path == "/v2":
                self.answer(200, json.dumps(self.metadata).encode())
            elif self.path == "/v2/models/m":
                self.answer(200 if self.model else 404, json.dumps(self.model or {"error": "no model m"}).encode())
            else:
                self.answer(200 if self.path.endswith("ready") or self.path == "/v1/models" else 404, b"{}")

        def do_POST(self):
            self.request_body = self.rfile.read(int(self.headers["Content-Length"]))
            self.infer(self)

    @contextlib.contextmanager
    def kserve(metadata, model, infer):
        handler = type("Handler", (Kserve,), {"metadata": metadata, "model": model, "infer": staticmethod(infer)})
        with Quiet(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield server.server_address[1]
            server.shutdown()

    def tensors(name, port, options):
        with open(f"{d}/{name}.yaml", "w") as f:
            f.write(f'lynxbench: 1\nname: "{name}"\nexecutor: {{endpoint: "http://127.0.0.1:{port}", ready_path: /v2/health/ready}}\nworkload: {{driver: kserve, model: m, prompts: {{count: 2, bytes: 8}}, options: {options}}}\nregime: {{load: closed, concurrency: 1}}\nmethod: {METHOD.replace("1500ms", "500ms")}\n')
        return lynx("run", f"{d}/{name}.yaml", "--out", f"{d}/{name}.lynx", "--quiet")

    BINARY = {"name": "toy", "version": "1", "extensions": ["binary_tensor_data"]}
    MODEL = {"name": "m", "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}], "outputs": [{"name": "y"}]}
    output = json.dumps({"outputs": [{"name": "y", "datatype": "FP32", "shape": [1], "parameters": {"binary_data_size": 4}}]}).encode()
    seen = []

    def good(h):
        n = int(h.headers["Inference-Header-Content-Length"])
        seen.append((json.loads(h.request_body[:n]), len(h.request_body) - n))
        h.answer(200, output + b"\0\0\0\0", Inference_Header_Content_Length=len(output))

    with kserve(BINARY, MODEL, good) as port:
        r = tensors("tensors", port, '{sizes: "x.0=3"}')
    check_equal(r.returncode, 0, f"tensors: {r.stderr}")
    check_equal(set(o for o, _ in outcomes(f"{d}/tensors.lynx")) - {"abandoned, not counted"}, {"ok"}, "tensors: outcomes")
    check_equal((seen[0][0]["inputs"][0]["shape"], seen[0][0]["inputs"][0]["parameters"], seen[0][1]), ([3, 4], {"binary_data_size": 48}, 48), "tensors: what was sent")
    check_equal(seen[0][0]["outputs"], [{"name": "y", "parameters": {"binary_data": True}}], "tensors: what was asked for")
    p = show(f"{d}/tensors.lynx")["precisions"][0]
    check_equal(p["counts"], "requests", "tensors: requests are what is counted")
    check_in("requests/s, 95 %", lynx("claim", f"{d}/tensors.lynx").stdout + "requests/s, 95 %", "tensors: the claim's unit")
    for name, metadata, model, options, words in (
        ("no-model", BINARY, None, "{}", "answers 404"),
        ("no-binary", {"name": "toy", "extensions": []}, MODEL, "{tensors: binary}", "does not list the extension binary_tensor_data (it has: none)"),
        ("odd-type", BINARY, {**MODEL, "inputs": [{"name": "x", "datatype": "FP8", "shape": [1]}]}, "{}", "is of datatype 'FP8'; BOOL, UINT8"),
        ("deep", BINARY, {**MODEL, "inputs": [{"name": "x", "datatype": "FP32", "shape": [1] * 9}]}, "{}", "has 9 dimensions"),
        ("no-array", [1], MODEL, "{}", "no JSON object"),
        ("huge", BINARY, {**MODEL, "inputs": [{"name": "x", "datatype": "FP32", "shape": [2**40, 2**40]}]}, "{}", "more than 16777216 bytes of a request (at 'x')"),
    ):
        with kserve(metadata, model, good) as port:
            r = tensors(name, port, options)
        check(r.returncode in (2, 3, 5), f"{name}: exit code {r.returncode}")
        check_in(words, r.stderr + lynx("show", f"{d}/{name}.lynx").stdout, f"{name}: says why")
    for name, infer, wanted in (
        ("short", lambda h: h.answer(200, output + b"\0\0", Inference_Header_Content_Length=len(output)), ("protocol error", f"the outputs say that 4 bytes follow the JSON, and 2 do")),
        ("error", lambda h: h.answer(200, b'{"error": "out of \\u001b memory"}'), ("error in stream", "out of \\u001b memory")),
        ("status", lambda h: h.answer(429, b'{"error": "busy"}'), ("HTTP status", "busy")),
        ("html", lambda h: h.answer(200, b"<html>"), ("protocol error", "200, but no outputs in JSON; it begins '<html>'")),
        ("header", lambda h: h.answer(200, output, Inference_Header_Content_Length="x"), ("protocol error", "Inference-Header-Content-Length is not a number")),
        ("cut", lambda h: (h.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), h.connection.shutdown(2)), ("closed early", "the connection ended in the middle of the answer")),
    ):
        with kserve(BINARY, MODEL, infer) as port:
            tensors(f"bad-{name}", port, "{}")
        check(wanted in outcomes(f"{d}/bad-{name}.lynx"), f"kserve {name}: {wanted} is not in {outcomes(f'{d}/bad-{name}.lynx')}")

    # --- a Unix socket, and a key from a file that is recorded nowhere ---
    class Unix(socketserver.ThreadingUnixStreamServer):
        def handle_error(self, request, client_address):
            pass  # clients leave when their session is over

        request_queue_size = 4  # so that a ramp finds it full
        daemon_threads = True

    keys = set()

    class Answer(Kserve):
        def address_string(self):
            return "unix"

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            keys.add(self.headers["Authorization"])
            self.answer(200, b'{"choices":[{"text":"ok","finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}')

    with open(f"{d}/key.txt", "w") as f:
        f.write("sk-SECRET-7aa1\n")
    with Unix(f"{d}/s.sock", Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(f"{d}/unix.yaml", "w") as f:
            f.write(f'lynxbench: 1\nname: "unix"\nexecutor: {{endpoint: "http://unix:{d}/s.sock:/base"}}\nworkload: {{stream: false, ignore_eos: false, api_key_file: "{d}/key.txt", prompts: {{count: 2, bytes: 8}}}}\nregime: {{load: closed, concurrency: 24}}\nmethod: {METHOD.replace("400ms", "5s")}\n')
        r = lynx("run", f"{d}/unix.yaml", "--out", f"{d}/unix.lynx", "--quiet")
        server.shutdown()
    check_equal(r.returncode, 5, "unix: /base/v1/models answers 404 there")  # do_GET knows /v1/models only
    with Unix(f"{d}/t.sock", Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(f"{d}/unix.yaml") as f:
            text = f.read().replace("s.sock:/base", "t.sock")
        with open(f"{d}/unix2.yaml", "w") as f:
            f.write(text)
        r = lynx("run", f"{d}/unix2.yaml", "--out", f"{d}/unix2.lynx", "--quiet")
        server.shutdown()
    check_equal(r.returncode, 0, f"unix: {r.stderr}")
    check_equal({o for o, _ in outcomes(f"{d}/unix2.lynx")} - {"abandoned, not counted"}, {"ok"}, f"unix: a full queue is waited for: {outcomes(f'{d}/unix2.lynx')}")
    check_equal(keys, {"Bearer sk-SECRET-7aa1"}, "unix: the key was sent")
    check(rows(f"{d}/unix2.lynx", f"SELECT 1 FROM fact WHERE key = 'process.program' AND value LIKE 'python%'"), "unix: who listens is captured")
    # A server that repeats the key, and one that claims more tokens than there are.
    class Echo(Answer):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(401, json.dumps({"error": {"message": "x" * 140 + " bad key " + self.headers["Authorization"]}}).encode())

    class Odd(Answer):
        answers = [b'{"choices":[{"text":"ok","finish_reason":"stop"}],"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807,"total_tokens":1}}', b"{}", b"[]"]

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answers.append(self.answers.pop(0))
            self.answer(200, self.answers[0])

    for name, handler in (("echo", Echo), ("odd", Odd)):
        with Unix(f"{d}/{name}.sock", handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with open(f"{d}/{name}.yaml", "w") as f:
                f.write(text.replace("t.sock", f"{name}.sock"))
            r = lynx("run", f"{d}/{name}.yaml", "--out", f"{d}/{name}.lynx", "--quiet")
            server.shutdown()
        check(r.returncode in (0, 3), f"{name}: {r.returncode} {r.stderr}")
    check(all("bad key" in reason for o, reason in outcomes(f"{d}/echo.lynx") if o == "HTTP status"), f"echo: {outcomes(f'{d}/echo.lynx')}")
    found = outcomes(f"{d}/odd.lynx")
    check({o for o, _ in found} - {"abandoned, not counted"} == {"ok", "protocol error"}, f"odd: nothing is not something: {found}")
    check(any("neither text, nor usage" in reason for _, reason in found), f"odd: {found}")
    for name in os.listdir(d):
        if os.path.isfile(f"{d}/{name}") and name != "key.txt":
            check(b"SECRET-7aa1" not in open(f"{d}/{name}", "rb").read(), f"the key stands in {name}")
    with open(f"{d}/key.txt", "w") as f:
        f.write("two words\n")
    r = lynx("run", f"{d}/unix2.yaml", "--out", f"{d}/unix3.lynx", "--quiet")
    check_equal(r.returncode, 2, "a key with a blank")
    check_in("key.txt", r.stderr, "a key with a blank: the file is named")

    # --- prompts: files of them, exact lengths, pictures, and what the record keeps ---
    def prompts(name, prompts, more="", **sections):
        path = f"{d}/{name}.yaml"
        with open(path, "w") as f:
            f.write(f'lynxbench: 1\nname: "{name}"\nworkload: {{driver: "null", output_tokens: 9, {more}prompts: {prompts}}}\nregime: {{load: single_stream}}\n')
            sections.setdefault("method", "{warm_up: 0s, counted: 100ms, sessions: 1, steady: reported, instrument_error_at_most: 1}")
            f.write("".join(f"{k}: {v}\n" for k, v in sections.items()))
        return lynx("run", path, "--out", f"{d}/{name}.lynx", "--quiet")

    def sent(name):
        return [bytes(x).decode() for (x,) in rows(f"{d}/{name}.lynx", "SELECT text FROM input ORDER BY id")]

    with open(f"{d}/p.jsonl", "w") as f:
        f.writelines(json.dumps({"prompt": f"question {i}", "output_tokens": i + 1}) + "\n" for i in range(10))
    with open(f"{d}/share.json", "w") as f:
        json.dump([{"conversations": [{"from": "human", "value": f"hello {i}"}, {"from": "gpt", "value": "x" * 40}]} for i in range(6)] + [{"conversations": []}], f)
    check_equal(prompts("jsonl", f"{{file: {d}/p.jsonl, format: jsonl, count: 4}}", "output_distribution: given, ").returncode, 0, "jsonl")
    first = sent("jsonl")
    check(len(set(first)) == 4 and all(x.startswith("question ") for x in first), f"jsonl: none twice: {first}")
    lengths = dict(rows(f"{d}/jsonl.lynx", "SELECT DISTINCT input, output_tokens FROM request"))
    check_equal({i: int(first[i].split()[1]) + 1 for i in lengths}, lengths, "jsonl: each as long as it says")
    prompts("again", f"{{file: {d}/p.jsonl, format: jsonl, count: 4}}")
    check_equal(sent("again"), first, "jsonl: the same seed takes the same")
    r = prompts("many", f"{{file: {d}/p.jsonl, format: jsonl, count: 11}}")
    check_equal(r.returncode, 2, "jsonl: more than there are")
    check_in("holds 10 prompts, and 11 are asked for", r.stderr, "jsonl: more than there are")
    r = prompts("share", f"{{file: {d}/share.json, format: sharegpt, count: 6}}", "output_distribution: given, ")
    check_equal((sorted(sent("share")), rows(f"{d}/share.lynx", "SELECT DISTINCT output_tokens FROM request")), ([f"hello {i}" for i in range(6)], [(10,)]), "sharegpt: 40 bytes are 10 tokens")
    check_in("1 conversations without a human turn", str(rows(f"{d}/share.lynx", "SELECT text FROM event")), "sharegpt: what was passed over is noted")
    with open(f"{d}/bad.jsonl", "w") as f:
        f.write('{"prompt": "a"}\n{"prompt": 1}\n')
    check_in("bad.jsonl:2:", prompts("badl", f"{{file: {d}/bad.jsonl, format: jsonl, count: 1}}").stderr, "jsonl: the line that is wrong")
    prompts("withheld", f"{{file: {d}/p.jsonl, format: jsonl, count: 4, withhold: true}}")
    check(all(x.startswith("withheld: 10 bytes of text") for x in sent("withheld")), f"withheld: {sent('withheld')}")
    check(b"question" not in open(f"{d}/withheld.lynx", "rb").read(), "withheld: nowhere")
    import hashlib
    words = sent("withheld")[0].split()
    check_equal(hashlib.sha256(bytes.fromhex(words[words.index("salt") + 1].rstrip(",")) + first[0].encode()).hexdigest(), words[-1], "withheld: who has the text can show it")
    prompts("image", '{count: 2, bytes: 8, image: "8x4"}', "api: chat, ")
    check(all("SHA-256" in x and "a data URL of" in x for x in sent("image")) and len(set(sent("image"))) == 2, f"pictures: {sent('image')}")
    vocabulary = {f"\u0120word{chr(97 + i)}": i for i in range(20)}
    with open(f"{d}/tokenizer.json", "w") as f:
        json.dump({"model": {"type": "BPE", "vocab": vocabulary}}, f)
    check_equal(prompts("exact", f"{{count: 3, tokens: 50, tokenizer: {d}/tokenizer.json}}").returncode, 0, "exact")
    check_equal({len(x.split(" ")) - 1 for x in sent("exact")}, {50}, "exact: 50 words, each a token")
    with open(f"{d}/pic.jsonl", "w") as f:
        f.write('{"prompt": "a", "image": "x.png"}\n')
    check_in("this route takes none", prompts("picture", f"{{file: {d}/pic.jsonl, format: jsonl, count: 1}}").stderr, "a picture that would not be sent")
    for text, words in (
        ("{format: jsonl, count: 1}", "workload.prompts.file: found nothing"),
        (f"{{file: {d}/p.jsonl, format: jsonl, count: 1, bytes: 5}}", "workload.prompts.bytes: found a length beside a file of prompts"),
        ("{tokens: 5}", "workload.prompts.tokenizer: found nothing"),
        ("{tokenizer: x}", "workload.prompts.tokens: found nothing"),
        ('{image: "8"}', "WIDTHxHEIGHT"),
        ('{image: "8x8"}', "a picture with a route that takes none"),
    ):
        check_in(words, lint(executor='{endpoint: "http://x:1"}', workload=f"{{driver: http, prompts: {text}}}"), f"lint prompts {text}")
    check_in("server, without executor.endpoint", lint(workload='{driver: "null", prompts: {tokens: 5, tokenizer: server}}'), "lint: nobody to count")
    check_in("a format that gives lengths", lint(executor='{endpoint: "http://x:1"}', workload="{driver: http, output_distribution: given}"), "lint: given")
    check_in("prompts are made before the executor is started", lint(executor='{endpoint: "http://x:1", start: {command: [x]}}', workload="{driver: http, prompts: {tokens: 5, tokenizer: server}}"), "lint: server")

    # --- load threads on processors of their own ---
    r = prompts("pinned", "{count: 1}", method='{warm_up: 0s, counted: 100ms, sessions: 1, steady: reported, instrument_error_at_most: 1, processors: "0"}')
    check_equal(r.returncode, 0, f"pinned: {r.stderr}")
    check_equal(json.loads(rows(f"{d}/pinned.lynx", "SELECT instrument FROM session")[0][0])["processors"], "0", "pinned: in the record")
    check_in("'0-x' where processors are expected", lint(executor="{endpoint: \"http://x:1\"}", workload="{driver: http}", method='{processors: "0-x"}'), "lint: processors")
    r = prompts("nowhere", "{count: 1}", method='{warm_up: 0s, counted: 100ms, sessions: 1, steady: reported, instrument_error_at_most: 1, processors: "1000"}')
    check_equal(r.returncode, 2, f"processors that are not there: {r.stderr}")
    check_in("method.processors", r.stderr, "processors that are not there")
    r = prompts("half", "{count: 1}", method='{warm_up: 0s, counted: 100ms, sessions: 1, steady: reported, instrument_error_at_most: 1, processors: "0,1000"}')
    check_equal(r.returncode, 2, f"some of them are not there: {r.stderr}")
    check_in("1000 is not there", r.stderr, "which one")

finish()
