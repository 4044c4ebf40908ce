"""Captures of processes that are somebody else's: of another user, with rights, in namespaces, with traps in their
files: what may be read of them, and what of that is shown."""

import glob
import threading

import machine
import pytest
from captured import *


def test_a_process_that_exits_while_it_is_captured():
    for wait in (0, 0.002, 0.005, 0.01):
        p = subprocess.Popen(["sleep", "30"])
        t = threading.Timer(wait, p.kill)
        t.start()
        r = lynx("capture", "--pid", p.pid)
        check(r.returncode in (0, 2), f"a process that exits: exit {r.returncode} {r.stderr}")
        t.join()
        p.wait()


def test_a_static_program(d):
    write(f"{d}/static.c", "#include <unistd.h>\nint main(void) { pause(); return 0; }\n")
    built = (
        shutil.which("gcc") and not subprocess.run(["gcc", "-static", "-o", f"{d}/static", f"{d}/static.c"]).returncode
    )
    machine.need("cc", built, "no compiler that links statically")
    with subprocess.Popen([f"{d}/static"]) as p:
        found = facts_of(capture("--pid", str(p.pid)))
        check_in("static program", found["library"]["value"], "a static program has no libraries")
        p.kill()


def test_namespaces_of_its_own(d):
    """Its libraries are read through its own root."""
    apart = ("--mount", "--pid", "--fork")
    machine.need("namespaces", machine.namespaces(*apart), "this user may not make namespaces")
    inside = (
        f"mount -t tmpfs none /mnt && cp {REF} /mnt/inside && exec /mnt/inside --port {free_port()} --mode metronome"
    )
    with subprocess.Popen(
        ["unshare", *apart, "--kill-child", "sh", "-c", inside], stdout=subprocess.PIPE, text=True
    ) as p:
        p.stdout.readline()
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
            children = f.read().split()
        found = facts_of(capture("--pid", children[0]))
        check_equal(found["process.executable"]["value"], "/mnt/inside", "a process in its own namespaces")
        through = "process.build-id" in found and "build id" in found["library.libc.so"]["value"]
        check(through, "its files are read through its root")
        p.kill()


def test_another_users_process(d):
    """What may not be read is denied, by name."""
    machine.need("root", os.getuid() == 0, "only root starts processes as another user")
    nobody = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/", "env": environment(HOME="/nonexistent")}
    os.chmod(d, 0o755)
    shutil.copy(LYNX, f"{d}/lynx")
    able = subprocess.run([f"{d}/lynx", "--version"], capture_output=True, **nobody).returncode == 0
    machine.need("nobody", able, "user nobody cannot run a program from here: its libraries cannot be read")
    with subprocess.Popen(["sleep", "60"]) as p:
        words = [f"{d}/lynx", "capture", "--json", "--pid", str(p.pid)]
        r = subprocess.run(words, capture_output=True, text=True, **nobody)
        p.kill()
    check_equal(r.returncode, 0, r.stderr)
    found = facts_of(json.loads(r.stdout))
    check_equal(found["process.executable"]["status"], "denied", "another user's executable")
    holes = (found["hole.libraries"]["status"], found["hole.environment"]["status"])
    check_equal(holes, ("denied", "denied"), "another user's libraries and environment")


