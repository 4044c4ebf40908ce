"""The reference executor's own routes: what a client of OpenAI's API would expect."""
import urllib.error
import urllib.request
from lynx import *


def ask(port, path, body=None, expect=200):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=json.dumps(body).encode() if body is not None else None, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as r:
            status, text = r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        status, text = e.code, e.read().decode()
    check_equal(status, expect, f"{path} {str(body)[:80]}: {text[:200]}")
    return text


with reference("--weights", f"{SOURCE}/reference/model/byte.safetensors", "--max-batch", "4", "--queue", "8") as port:
    models = json.loads(ask(port, "/v1/models"))
    check_equal(models["data"][0]["executed"]["executed"], "f32", "executed")
    check_equal(json.loads(ask(port, "/health"))["status"], "ok", "health")
    prompt = "First Citizen:\nBefore we"
    a = json.loads(ask(port, "/v1/completions", {"prompt": prompt, "max_tokens": 40, "temperature": 0}))
    text = a["choices"][0]["text"]
    check_equal(len(text), 40, "length of a greedy completion")
    check_equal(a["usage"], {"prompt_tokens": len(prompt), "completion_tokens": 40, "total_tokens": len(prompt) + 40}, "usage")
    check_equal(a["choices"][0]["finish_reason"], "length", "finish reason")
    # Seeds: the same seed the same text, another seed another.
    drawn = [json.loads(ask(port, "/v1/completions", {"prompt": prompt, "max_tokens": 40, "temperature": 1, "seed": s}))["choices"][0]["text"] for s in (1, 1, 2)]
    check(drawn[0] == drawn[1] != drawn[2], f"seeds: {drawn}")
    # A stop string ends the text before it, streamed or not.
    stop = text[10:13]
    want = text[: text.index(stop)]
    check_equal(json.loads(ask(port, "/v1/completions", {"prompt": prompt, "max_tokens": 40, "temperature": 0, "stop": [stop]}))["choices"][0], {"index": 0, "text": want, "logprobs": None, "finish_reason": "stop"}, "stop")
    events = [e[6:] for e in ask(port, "/v1/completions", {"prompt": prompt, "max_tokens": 40, "temperature": 0, "stop": stop, "stream": True, "stream_options": {"include_usage": True}}).split("\n\n") if e]
    check_equal(events[-1], "[DONE]", "the stream's end")
    check_equal("".join(json.loads(e)["choices"][0]["text"] for e in events[:-2]), want, "streamed text")
    check_equal(json.loads(events[-2])["choices"], [], "the usage event has no choices")
    # Log-probabilities: chat and completions; echo gives the prompt's.
    e = json.loads(ask(port, "/v1/completions", {"prompt": "ROMEO:", "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}))["choices"][0]
    check_equal(len(e["logprobs"]["token_logprobs"]), 7, "echoed log-probabilities")
    check(e["text"].startswith("ROMEO:") and all(x < 0 for x in e["logprobs"]["token_logprobs"]), "echo")
    c = json.loads(ask(port, "/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "logprobs": True, "temperature": 0}))["choices"][0]
    check_equal(len(c["logprobs"]["content"]), 4, "chat log-probabilities")
    check_equal(c["message"]["role"], "assistant", "chat")
    # Batched together or alone: the same greedy text.
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda i: json.loads(ask(port, "/v1/completions", {"prompt": prompt, "max_tokens": 40, "temperature": 0}))["choices"][0]["text"], range(6)))
    check_equal(set(together), {text}, "greedy text, alone and in a batch")
    # Wrong requests.
    for body, words in (({"max_tokens": 1}, "prompt"), ({"prompt": "a", "max_tokens": -1}, "max_tokens"), ({"prompt": "a", "n": 3}, "'n'"), ({"prompt": "x" * 600, "max_tokens": 1}, "context"), ({"prompt": "a", "stream_options": {}}, "stream_options")):
        check_in(words, ask(port, "/v1/completions", body, 400), f"{str(body)[:60]}")
    ask(port, "/nothing", None, 404)
    ask(port, "/v1/completions", None, 405)
    check_in("vllm:generation_tokens_total", ask(port, "/metrics"), "metrics")
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"nonsense\r\n\r\n")
        check_in(b"400", s.recv(1000), "not HTTP")
    # A full queue is an answer, not a hang.
    with ThreadPoolExecutor(40) as pool:
        def one(i):
            try:
                with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", data=json.dumps({"prompt": "a", "max_tokens": 400, "ignore_eos": True}).encode()), timeout=120) as r:
                    return r.status
            except urllib.error.HTTPError as e:
                return e.code
        codes = list(pool.map(one, range(40)))
    check(set(codes) <= {200, 429} and 200 in codes, f"a full queue: {codes}")
    print(f"40 at once against a batch of 4 and a queue of 8: {codes.count(200)} answered, {codes.count(429)} refused with 429")
for shape in ("tiny", "small"):
    with reference("--shape", shape) as port:
        a = json.loads(ask(port, "/v1/completions", {"prompt": "abc", "max_tokens": 5, "temperature": 0, "ignore_eos": True}))
        check_equal(a["usage"]["completion_tokens"], 5, f"shape {shape}")
        b = json.loads(ask(port, "/v1/completions", {"prompt": "abc", "max_tokens": 5, "temperature": 0, "ignore_eos": True}))
        check_equal(a["choices"], b["choices"], f"shape {shape}: weights from a seed")
r = subprocess.run([REF, "--mode", "nothing"], capture_output=True, text=True)
check_equal(r.returncode, 2, "a wrong option")
check_in("model metronome", r.stderr, "says what is accepted")
r = subprocess.run([REF, "--weights", "/nowhere"], capture_output=True, text=True)
check(r.returncode != 0 and "/nowhere" in r.stderr, f"weights that are not there: {r.stderr}")
finish()
