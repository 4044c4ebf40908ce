"""A workload of one's own: a little language model of letter pairs, with its phases marked. `lynxbench run examples/command.yaml` runs it;
by hand (PYTHONPATH=python python3 examples/workload.py) it is the script that it is."""
import os
import random

from lynxbench import phase, token, workload

with open(os.path.join(os.path.dirname(__file__), "..", "reference", "model", "shakespeare.txt"), encoding="utf-8") as f:
    text = f.read()
following = {}
for a, b in zip(text, text[1:]):
    following.setdefault(a, []).append(b)


@workload
def write(request):
    with phase("encode"):
        letter = request.prompt[-1] if request.prompt and request.prompt[-1] in following else " "
        dice = random.Random(request.seed * 1000 + request.input)
    with phase("decode"):
        for _ in range(request.output_tokens):
            letter = dice.choice(following.get(letter, " "))
            token(letter)


if os.environ.get("LYNXBENCH_PROTOCOL") != "1":

    class Once:
        prompt, seed, input, output_tokens = "To be", 1, 0, 40

    write(Once)
    print(f"{len(following)} letters are known; run it with lynxbench to see what it writes, and how fast")