def test_secrets_in_links_and_arguments(d):
    """What a process says of itself is hostile: its links, arguments and files."""
    nest = f"{d}/nest"
    write(f"{nest}/.git/HEAD.real", "TOP-SECRET-LINE hunter2\n")
    os.symlink(f"{nest}/.git/HEAD.real", f"{nest}/.git/HEAD")
    secrets = [
        "--api-key",
        "-hunter2a",
        "--header",
        "Authorization: Bearer hunter2b",
        "HF_TOKEN=hunter2c",
        "redis://u:hunter2d@h/0",
        "--tokenizer",
        "plain",
        "--max-num-batched-tokens",
        "8192",
        "-I/home/alice/inc",
        "--api-key",
        "hunter2k1",
        "hunter2k2",
        "--pwd",
        "hunter2p",
        "-p",
        "hunter2q",
        "--config",
        '{"api_key": "hunter2j"}',
        "--header",
        "X-Api-Token: hunter2x",
        "--name",
        "sk-hunter2abcdefghijkl",
        "--other",
        "ghp_hunter2abcdefghijkl",
        "--third",
        "hf_hunter2abcdefghijkl",
        "--feature",
        "hf_transfer_enabled",
        "--fourth=eyJhbGciOiJIUzI1NiJ9.hunter2abcdefgh",
    ]
    p = subprocess.Popen([sys.executable, "-u", "-c", "import time; time.sleep(60)", *secrets], cwd=nest)
    time.sleep(0.3)
    text = lynx("capture", "--json", "--pid", p.pid).stdout
    found = facts_of(json.loads(text))
    check(
        "hunter2" not in text and "TOP-SECRET" not in text,
        f"no secret: {[f for f in found.values() if 'hunter' in f['key'] + f['value']]}",
    )
    check_equal(found["process.argument.--max-num-batched-tokens"]["value"], "8192", "tokens of language are no secret")
    check_equal(found["process.argument.--tokenizer"]["value"], "plain", "nor is the tokenizer")
    check_equal(found["process.argument.--feature"]["status"], "withheld", "a flag that nobody knows")
    planted = [
        *(
            "-c",
            'pw="hunter2"',
            "-t",
            "hunter2",
            "-O",
            '{"pw":"hunter2"}',
            "--bind",
            "u:hunter2@h",
            "--host",
            "u:hunter2@h",
        ),
        *("--workers", "2;hunter2", "run", "hunter2", "tok:hunter2.yaml", "admin:hunter2@db/conf.json", "@hunter2.txt"),
        *("https://hunter2@host/x.json", "a\nhunter2.json", "/run/hunter2/x.sock", "hunter2.bin", "-phunter2", "-pH1x"),
        *("--model", "https://u:hunter2@h/m", "--log", "https://hunter2@h"),
        *(
            "--card",
            "4111-1111-1111-1111",
            "--ssn",
            "078-05-1120",
            "--pin",
            "4821",
            "--pw",
            "73519",
            "--id",
            "48213377",
        ),
        *("--who", "4111-1111-1111-1111", "--when", "078-05-1120"),
    ]
    q = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)  # hunter2", *planted], cwd=nest)
    time.sleep(0.3)
    text = lynx("capture", "--json", "--pid", q.pid).stdout
    q.kill()
    q.wait()
    for word in ("hunter2", "4111-", "078-05", "4821", "73519", "H1x"):
        shown = [
            f["key"] + "=" + f["value"] for f in facts_of(json.loads(text)).values() if word in f["key"] + f["value"]
        ]
        shown = [f for f in shown if len(f.split("=")[1]) < 60]  # a digest may hold any digits
        check_equal(shown, [], word)
    check(
        "alice" not in lynx("capture", "--json", "--pid", p.pid, "--disclose", "shared").stdout,
        "a home directory in a flag",
    )
    p.kill()
    p.wait()


