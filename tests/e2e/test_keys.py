"""Where a team's key is kept: in ssh-agent, on a PKCS#11 token, or under a passphrase that a terminal is asked for."""

import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest
from lynx import LYNX, SOURCE, lynx, main

CONTRACT = f"{SOURCE}/examples/null.yaml"


def keygen(path, comment, kind="ed25519"):
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", comment, "-f", path]
    subprocess.run(command, check=True)


@pytest.fixture
def agent(tmp_path):
    """A real ssh-agent with two Ed25519 keys and an RSA one; the files of their private halves are gone."""
    env = {"SSH_AUTH_SOCK": f"{tmp_path}/agent.sock", "HOME": str(tmp_path)}
    process = subprocess.Popen(["ssh-agent", "-D", "-a", env["SSH_AUTH_SOCK"]], stdout=subprocess.DEVNULL)
    for i in range(100):
        if os.path.exists(env["SSH_AUTH_SOCK"]):
            break
        time.sleep(0.05)
    for name, kind in (("ml key", "ed25519"), ("other", "ed25519"), ("rsa", "rsa")):
        path = f"{tmp_path}/id-{name.split()[0]}"
        keygen(path, name, kind)
        subprocess.run(["ssh-add", "-q", path], env={**os.environ, **env}, check=True)
        os.unlink(path)
    yield env
    process.kill()
    process.wait()


def test_a_key_stays_in_ssh_agent(agent, tmp_path):
    """What it signs is what a key in a file would have signed; without the agent nothing is."""
    r = lynx("ledger", "key", "ml", "--out", tmp_path, "--agent", "ml key", env=agent)
    assert r.returncode == 0, r.stderr
    with open(f"{tmp_path}/ml.key") as f:
        assert re.fullmatch(r"team: ml\nssh-agent: [0-9a-f]{64}\n", f.read())
    key = ("--key", f"{tmp_path}/ml.key")
    assert lynx("ledger", "create", f"{tmp_path}/a.ledger", *key, env=agent).returncode == 0
    signs = ("ledger", "sign", CONTRACT, *key, "--ledger", f"{tmp_path}/a.ledger", "--out", f"{tmp_path}/s.json")
    r = lynx(*signs, env=agent)
    assert r.returncode == 0, r.stderr
    assert lynx("audit", f"{tmp_path}/a.ledger", env=agent).returncode == 0
    checks = ("ledger", "sign", CONTRACT, "--check", f"{tmp_path}/ml.pub", "--out", f"{tmp_path}/s.json")
    assert lynx(*checks, env={"SSH_AUTH_SOCK": ""}).returncode == 0
    for gone, words in (({"SSH_AUTH_SOCK": ""}, "SSH_AUTH_SOCK"), ({"SSH_AUTH_SOCK": f"{tmp_path}/none"}, "none")):
        r = lynx(*signs, env=gone)
        assert r.returncode == 2 and words in r.stderr, r.stderr
    subprocess.run(["ssh-add", "-qD"], env={**os.environ, **agent}, check=True)
    r = lynx(*signs, env=agent)
    assert r.returncode == 2 and "the key is gone" in r.stderr, r.stderr


def test_which_keys_ssh_agent_holds_is_said(agent, tmp_path):
    r = lynx("ledger", "key", "ml", "--out", tmp_path, "--agent", "rsa", env=agent)
    assert r.returncode == 2 and "it holds: 'ml key', 'other'" in r.stderr, r.stderr
    assert not os.path.exists(f"{tmp_path}/ml.key")


KEY = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + b"k" * 32


def framed(kind, body):
    return struct.pack(">IB", len(body) + 1, kind) + body


