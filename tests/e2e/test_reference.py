"""The reference executor's own routes: what a client of OpenAI's API would expect."""

import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from lynx import *

PROMPT = "First Citizen:\nBefore we"
GREEDY = {"prompt": PROMPT, "max_tokens": 40, "temperature": 0}
COMPLETIONS = "/v1/completions"


@pytest.fixture(scope="module")
def port():
    """The byte model, four at once and eight that wait."""
    weights = f"{SOURCE}/reference/model/byte.safetensors"
    with reference("--weights", weights, "--max-batch", "4", "--queue", "8") as port:
        yield port


def send(port, path, body=None, timeout=60):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data=data, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def ask(port, path, body=None, expect=200):
    status, text = send(port, path, body)
    check_equal(status, expect, f"{path} {str(body)[:80]}: {text[:200]}")
    return text


def choice(port, **more):
    return json.loads(ask(port, COMPLETIONS, {**GREEDY, **more}))["choices"][0]


@pytest.fixture(scope="module")
def text(port):
    return choice(port)["text"]


def test_models_and_health(port):
    models = json.loads(ask(port, "/v1/models"))
    check_equal(models["data"][0]["executed"]["executed"], "f32", "executed")
    check_equal(json.loads(ask(port, "/health"))["status"], "ok", "health")
    check_in("vllm:generation_tokens_total", ask(port, "/metrics"), "metrics")


def test_a_greedy_completion(port):
    a = json.loads(ask(port, COMPLETIONS, GREEDY))
    n = len(PROMPT)
    check_equal(len(a["choices"][0]["text"]), 40, "length of a greedy completion")
    check_equal(a["usage"], {"prompt_tokens": n, "completion_tokens": 40, "total_tokens": n + 40}, "usage")
    check_equal(a["choices"][0]["finish_reason"], "length", "finish reason")


def test_the_same_seed_the_same_text(port):
    drawn = [choice(port, temperature=1, seed=s)["text"] for s in (1, 1, 2)]
    check(drawn[0] == drawn[1] != drawn[2], f"seeds: {drawn}")


def test_a_stop_string_ends_the_text_before_it(port, text):
    stop = text[10:13]
    want = text[: text.index(stop)]
    wanted = {"index": 0, "text": want, "logprobs": None, "finish_reason": "stop"}
    check_equal(choice(port, stop=[stop]), wanted, "stop")
    body = {**GREEDY, "stop": stop, "stream": True, "stream_options": {"include_usage": True}}
    events = [e[6:] for e in ask(port, COMPLETIONS, body).split("\n\n") if e]
    check_equal(events[-1], "[DONE]", "the stream's end")
    check_equal("".join(json.loads(e)["choices"][0]["text"] for e in events[:-2]), want, "streamed text")
    check_equal(json.loads(events[-2])["choices"], [], "the usage event has no choices")


def test_log_probabilities(port):
    e = choice(port, prompt="ROMEO:", max_tokens=1, echo=True, logprobs=1)
    check_equal(len(e["logprobs"]["token_logprobs"]), 7, "echoed log-probabilities")
    check(e["text"].startswith("ROMEO:") and all(x < 0 for x in e["logprobs"]["token_logprobs"]), "echo")
    body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "logprobs": True, "temperature": 0}
    c = json.loads(ask(port, "/v1/chat/completions", body))["choices"][0]
    check_equal(len(c["logprobs"]["content"]), 4, "chat log-probabilities")
    check_equal(c["message"]["role"], "assistant", "chat")


def test_a_batch_gives_the_same_text_as_one_alone(port, text):
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda _: choice(port)["text"], range(6)))
    check_equal(set(together), {text}, "greedy text, alone and in a batch")


WRONG = {
    "prompt": {"max_tokens": 1},
    "max_tokens": {"prompt": "a", "max_tokens": -1},
    "'n'": {"prompt": "a", "n": 3},
    "context": {"prompt": "x" * 600, "max_tokens": 1},
    "stream_options": {"prompt": "a", "stream_options": {}},
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_request_is_told_what_is_wrong(port, words):
    check_in(words, ask(port, COMPLETIONS, WRONG[words], 400), words)


def test_wrong_routes_and_what_is_not_http(port):
    ask(port, "/nothing", None, 404)
    ask(port, COMPLETIONS, None, 405)
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(b"nonsense\r\n\r\n")
        check_in(b"400", s.recv(1000), "not HTTP")


def test_a_full_queue_is_an_answer_not_a_hang(port):
    body = {"prompt": "a", "max_tokens": 400, "ignore_eos": True}
    with ThreadPoolExecutor(40) as pool:
        codes = list(pool.map(lambda _: send(port, COMPLETIONS, body, timeout=120)[0], range(40)))
    check(set(codes) <= {200, 429} and 200 in codes, f"a full queue: {codes}")


@pytest.mark.parametrize("shape", ["tiny", "small"])
def test_a_shape_has_weights_from_a_seed(shape):
    body = {"prompt": "abc", "max_tokens": 5, "temperature": 0, "ignore_eos": True}
    with reference("--shape", shape) as port:
        a, b = (json.loads(ask(port, COMPLETIONS, body)) for _ in range(2))
    check_equal(a["usage"]["completion_tokens"], 5, f"shape {shape}")
    check_equal(a["choices"], b["choices"], f"shape {shape}: weights from a seed")


def test_wrong_options():
    r = subprocess.run([REF, "--mode", "nothing"], capture_output=True, text=True)
    check_equal(r.returncode, 2, "a wrong option")
    check_in("model metronome", r.stderr, "says what is accepted")
    r = subprocess.run([REF, "--weights", "/nowhere"], capture_output=True, text=True)
    check(r.returncode != 0 and "/nowhere" in r.stderr, f"weights that are not there: {r.stderr}")


if __name__ == "__main__":
    main(__file__)