def test_arguments_are_shown_by_a_list(d):
    """What is not known to be a setting is a salted digest: whether it changed can be told, by who captured both."""
    with open(f"{d}/vllm.py", "w") as f:
        f.write("import time; time.sleep(60)")

    def shot(name, mode, *options, env=None):
        given = ("--mode", mode, "--my-batch", "16", "--dtype", "bf16", "--load", "a b", "serve", "org/model")
        p = subprocess.Popen([sys.executable, f"{d}/vllm.py", *given])
        time.sleep(0.2)
        r = lynx("capture", "--pid", p.pid, "--out", f"{d}/{name}.json", *options, env=env)
        p.kill()
        p.wait()
        check_equal(r.returncode, 0, r.stderr)
        return facts_of(loaded(f"{d}/{name}.json"))

    one = shot("one", "fast")
    for flag, value in (("--my-batch", "16"), ("--dtype", "bf16"), ("1", "vllm.py"), ("3", "org/model")):
        check_equal(one[f"process.argument.{flag}"]["value"], value, "a number, a setting, a program, a model")
    for flag in ("--mode", "--load"):
        check_equal(one[f"process.argument.{flag}"]["status"], "withheld", flag)
    shot("two", "fast")
    shot("other", "slow")
    shot("elsewhere", "slow", env={"XDG_STATE_HOME": f"{d}/state"})
    check_equal(differences(f"{d}/one.json", f"{d}/two.json")[0], [], "the same value")
    moved = differences(f"{d}/one.json", f"{d}/other.json")[0]
    check_equal([m[0] for m in moved], ["process.argument.--mode"], "another value")
    r = lynx("diff", f"{d}/one.json", f"{d}/elsewhere.json")
    check_in("cannot be compared", r.stdout, "under another salt")
    told = shot("told", "fast", "--show-arguments", "--mode,--other")["process.argument.--mode"]
    check_equal((told["status"], told["value"]), ("read", "fast"), "what was asked for")
    salt = os.stat(f"{d}/state/lynxbench/argument-salt")
    check_equal((salt.st_mode & 0o777, salt.st_size), (0o600, 32), "the salt is its owner's")


@pytest.mark.skipif(os.getuid() != 0, reason="only root could be made to read for others")
def test_root_reads_what_the_process_may_read(d):
    """A process names a folder of root's as its model: nothing of it is read on its behalf."""
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    for name, mode in (("secret", 0o700), ("open", 0o755)):
        os.makedirs(f"{d}/{name}")
        shutil.copy(f"{SOURCE}/reference/model/byte.safetensors", f"{d}/{name}")
        write(f"{d}/{name}/config.json", json.dumps({"architectures": ["SecretForCausalLM"], "model_type": "x"}))
        os.chmod(f"{d}/{name}", mode)
    for name, read in (("secret", False), ("open", True)):
        command = ["python3", "-c", "import time; time.sleep(60)", "--model", f"{d}/{name}"]
        p = subprocess.Popen(command, cwd="/", **nobody)
        time.sleep(0.3)
        text = lynx("capture", "--json", "--pid", p.pid).stdout
        p.kill()
        p.wait()
        found = facts_of(json.loads(text))
        check_equal("SecretForCausalLM" in text, read, f"{name}: its configuration")
        check_equal(found.get("model.digest", {}).get("status") == "read", read, f"{name}: its weights")


def test_a_pipe_where_a_file_should_be(d):
    """And weights that are cut off: seconds are not lost to them, and it is said."""
    model = f"{d}/hostile"
    os.makedirs(model)
    os.mkfifo(f"{model}/config.json")
    write(f"{model}/a.gguf", "GGUF\3")
    keep = os.open(f"{model}/config.json", os.O_RDWR)
    p = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "--model", model])
    time.sleep(0.3)
    began = time.time()
    found = facts_of(capture("--pid", str(p.pid)))
    check(time.time() - began < 4.5, "a pipe does not hold it up")
    check_in("1 of 1 files are cut off", found.get("model.damaged", {}).get("value", ""), "damaged weights are told")
    check("model.digest" in found, "and the rest of the model is read")
    p.kill()
    p.wait()
    os.close(keep)


def test_two_listeners_on_one_port(d):
    """The one that was asked for."""
    port = free_port()
    servers = [
        subprocess.Popen(
            [REF, "--mode", "metronome", "--address", a, "--port", str(port)], stdout=subprocess.PIPE, text=True
        )
        for a in ("127.0.0.2", "127.0.0.1")
    ]
    for s in servers:
        s.stdout.readline()
    for s, a in zip(servers, ("127.0.0.2", "127.0.0.1")):
        found = facts_of(capture("--endpoint", f"http://{a}:{port}"))
        check_equal(found.get("process.id", {}).get("value"), str(s.pid), f"who listens on {a}")
    for s in servers:
        s.terminate()
        s.wait()
        s.stdout.close()