ANSWERS = {
    "nothing": b"",
    "cut": framed(12, b"\0\0\0\1")[:-2],
    "too long": struct.pack(">IB", 1 << 31, 12),
    "too many": framed(12, b"\xff\xff\xff\xff"),
    "beyond its end": framed(12, b"\0\0\0\1\0\0\xff\xff" + KEY),
    "another kind": framed(6, b""),
    "empty": struct.pack(">IB", 0, 12),
    "hostile words": framed(12, b"\0\0\0\1" + struct.pack(">I", len(KEY)) + KEY + b"\0\0\0\4\x1b[2J"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_agent_that_answers_anything(tmp_path, name):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{tmp_path}/s")
    listener.listen()

    def serve():
        one, _ = listener.accept()
        one.recv(1000)
        one.sendall(ANSWERS[name])
        one.close()

    threading.Thread(target=serve, daemon=True).start()
    r = lynx("ledger", "key", "ml", "--out", tmp_path, "--agent", "x", env={"SSH_AUTH_SOCK": f"{tmp_path}/s"})
    assert r.returncode in (2, 5) and "ssh-agent" in r.stderr and "\x1b" not in r.stderr, r.stderr
    assert not os.path.exists(f"{tmp_path}/ml.key")


def at_a_terminal(args, answers, env=None):
    """Runs it with a terminal of its own, answers what it asks, and returns its exit code and all that was shown."""
    try:
        pid, fd = pty.fork()
    except OSError as e:
        pytest.skip(f"there is no terminal to be had: {e}")
    if pid == 0:
        os.execve(LYNX, [LYNX, *map(str, args)], {**os.environ, **(env or {})})
    shown = b""
    try:
        while chunk := os.read(fd, 1000):
            shown += chunk
            if answers and answers[0][0].encode() in shown.split(b"\n")[-1]:
                time.sleep(0.1)
                os.write(fd, answers.pop(0)[1].encode() + b"\n")
    except OSError:
        pass  # it has ended
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


def test_a_passphrase_is_asked_for_on_the_terminal(tmp_path):
    word = "far sight"
    asked = [("passphrase for the new key", word), ("erify", word)]
    code, shown = at_a_terminal(["ledger", "key", "ml", "--out", tmp_path, "--passphrase"], asked)
    assert code == 0 and not asked and word not in shown, shown
    with open(f"{tmp_path}/ml.key") as f:
        assert "ENCRYPTED" in f.read()
    signs = ["ledger", "sign", CONTRACT, "--key", f"{tmp_path}/ml.key", "--out", f"{tmp_path}/s.json"]
    code, shown = at_a_terminal(signs, [("Passphrase of", word)])
    assert code == 0 and word not in shown, shown
    code, shown = at_a_terminal(signs, [("Passphrase of", "near sight")])
    assert code == 2 and "does not open it" in shown, shown
    r = lynx(*signs)  # nobody is there: it does not wait
    assert r.returncode == 2 and "none was given" in r.stderr, r.stderr
    r = lynx("ledger", "key", "sre", "--out", tmp_path, "--passphrase")
    assert r.returncode == 2 and not os.path.exists(f"{tmp_path}/sre.key"), r.stderr


def provider():
    command = ["openssl", "list", "-providers", "-provider", "pkcs11", "-provider", "default"]
    return shutil.which("softhsm2-util") and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(not provider(), reason="needs softhsm2 and OpenSSL's provider pkcs11 (Debian 13: pkcs11-provider)")
def test_a_key_stays_on_a_token(tmp_path):
    os.makedirs(f"{tmp_path}/tokens")
    with open(f"{tmp_path}/softhsm2.conf", "w") as f:
        f.write(f"directories.tokendir = {tmp_path}/tokens\n")
    module = next(
        p for p in ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so") if os.path.exists(p)
    )
    env = {
        "SOFTHSM2_CONF": f"{tmp_path}/softhsm2.conf",
        "PKCS11_PROVIDER_MODULE": module,
        "LYNXBENCH_PASSPHRASE": "1234",
    }
    all_env = {**os.environ, **env}
    init = ["softhsm2-util", "--init-token", "--free", "--label", "team", "--pin", "1234", "--so-pin", "1234"]
    subprocess.run(init, env=all_env, check=True, capture_output=True)
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", f"{tmp_path}/k.pem"], check=True)
    put = [
        "softhsm2-util",
        "--import",
        f"{tmp_path}/k.pem",
        "--token",
        "team",
        "--label",
        "ml",
        "--id",
        "01",
        "--pin",
        "1234",
    ]
    subprocess.run(put, env=all_env, check=True, capture_output=True)
    uri = "pkcs11:token=team;object=ml;type=private"
    r = lynx("ledger", "key", "ml", "--out", tmp_path, "--pkcs11", uri, env=env)
    assert r.returncode == 0, r.stderr
    signs = ("ledger", "sign", CONTRACT, "--key", f"{tmp_path}/ml.key", "--out", f"{tmp_path}/s.json")
    assert lynx(*signs, env=env).returncode == 0
    assert (
        lynx("ledger", "sign", CONTRACT, "--check", f"{tmp_path}/ml.pub", "--out", f"{tmp_path}/s.json").returncode == 0
    )
    r = lynx(*signs, env={**env, "LYNXBENCH_PASSPHRASE": "9999"})
    assert r.returncode == 2 and "PIN" in r.stderr, r.stderr


if __name__ == "__main__":
    main(__file__)
