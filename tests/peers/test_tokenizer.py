"""Tokens of texts, counted by us and by the tokenizers of Hugging Face, in the forms that models of the day use.

usage: test_tokenizer.py [FOLDER]   keeps what it made there (tests/recorded/tokenizers is made so)"""

import glob
import json
import os
import random
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE"], os.environ["BUILD"]
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
DEEPSEEK = [r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s+"]

MAKE = """
import json, random, sys
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
folder, llama_3, qwen, deepseek, corpus, n = json.load(sys.stdin)
split = lambda pattern: pre_tokenizers.Split(Regex(pattern), "isolated")
raw = lambda *steps: pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
by_bytes = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "roberta": pre_tokenizers.ByteLevel(add_prefix_space=True),
    "llama-3": raw(split(llama_3)),
    "qwen": raw(split(qwen)),
    "deepseek": raw(*map(split, deepseek)),
    "digits": raw(pre_tokenizers.Digits(individual_digits=True)),
}
by_letters = {"llama-2": None, "mistral": "always", "gemma": "never"}
random.seed(1)
pieces = [" ", "\\n", "\\r\\n", "\\t", "  ", "don't", "IT'S", "word", " lynx", "42", "1234567", "\\u00e4", "\\u4e2d\\u6587", "\\U0001f600",
          "\\u0915\\u093e", "e\\u0301", ".", "...", "!?", "<|end|>", "\\u2581", "\\u00a0", "\\u0e01\\u0e33", "\\ufffd", "(", "_"]
texts = ["", " ", "a", *corpus[:40]]
texts += ["".join(random.choice(pieces) for _ in range(random.randint(1, 30))) for _ in range(n)]
texts += [chr(random.choice([random.randrange(1, 0x80), random.randrange(1, 0x3000), random.randrange(0xe000, 0x1ffff)])) * 3 for _ in range(n)]
for name in [*by_bytes, *by_letters]:
    special = [AddedToken("<|end|>", special=True)]
    if name in by_bytes:
        t = Tokenizer(models.BPE(ignore_merges=name == "llama-3"))
        t.pre_tokenizer = by_bytes[name]
        if name == "qwen": t.normalizer = normalizers.NFC()
        trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=special, show_progress=False)
    else:
        t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
        if name == "llama-2": t.normalizer = normalizers.Sequence([normalizers.Prepend("\\u2581"), normalizers.Replace(" ", "\\u2581")])
        if name == "mistral": t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        if name == "gemma": t.normalizer = normalizers.Replace(" ", "\\u2581")
        fallback = ["<unk>", *special, *(f"<0x{b:02X}>" for b in range(256))]
        trainer = trainers.BpeTrainer(vocab_size=700, limit_alphabet=80, special_tokens=fallback, show_progress=False)
    t.train_from_iterator(corpus, trainer)
    about = json.loads(t.to_str())
    about["added_tokens"] = [x for x in about["added_tokens"] if not x["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(about))
    use = [x for x in texts if name != "qwen" or normalizers.NFC().normalize_str(x) == x]
    vectors = [[x, len(t.encode(x, add_special_tokens=False).ids)] for x in use]
    json.dump({"tokenizer": about, "vectors": vectors}, open(f"{folder}/{name}.json", "w"), separators=(",", ":"))
"""


def corpus():
    lines = []
    for path in sorted(glob.glob(f"{SOURCE}/docs/*.md")):
        lines += [line.rstrip("\n") for line in open(path) if len(line) > 40]
    random.seed(2)
    return random.sample(lines, 300)


def make(folder, n):
    given = json.dumps([folder, LLAMA_3, QWEN, DEEPSEEK, corpus(), n])
    subprocess.run([os.environ["PEERS_PYTHON"], "-c", MAKE], input=given, text=True, check=True)


if len(sys.argv) > 1:
    make(sys.argv[1], 30)
    sys.exit(0)
with tempfile.TemporaryDirectory() as d:
    make(d, 2000)
    r = subprocess.run(
        [f"{BUILD}/tests/test_tokenizer", *sorted(glob.glob(f"{d}/*.json"))], capture_output=True, text=True
    )
    print(r.stdout[-3000:], r.stderr[-2000:])
    sys.exit(r.returncode)