def test_libraries_with_rights(d):
    """What a process has mapped is loaded only on demand, by the user that serves, with hardly a right."""
    if SANITIZED or os.getuid() != 0 or not shutil.which("cc"):
        pytest.skip("needs root, a compiler and no sanitizer")
    folder, user = f"{d}/libraries", 65534
    os.makedirs(folder)
    os.chmod(d, 0o755)
    os.chmod(folder, 0o777)
    # The library's start-up code tries what an attacker would, and says what came of it in its answer.
    write(
        f"{d}/library.c",
        """#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static char text[200];
__attribute__((constructor)) static void load(void) {
  if (getenv("HOLDER")) return;
  int open_ones = 0, tty = open("/dev/tty", O_RDWR), file = open("FOLDER/made", O_CREAT | O_WRONLY, 0644);
  for (int fd = 3; fd < 100; fd++) (void)!write(fd, "model.digest\\t0000\\tcapture\\n", 26);
  for (int fd = 3; fd < 100; fd++) open_ones += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
  int pushed = ioctl(0, TIOCSTI, "x") == 0 || (tty >= 0 && ioctl(tty, TIOCSTI, "x") == 0);
  int net = socket(AF_INET, SOCK_STREAM, 0), child = fork();
  if (child == 0) _exit(0);
  int gone = unlink("FOLDER/kept") == 0, mode = chmod("FOLDER/kept", 0777) == 0, ran = system("true") == 0;
  int nobody = (int)geteuid() == 65534 || (int)getuid() == 65534;
  snprintf(text, sizeof text,
           "user %d, tty %d, pushed %d, file %d, net %d, child %d, gone %d, mode %d, ran %d, open %d, home %s",
           nobody, tty >= 0, pushed, file >= 0, net >= 0, child >= 0, gone, mode, ran, open_ones,
           getenv("HOME") ? "yes" : "no");
}
const char *openblas_get_corename(void) { return text; }
""".replace(
            "FOLDER", folder
        ),
    )
    write(
        f"{d}/holder.c",
        """#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  void *l = dlopen(argv[argc - 1], RTLD_NOW);
  puts(l ? "up" : dlerror());
  fflush(stdout);
  sleep(100);
  return 0;
}
""",
    )
    library = f"{folder}/libopenblas.so"
    for source, to, flags in (("library.c", library, ["-shared", "-fPIC"]), ("holder.c", f"{d}/holder", ["-ldl"])):
        check_equal(
            subprocess.run(["cc", "-w", "-o", to, f"{d}/{source}", *flags], capture_output=True).returncode,
            0,
            f"{source} is built",
        )
    os.chmod(library, 0o755)
    os.chmod(f"{d}/holder", 0o755)
    shutil.copy(LYNX, f"{d}/lynxbench")
    os.chmod(f"{d}/lynxbench", 0o755)
    write(f"{folder}/kept", "")
    os.chown(f"{folder}/kept", user, user)
    other = {"user": user, "group": user, "extra_groups": []}

    @contextlib.contextmanager
    def mapped(path, who, **env):
        p = subprocess.Popen(
            [f"{d}/holder", path],
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "HOLDER": "1", **env},
            **who,
        )
        try:
            check_equal(p.stdout.readline(), "up\n", f"{path} is mapped")
            yield str(p.pid)
        finally:
            p.kill()
            p.wait()
            p.stdout.close()

    def asked(pid, who, *args, name="libopenblas.so", **env):
        r = subprocess.run(
            [f"{d}/lynxbench", "capture", "--pid", pid, "--json", *args],
            capture_output=True,
            text=True,
            cwd="/",
            env=environment(HOME=folder, **env),
            **who,
        )
        check(r.returncode == 0, f"capture {args}: {r.stderr}")
        return facts_of(json.loads(r.stdout)).get(f"library.{name}.selects", {"value": "not seen"})

    harmless = "user 1, tty 0, pushed 0, file 0, net 0, child 0, gone 0, mode 0, ran 0, open 1, home no"
    with mapped(library, other) as pid:
        check_in("--ask-libraries", asked(pid, other)["value"], "not asked by itself")
        check_in("never loaded by root", asked(pid, {}, "--ask-libraries")["value"], "nor ever by root")
        chosen = asked(pid, other, "--ask-libraries")
        check_equal(
            (chosen["status"], chosen["value"]),
            ("read", harmless),
            "asked by the user that serves: its code can do nothing",
        )
        check_equal(sorted(os.listdir(folder)), ["kept", "libopenblas.so"], "and left nothing behind")
        shutil.copy(library, f"{d}/new")
        os.rename(f"{d}/new", library)
        check_in("replaced", asked(pid, other, "--ask-libraries")["value"], "another file in its place is not loaded")
    with mapped(library, {}) as pid:
        check_equal(
            asked(pid, other, "--ask-libraries")["value"], "not seen", "what root has mapped is not even seen by others"
        )
    # A process of the tree that lives elsewhere: its library would run here.
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0:
        p = subprocess.Popen(
            [
                "unshare",
                "-n",
                "setpriv",
                f"--reuid={user}",
                f"--regid={user}",
                "--clear-groups",
                f"{d}/holder",
                library,
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "HOLDER": "1"},
        )
        check_equal(p.stdout.readline(), "up\n", "it is mapped in a network of its own")
        check_in(
            "other namespaces",
            asked(str(p.pid), other, "--ask-libraries")["value"],
            "a process of another network is not asked here",
        )
        p.kill()
        p.wait()
        p.stdout.close()
    # A real library, with the variables of the process that has it mapped, and not with ours.
    found = [
        line.split("=> ")[1]
        for line in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines()
        if "libdnnl.so" in line
    ]
    if found:
        with mapped(os.path.realpath(found[0]), other, ONEDNN_MAX_CPU_ISA="SSE41") as pid:
            chosen = asked(pid, other, "--ask-libraries", name="libdnnl.so", ONEDNN_MAX_CPU_ISA="AVX2")
            check_equal((chosen["status"], chosen["value"]), ("read", "sse41"), "oneDNN's own word")


