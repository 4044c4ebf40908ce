"""TLS: the metronome behind socat, which speaks TLS for it; a certificate that is trusted, and one that is not."""
from lynx import *

if not shutil.which("socat") or not shutil.which("openssl"):
    skip("socat or openssl is not installed")
with folder() as d, reference("--mode", "metronome", "--first-token", "5ms", "--gap", "1ms") as inner:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{d}/key.pem", "-out", f"{d}/cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
    port = free_port()
    proxy = subprocess.Popen(["socat", f"OPENSSL-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork,cert={d}/cert.pem,key={d}/key.pem,verify=0", f"TCP:127.0.0.1:{inner}"], stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    try:
        r = lynx("run", contract(f"{d}/tls.yaml", port, executor=f'{{endpoint: "https://127.0.0.1:{port}", ca_file: {d}/cert.pem, behind_proxy: true}}'), "--out", f"{d}/tls.lynx", "--quiet")
        check_equal(r.returncode, 0, f"trusted: {r.stderr}")
        result = show(f"{d}/tls.lynx")
        p = result["precisions"][0]
        check_equal(p["requests"]["failed"], 0, f"trusted: {p['requests']}")
        check_equal(p["mean_output_tokens"], 5, "trusted: tokens")
        check(p["read_lag"]["n_unknown"] == p["requests"]["counted"], "read lags through TLS are unknown, and said to be")
        check_in("is a proxy", json.dumps(result["executor"]["holes"]), "what is behind the proxy is a hole")
        check_in("is a proxy", lynx("show", f"{d}/tls.lynx").stdout, "and shown")
        # A forwarder is recognised also where the contract does not say that there is one.
        r = lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--json")
        check_in("held by socat", r.stdout, "a forwarder on the port is a hole")
        r = lynx("run", contract(f"{d}/un.yaml", port, executor=f'{{endpoint: "https://127.0.0.1:{port}"}}'), "--out", f"{d}/un.lynx", "--quiet")
        check_equal(r.returncode, 5, "not trusted: exit code")
        check_in("certificate", r.stderr.lower(), "not trusted: says why")
        # A name that nobody knows: the executor cannot be reached.
        r = lynx("run", contract(f"{d}/name.yaml", port, executor='{endpoint: "http://no-such-host.invalid:80"}'), "--out", f"{d}/name.lynx", "--quiet")
        check_equal(r.returncode, 5, "unknown name: exit code")
        check_in("no-such-host.invalid", r.stderr, "unknown name: says which")
    finally:
        proxy.terminate()
        proxy.wait()
finish()
