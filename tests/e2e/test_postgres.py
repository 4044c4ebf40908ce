"""A ledger in PostgreSQL: the conformance suite of all stores, the commands, two writers, and a server that is killed in the middle."""
import glob
import pwd
import random
import threading

from lynx import *

found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
if not found:
    skip("there is no PostgreSQL (the package postgresql)")
BIN = found[-1]
ROOT = os.getuid() == 0
if ROOT and not any(u.pw_name == "postgres" for u in pwd.getpwall()):
    skip("PostgreSQL does not run as root, and there is no user postgres to run it as")


def as_user(*command):
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command] if ROOT else list(command)


class Server:
    def __init__(self, d):
        self.d, self.port = d, free_port()
        os.chmod(d, 0o755)
        self.data = f"{d}/data"
        os.mkdir(self.data, 0o700)
        if ROOT:
            shutil.chown(self.data, "postgres", "postgres")
        r = subprocess.run(as_user(f"{BIN}/initdb", "-D", self.data, "-U", "lynx", "--auth=trust", "-E", "UTF8", "--locale=C"), capture_output=True, text=True, cwd="/")
        if r.returncode:
            raise RuntimeError(r.stderr)
        self.start()
        for name in ("suite", "team", "settings"):
            subprocess.run([f"{BIN}/createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "lynx", name], check=True)

    def url(self, name):
        return f"postgresql://lynx@127.0.0.1:{self.port}/{name}"

    def start(self):
        self.process = subprocess.Popen(as_user(f"{BIN}/postgres", "-D", self.data, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.data}"),
                                        stderr=open(f"{self.d}/server.log", "a"), cwd="/")
        for _ in range(300):
            if subprocess.run([f"{BIN}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(open(f"{self.d}/server.log").read()[-2000:])

    def kill(self):
        """All of it, at once, as when the machine fails."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True).stdout.split() if shutil.which("ps") else []
        self.process.kill()
        for pid in children:
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        self.process.wait()
        time.sleep(0.3)
        with contextlib.suppress(OSError):
            os.unlink(f"{self.data}/postmaster.pid")

    def sql(self, name, text):
        return subprocess.run([f"{BIN}/psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "lynx", "-d", name, "-Atc", text], capture_output=True, text=True)


with folder() as d:
    server = Server(d)
    try:
        r = subprocess.run([f"{BUILD}/tests/test_store"], env=environment(LYNXBENCH_TEST_POSTGRES=server.url("suite")), capture_output=True, text=True, timeout=300)
        check_equal(r.returncode, 0, f"the suite: {r.stdout[-2000:]} {r.stderr[-500:]}")
        check(int(r.stdout.split()[-4]) > 600, f"the suite ran on both stores: {r.stdout}")
        url = server.url("team")
        env = {"HOME": d, "XDG_STATE_HOME": f"{d}/state", "LYNXBENCH_KEY": f"{d}/ml.key", "LYNXBENCH_LOG_KEY": f"{d}/log.key"}
        lynx("key", "ml", "--out", d, env=env)
        check_equal(lynx("log", "list", url, env=env).returncode, 2, "no ledger yet")
        r = lynx("log", "create", url, env=env)
        check_equal(r.returncode, 0, f"create: {r.stderr}")
        check_equal(lynx("log", "create", url, env=env).returncode, 2, "a ledger is never begun twice")
        r = lynx("log", "create", server.url("settings") + "?connect_timeout=9", env=dict(env, LYNXBENCH_LOG_KEY=f"{d}/settings.key"))
        check_in("the ledger settings,", r.stdout, f"settings in an address are not its name: {r.stderr}")
        shutil.copy(f"{SOURCE}/examples/null.yaml", f"{d}/c.yaml")
        check_equal(lynx("sign", f"{d}/c.yaml", "--ledger", url, env=env).returncode, 0, "sign")
        r = lynx("run", f"{d}/c.yaml", "--out", f"{d}/c.lynx", "--ledger", url, "--quiet", env=env)
        check(r.returncode in (0, 4), f"run: {r.stderr}")
        root = [json.loads(x) for x in lynx("log", "list", url, "--json", env=env).stdout.splitlines()][-1]["subjects"]["bundle"]
        check_equal(lynx("log", "get", url, root, "--out", f"{d}/out.lynx", env=env).returncode, 0, "get")
        check_equal(open(f"{d}/out.lynx", "rb").read(), open(f"{d}/c.lynx", "rb").read(), "the bundle comes out as it went in")
        check_in("1 run of it started, 1 sealed", lynx("show", f"{d}/c.lynx", "--ledger", url, env=env).stdout, "standing")
        check_equal(lynx("audit", url, env=env).returncode, 0, "audit")
        # A password in the address is nobody's to read.
        secret = url.replace("lynx@", "lynx:s3cret@")
        for args in (["log", "list", secret], ["audit", secret], ["sign", f"{d}/c.yaml", "--ledger", secret], ["log", "create", secret], ["show", f"{d}/c.lynx", "--ledger", secret],
                     ["log", "entry", secret, "99"], ["log", "list", secret.replace("/team", "/nothing")], ["log", "list", "postgresql://lynx:s3cret@127.0.0.1:1/team"]):
            r = lynx(*args, env=env)
            check("s3cret" not in r.stdout + r.stderr, f"{args[:2]}: {r.stdout[-300:]} {r.stderr}")
        for text in ("UPDATE lynxbench.entry SET value=''", "DELETE FROM lynxbench.hash", "TRUNCATE lynxbench.blob"):
            check_in("only added to", server.sql("team", text).stderr, text)
        # Two writers at once, and a server that is killed under them: what was acknowledged is there afterwards, the tree holds.
        acknowledged, failed = [], []

        def write(team, n):
            for i in range(n):
                r = lynx("sign", f"{d}/c.yaml", "--ledger", url, "--reservation", f"{team} {i}", "--out", f"{d}/{team}.{i}.json", env=dict(env, XDG_STATE_HOME=f"{d}/state-{team}"))
                (acknowledged if r.returncode == 0 else failed).append(f"{team} {i}")

        threads = [threading.Thread(target=write, args=(team, 12)) for team in ("one", "two")]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        check_equal((len(acknowledged), failed), (24, []), "two writers")
        for round_ in range(3):
            threads = [threading.Thread(target=write, args=(f"r{round_}{k}", 10)) for k in range(2)]
            for t in threads:
                t.start()
            time.sleep(0.1 + random.random() * 0.3)
            server.kill()
            for t in threads:
                t.join()
            server.start()
            listed = lynx("log", "list", url, env=dict(env, XDG_STATE_HOME=f"{d}/state-{round_}")).stdout
            check_equal([a for a in acknowledged if a not in listed], [], f"round {round_}: acknowledged entries that are lost")
            check_equal(lynx("audit", url, env=dict(env, XDG_STATE_HOME=f"{d}/state-{round_}")).returncode, 0, f"round {round_}: audit")
        print(f"{len(acknowledged)} acknowledged, {len(failed)} refused while the server was down")
        r = lynx("log", "list", f"postgresql://lynx@127.0.0.1:{free_port()}/team", env=env)
        check_equal(r.returncode, 2, "no server")
        check_in("cannot be reached", r.stderr, "no server")
        check_equal(lynx("log", "list", "mysql://x/y", env=env).returncode, 2, "no such store")
    finally:
        server.process.terminate()
        server.process.wait(20)
finish()
