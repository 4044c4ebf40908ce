"""TLS: the metronome behind socat, which speaks TLS for it; a certificate that is trusted, and one that is not."""

import pytest
from lynx import *

there = shutil.which("socat") and shutil.which("openssl")
pytestmark = pytest.mark.skipif(not there, reason="socat or openssl is not installed")


@pytest.fixture(scope="module")
def proxy():
    """Its folder, which holds cert.pem, and its port."""
    with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as inner:
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
        files = ["-keyout", f"{d}/key.pem", "-out", f"{d}/cert.pem", "-days", "2"]
        request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *names]
        subprocess.run(request, check=True, capture_output=True)
        port = free_port()
        listens = f"OPENSSL-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,cert={d}/cert.pem,key={d}/key.pem,verify=0"
        p = subprocess.Popen(["socat", listens, f"TCP:127.0.0.1:{inner}"], stderr=subprocess.DEVNULL)
        for _ in range(100):  # until it listens
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield d, port
        p.terminate()
        p.wait()


def test_a_trusted_certificate_is_measured_behind_its_proxy(proxy):
    d, port = proxy
    executor = f'{{endpoint: "https://127.0.0.1:{port}", ca_file: {d}/cert.pem, behind_proxy: true}}'
    r = lynx("run", contract(f"{d}/tls.yaml", port, executor=executor), "--out", f"{d}/tls.lynx", "--quiet")
    check_equal(r.returncode, 0, f"trusted: {r.stderr}")
    result = show(f"{d}/tls.lynx")
    p = result["precisions"][0]
    check_equal(p["requests"]["failed"], 0, f"trusted: {p['requests']}")
    check_equal(p["mean_output_tokens"], 5, "trusted: tokens")
    check(p["read_lag"]["n_unknown"] == p["requests"]["counted"], "read lags through TLS are unknown, and said to be")
    check_in("is a proxy", json.dumps(result["executor"]["holes"]), "what is behind the proxy is a hole")
    check_in("is a proxy", lynx("show", f"{d}/tls.lynx").stdout, "and shown")


def test_a_forwarder_is_recognised_unasked(proxy):
    r = lynx("capture", "--endpoint", f"http://127.0.0.1:{proxy[1]}", "--json")
    check_in("held by socat", r.stdout, "a forwarder on the port is a hole")


def test_a_certificate_that_is_not_trusted_is_refused(proxy):
    d, port = proxy
    path = contract(f"{d}/un.yaml", port, executor=f'{{endpoint: "https://127.0.0.1:{port}"}}')
    r = lynx("run", path, "--out", f"{d}/un.lynx", "--quiet")
    check_equal(r.returncode, 5, "not trusted: exit code")
    check_in("certificate", r.stderr.lower(), "not trusted: says why")


def test_a_name_that_nobody_knows(tmp_path):
    path = contract(f"{tmp_path}/name.yaml", 1, executor='{endpoint: "http://no-such-host.invalid:80"}')
    r = lynx("run", path, "--out", f"{tmp_path}/name.lynx", "--quiet")
    check_equal(r.returncode, 5, "unknown name: exit code")
    check_in("no-such-host.invalid", r.stderr, "unknown name: says which")


if __name__ == "__main__":
    main(__file__)