def test_staged(d):
    """A real checkout: what is staged and not committed, by an index of each version; a commit in a pack as a delta."""
    repository = f"{d}/code"
    os.makedirs(f"{repository}/a/b")

    def git(*args):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", repository, *args],
            check=True,
            capture_output=True,
            env={**environment(), "GIT_CONFIG_GLOBAL": "/dev/null"},
        )

    git("init", "-q")
    for name, text in (
        ("a/b/serve.py", "import time\nprint('up', flush=True)\ntime.sleep(100)\n"),
        ("a-b", "1"),
        ("a.c", "2"),
        ("a/x", "3"),
    ):
        write(f"{repository}/{name}", text)
    os.symlink("a.c", f"{repository}/link")
    git("add", "-A")
    git("commit", "-qm", "first")
    p = subprocess.Popen(["python3", f"{repository}/a/b/serve.py"], stdout=subprocess.PIPE, text=True)
    clean, differs = "none between git's index and the commit", "git's index differs from the commit"
    try:
        check_equal(p.stdout.readline(), "up\n", "it runs")

        def now():
            found = facts_of(capture("--pid", str(p.pid)))
            return found["code.staged"]["value"], found["code.changes"]["value"]

        def put_back(*names):
            git("checkout", "--", *names)
            git("update-index", "-q", "--refresh")

        same = "none between the files and git's index"
        check_equal(now(), (clean, same), "as committed")
        changed = "files differ from git's index"
        # What git calls modified is changed, also where somebody took pains to hide it.
        path, before = f"{repository}/a-b", os.stat(f"{repository}/a-b")
        os.chmod(path, 0o755)
        check_equal(now(), (clean, changed), "another mode")
        os.chmod(path, before.st_mode & 0o777)
        check_equal(now(), (clean, same), "the mode as it was")
        write(path, "7")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        check_equal(now(), (clean, changed), "other contents of the same size, the time set back")
        git("update-index", "--assume-unchanged", "a-b")
        check_equal(now(), (clean, changed), "what git was told not to look at")
        git("update-index", "--no-assume-unchanged", "a-b")
        put_back("a-b")
        os.unlink(f"{repository}/link")
        os.symlink("a-b", f"{repository}/link")
        check_equal(now(), (clean, changed), "a link to another file")
        os.unlink(f"{repository}/link")
        os.symlink("a.c", f"{repository}/link")
        check_equal(now(), (clean, same), "a link put back")
        write(f"{repository}/a/x", "three\r\n")
        write(f"{repository}/.git/info/attributes", "x text eol=crlf\nlarge filter=lfs\n")
        git("add", "a/x")
        git("commit", "-qm", "line ends")
        os.utime(f"{repository}/a/x")
        check_equal(now(), (clean, same), "line ends that git takes in otherwise")
        git("update-index", "--split-index")
        check_in("split", now()[1], "a split index is not whole")
        check_in("is not read", now()[0], "nor is what is staged known")
        git("update-index", "--no-split-index")
        write(f"{repository}/a.c", "4")
        check_equal(now(), (clean, changed), "changed")
        git("add", "a.c")
        check_equal(now(), (differs, same), "staged")
        git("update-index", "--index-version", "4")
        check_equal(now(), (differs, same), "staged, in an index of version 4")
        git("commit", "-qm", "x" * 3000)
        check_equal(now(), (clean, same), "committed")
        git("rm", "-q", "--cached", "a/x")
        check_equal(now()[0], differs, "taken out")
        git("reset", "-q")
        for i in range(6):  # long messages that differ by little are kept as deltas of one another
            git("commit", "-q", "--allow-empty", "-m", "x" * 3000 + str(i))
        git("repack", "-adfq", "--depth=50")
        git("update-index", "--index-version", "2")
        seen = set()
        for back in range(6):
            git("checkout", "-q", "HEAD~1")
            seen.add(now())
        check_equal(seen, {(clean, same)}, "commits in a pack")
        packs = subprocess.run(
            f"git -C {repository} verify-pack -v {repository}/.git/objects/pack/*.idx",
            shell=True,
            capture_output=True,
            text=True,
        ).stdout
        check(
            any(len(line.split()) == 7 and line.split()[1] == "commit" for line in packs.splitlines()),
            f"some are deltas: {packs[:400]}",
        )
        git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=50")
        check_equal(now(), (clean, same), "deltas that name their base")
        git("checkout", "-q", "--orphan", "empty")
        check_in(
            "without a commit",
            facts_of(capture("--pid", str(p.pid)))["code.commit"]["value"],
            "a branch without a commit",
        )
        (
            git("checkout", "-qf", "master")
            if os.path.exists(f"{repository}/.git/refs/heads/master")
            or "refs/heads/master" in open(f"{repository}/.git/packed-refs").read()
            else git("checkout", "-qf", "main")
        )
        with open(glob.glob(f"{repository}/.git/objects/pack/*.pack")[0], "rb") as f:
            pack = f.read()
        os.chmod(glob.glob(f"{repository}/.git/objects/pack/*.pack")[0], 0o600)
        with open(glob.glob(f"{repository}/.git/objects/pack/*.pack")[0], "wb") as f:
            f.write(pack[: len(pack) // 2])
        check_in(now()[0][:14], (clean[:14], "the commit's object is not found"[:14]), "a pack that was cut off")
    finally:
        p.terminate()
        p.wait(10)
        p.stdout.close()


if __name__ == "__main__":
    main(__file__)
