"""Our checkpoints, tiles and proofs in an independent implementation's hands, and its in ours: the Go project's transparency log code
(Debian's golang-go and golang-golang-x-mod-dev)."""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
from lynx import SOURCE, check, check_equal, finish, folder, lynx  # noqa: E402

GOCODE = "/usr/share/gocode"


def main(d):
    peer = f"{d}/peer"
    if not shutil.which("go") or not os.path.isdir(f"{GOCODE}/src/golang.org/x/mod/sumdb"):
        print("skipped: the Go log, because Debian's golang-go and golang-golang-x-mod-dev are not installed")
        return
    r = subprocess.run(
        ["go", "build", "-o", peer, f"{SOURCE}/tests/peers/checkpoint_peer/main.go"],
        capture_output=True,
        text=True,
        env={**os.environ, "GO111MODULE": "off", "GOPATH": GOCODE, "GOCACHE": f"{d}/cache", "GOFLAGS": ""},
    )
    check_equal(r.returncode, 0, f"go build: {r.stderr[-2000:]}")

    def L(*args):
        return lynx(*args, env={"HOME": d, "XDG_STATE_HOME": d, "LYNXBENCH_KEY": f"{d}/ml.key"})

    def go(*args):
        return subprocess.run([peer, *args], capture_output=True, text=True)

    L("ledger", "key", "ml", "--out", d)
    ledger = f"{d}/a.ledger"
    L("ledger", "create", ledger)
    vkey = L("ledger", "policy", ledger).stdout.splitlines()[1].split()[-1]
    n, sizes = 1, []  # entry 0 is the policy
    for wanted in (1, 2, 3, 7, 8, 21, 256, 257, 300):
        while n < wanted:
            r = L(
                "ledger",
                "sign",
                f"{SOURCE}/examples/null.yaml",
                "--reservation",
                f"number {n}",
                "--ledger",
                ledger,
                "--out",
                f"{d}/s.json",
            )
            check_equal(r.returncode, 0, f"sign: {r.stderr}")
            n = len(L("ledger", "list", ledger).stdout.splitlines())
        static, theirs, copy = f"{d}/ours-{n}", f"{d}/theirs-{n}", f"{d}/copy-{n}.ledger"
        L("ledger", "export", ledger, static)
        r = go("read", static, vkey)
        check_equal(r.returncode, 0, f"{n} entries: Go takes our note, our tiles and our entries: {r.stderr}")
        if r.returncode:
            return
        found = json.loads(r.stdout)
        check_equal((found["origin"], found["size"], found["unverified"]), ("a.ledger", n, 0), "and reads the same")
        for i in sorted({0, 1, n // 2, n - 1} & set(range(n))):
            ours = L("ledger", "proof", ledger, str(i)).stdout.split("\n\n")[0].splitlines()[2:]
            check_equal(ours, found["records"][i], f"{n} entries: the proof of entry {i}")
        # The other way round: the tree computed and signed by Go.
        check_equal(go("write", static, f"{ledger}.key", theirs).returncode, 0, f"{n} entries: Go computes and signs")
        check_equal(
            open(f"{theirs}/checkpoint", "rb").read(),
            open(f"{static}/checkpoint", "rb").read(),
            "the same note, byte for byte: Ed25519 has one signature",
        )
        r = L("ledger", "pull", theirs, copy, "--trust", vkey)
        check_equal(r.returncode, 0, f"{n} entries: we take Go's note, tiles and entries: {r.stderr}")
        check_equal(L("audit", copy).returncode, 0, "and find that they hold")
        sizes.append(n)
    # What is not so is refused by both.
    for path, at in (("checkpoint", 30), ("tile/0/000", 100), ("tile/entries/000", 1000), ("tile/1/000.p/1", 5)):
        bad = f"{d}/bad"
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(f"{d}/ours-{n}", bad)
        with open(f"{bad}/{path}", "r+b") as f:
            data = bytearray(f.read())
            data[at] ^= 1
            f.seek(0)
            f.write(data)
        check(go("read", bad, vkey).returncode != 0, f"{path} altered: Go refuses it")
        r = L("ledger", "pull", bad, f"{d}/bad-{at}.ledger", "--trust", vkey)
        # We compute the tree from the entries, and read no hashes of others'.
        check(
            r.returncode != 0 if path in ("checkpoint", "tile/entries/000") else r.returncode == 0,
            f"{path} altered: {r.returncode} {r.stderr}",
        )
    # The tree of any earlier size is the one that Go derives from the newest: what a consistency proof shows.
    for i in sizes:
        ours = open(f"{d}/ours-{i}/checkpoint").read().splitlines()[2]
        check_equal(found["trees"][i - 1][0], ours, f"the tree of {i} entries is the beginning of {n}")


with folder() as d:
    main(d)
finish()
