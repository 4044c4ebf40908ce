"""Captures of real processes, and of what changes in them: each is named with its layer and owner, and nothing else."""

import pytest
from captured import *


class Served:
    """A reference executor with weights of its own, and captures of it."""

    def __init__(self, d):
        self.d = d
        shutil.copy(f"{SOURCE}/reference/model/byte.safetensors", f"{d}/byte.safetensors")
        self.before = self.shot("before")

    @contextlib.contextmanager
    def serving(self, *args, **env):
        port = free_port()
        command = [REF, "--port", str(port), "--weights", f"{self.d}/byte.safetensors", *args]
        p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**environment(), **env}, cwd=self.d)
        try:
            check("ready" in p.stdout.readline(), "the reference is ready")
            yield port
        finally:
            p.terminate()
            p.wait(10)
            p.stdout.close()

    def shot(self, name, *args, **env):
        with self.serving(*args, **env) as port:
            r = lynx("capture", "--endpoint", f"http://127.0.0.1:{port}", "--out", f"{self.d}/{name}.json")
            check_equal(r.returncode, 0, f"{name}: {r.stderr}")
        with open(f"{self.d}/{name}.json") as f:
            return facts_of(json.load(f))

    def moved(self, name, since="before"):
        return differences(f"{self.d}/{since}.json", f"{self.d}/{name}.json")[0]


@pytest.fixture(scope="module")
def served():
    with folder() as d:
        os.chmod(d, 0o755)
        yield Served(d)


def test_a_real_process(served):
    found = served.before
    check_equal(found["serving.server"]["value"], "lynxbench-ref", "which server")
    check_in("BF16 100.0 %", found["model.tensor-types"]["value"], "tensor types")
    check_in("build id", found["library.libdnnl.so"]["value"], "library")
    check_equal(served.moved("before"), [], "the same file")
    served.shot("again")
    check_equal(served.moved("again"), [], "another start on another port is the same executor")


def test_a_variable_of_a_process(served):
    served.shot("variable", OMP_NUM_THREADS="1", HF_TOKEN="hunter2", MY_API_KEY="hunter2")
    wanted = [("environment.OMP_NUM_THREADS", "runtime", "ML platform engineering")]
    check_equal(served.moved("variable"), wanted, "a variable")
    check("hunter2" not in open(f"{served.d}/variable.json").read(), "no secret")


def test_what_a_library_selects_is_not_asked(served):
    """Unless the user wants it: that runs the library's code."""
    chosen = served.before.get("library.libdnnl.so.selects", {})
    check_equal((chosen.get("status"), chosen.get("kind")), ("unsupported", "state"), f"what oneDNN selects: {chosen}")
    check_in("--ask-libraries", chosen.get("value", ""), "and how it would be asked")


def test_which_exemplars_and_where_are_context(served):
    """How many and what is not."""
    few = served.shot(
        "devices",
        CUDA_VISIBLE_DEVICES="GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,MIG-1",
        TORCHINDUCTOR_CACHE_DIR="/tmp/a/cache",
        LD_LIBRARY_PATH="/tmp/nothing/",
    )
    found = [few[f"environment.{k}"]["value"] for k in ("CUDA_VISIBLE_DEVICES", "TORCHINDUCTOR_CACHE_DIR")]
    check_equal(found, ["2 by UUID", "cache"], "identity")
    where = ("CUDA_VISIBLE_DEVICES.devices", "TORCHINDUCTOR_CACHE_DIR.path", "LD_LIBRARY_PATH")
    check_equal([few[f"environment.{k}"]["kind"] for k in where], ["context"] * 3, "context")
    served.shot(
        "moved",
        CUDA_VISIBLE_DEVICES="GPU-00000000-d72c-4106-c12f-20bd9faed9f6,MIG-2",
        TORCHINDUCTOR_CACHE_DIR="/opt/b/cache",
        LD_LIBRARY_PATH="/tmp/other",
    )
    check_equal(served.moved("moved", "devices"), [], "other exemplars in other folders: the same executor")


def test_where_libraries_are_looked_for_is_context(served):
    for path in (":/opt/a/lib", "lib:/opt/b", "", "/opt/" + "x" * 5000):
        found = served.shot(f"path{len(path)}", LD_LIBRARY_PATH=path)["environment.LD_LIBRARY_PATH"]
        check_equal(found["kind"], "context", f"LD_LIBRARY_PATH of {len(path)} bytes")
    check_equal(served.moved("path5005", "path11"), [], "the same executor")


@pytest.mark.parametrize("level", ["shared", "public"])
def test_a_name_in_a_path_is_not_shown(served, level):
    """Because it is the last part."""
    paths = {"TRITON_HOME": "/home/alice", "OLLAMA_MODELS": "/home/alice/", "GGML_X": "/opt/kept"}
    with served.serving(LD_PRELOAD="/home/alice/secret-project.so", **paths) as port:
        r = lynx("capture", "--json", "--endpoint", f"http://127.0.0.1:{port}", "--disclose", level)
    told = [line for line in r.stdout.splitlines() if "alice" in line or "secret-project" in line]
    check_equal(told, [], level)
    check_equal("kept" in r.stdout, level == "shared", f"{level}: what names nobody")


def test_a_setting_of_a_process_and_what_it_means(served):
    served.shot("setting", "--max-batch", "4")
    wanted = [
        ("process.argument.--max-batch", "serving", "ML platform"),
        ("serving.setting.batch-most", "serving", "ML platform"),
    ]
    check_equal(served.moved("setting"), wanted, "a setting, and what it means")


@pytest.mark.skipif(not shutil.which("objcopy"), reason="there is no objcopy")
def test_another_build_of_a_library(served):
    """The same one without its build id; where it was looked for is context."""
    ours = served.before["library.libjansson.so.path"]["value"]
    os.makedirs(f"{served.d}/lib", exist_ok=True)
    command = ["objcopy", "--remove-section", ".note.gnu.build-id", ours, f"{served.d}/lib/libjansson.so.4"]
    subprocess.run(command, check=True)
    served.shot("library", LD_LIBRARY_PATH=f"{served.d}/lib")
    wanted = [("library.libjansson.so", "framework", "Platform")]
    check_equal(served.moved("library"), wanted, "another build of a library")


@pytest.fixture
def altered(d):
    """Of one bit of one weight; with captures of before it."""
    served = Served(d)
    with open(f"{d}/byte.safetensors", "r+b") as f:
        f.seek(-5, os.SEEK_END)
        byte = f.read(1)
        f.seek(-5, os.SEEK_END)
        f.write(bytes([byte[0] ^ 1]))
    return served


def test_one_bit_of_one_weight(altered):
    altered.shot("weight")
    check_equal(altered.moved("weight"), [("model.digest", "application", "ML")], "one bit of one weight")


def test_the_page_of_a_diff(altered, d):
    """It opens by itself, names what differs, and its words are escaped."""
    altered.shot("weight")
    lynx("diff", f"{d}/before.json", f"{d}/weight.json", "--html", f"{d}/diff.html")
    page = open(f"{d}/diff.html").read()
    check("model.digest" in page and page.rstrip().endswith("</html>") and "<script" not in page, "the page")


def test_what_was_remembered_of_a_file_can_be_wrong(altered, d):
    """A disk that was swapped under it, a clock set back: computed again, it is reported and mended."""
    cache = f"{environment()['HOME']}/.cache/lynxbench/digests"
    with altered.serving() as port:
        endpoint = ("--endpoint", f"http://127.0.0.1:{port}")
        digest = lambda *args: facts_of(capture(*args, *endpoint))["model.digest"]["value"]
        whole, stat = digest(), os.stat(f"{d}/byte.safetensors")
        with open(cache) as f:
            lines = [line.split(" ") for line in f.read().splitlines()]
        ours = [x for x in lines if x[1:3] == [f"{stat.st_ino:x}", str(stat.st_size)]]
        check(len(ours) > 0, "the digest is remembered")
        with open(cache, "a") as f:
            f.write(" ".join(ours[-1])[:-64] + "0" * 64 + "\n")
        check(digest() != whole, "what is remembered is believed")
        check_equal(digest("--digest-anew"), whole, "and not when computed again")
        check_equal(digest(), whole, "which is remembered in its place")


FORMS = ("text", "json", "markdown", "cyclonedx", "mlperf")


@pytest.mark.parametrize("level", ["full", "shared", "public"])
def test_secrets_in_every_output_there_is(served, level):
    host = socket.gethostname()
    with served.serving(HF_TOKEN="hunter2", VLLM_API_KEY="hunter2", OMP_NUM_THREADS="2") as port:
        for form in FORMS:
            args = ("--endpoint", f"http://127.0.0.1:{port}", "--disclose", level, "--format", form)
            r = lynx("capture", *args)
            check_equal(r.returncode, 0, f"{form}: {r.stderr}")
            check("hunter2" not in r.stdout, f"{form}: no secret")
            homes = "/home/" in r.stdout or "/root/" in r.stdout
            check(level == "full" or host not in r.stdout or len(host) < 4, f"{form}: no host name")
            check(level == "full" or not homes, f"{form}: no home directory")
            check(level != "public" or served.d not in r.stdout, f"{form}: no path")


@pytest.fixture(scope="module")
def full():
    """A whole capture of this machine."""
    with folder() as d:
        os.chmod(d, 0o755)
        lynx("capture", "--out", f"{d}/full.json")
        yield f"{d}/full.json"


@pytest.mark.parametrize("level", ["shared", "public"])
def test_disclosure(d, full, level):
    """Of another capture: the state moved, the identity did not; digests are under a salt that is not shown."""
    lynx("capture", "--disclose", level, "--out", f"{d}/part.json")
    part = loaded(f"{d}/part.json")
    check_equal(part["disclosed"], level, level)
    check("salt" not in part, "the salt stays at home")
    check_equal(part["fingerprint"], loaded(full)["fingerprint"], "the fingerprint is of the whole")
    check(any(f["status"] == "withheld" for f in part["facts"]), "something is withheld")


def test_an_unknown_level_of_disclosure():
    check_equal(lynx("capture", "--disclose", "some").returncode, 2, "an unknown level")


def test_withheld_facts_are_shown_to_match(d, full):
    """With the salt every digest is; one that does not match is a difference."""
    hidden = loaded(full)
    salt, n = hidden.pop("salt"), 0
    for f in hidden["facts"]:
        if f["kind"] == "identity" and f["status"] == "read" and n < 20:
            parts = (salt, f["key"], f["value"], f.get("unit", ""))
            f["value"] = hashlib.sha256(b"".join(x.encode() + b"\0" for x in parts)).hexdigest()
            f["status"] = "withheld"
            f.pop("unit", None)
            n += 1
    hidden["disclosed"] = "shared"
    check_equal(differences(full, saved(f"{d}/hidden.json", hidden))[0], [], "they match")
    next(f for f in hidden["facts"] if f["status"] == "withheld")["value"] = "0" * 64
    check_equal(len(differences(full, saved(f"{d}/forged.json", hidden))[0]), 1, "a digest that does not match")


def test_a_capture_that_was_edited(d, full):
    edited = loaded(full)
    next(f for f in edited["facts"] if f["key"] == "cpu.model")["value"] = "Z80"
    r = lynx("diff", full, saved(f"{d}/edited.json", edited))
    check_equal(r.returncode, 2, "a capture that was edited")
    check_in("it was edited", r.stderr, "a capture that was edited")


def test_a_capture_of_nothing(d):
    json.dump({"lynx_capture": 1, "facts": {}}, open(f"{d}/empty.json", "w"))
    check_equal(lynx("diff", f"{d}/empty.json", f"{d}/empty.json").returncode, 2, "a capture of nothing")


def test_two_public_captures_of_one_machine(d):
    for k in (0, 1):
        lynx("capture", "--disclose", "public", "--out", f"{d}/p{k}.json")
    r = lynx("diff", f"{d}/p0.json", f"{d}/p1.json")
    check_equal(r.returncode, 0, f"two public captures of one machine: {r.stdout}")
    check_in("cannot be compared", r.stdout, "what is withheld on both sides")


@pytest.fixture
def merged(d, full, served):
    hosts = (f"client={full}", f"server-1={served.d}/before.json", "load-balancer=")
    r = lynx("capture", "--merge", *hosts, "--out", f"{d}/merged.json")
    check_equal(r.returncode, 0, f"merge: {r.stderr}")
    return f"{d}/merged.json"


def test_hosts(merged, full):
    found = facts_of(loaded(merged))
    check("server-1/library.libdnnl.so" in found and "client/cpu.online" in found, "each host under its role")
    check_in("load-balancer was not captured", found["load-balancer/hole.not-captured"]["value"], "a hole with a name")
    check("clocks.client.server-1" in found, "how far the clocks may be apart")
    r = lynx("diff", merged, merged)
    check_in("load-balancer was not captured", r.stdout, "the hole is named in a diff")
    check_equal(lynx("capture", "--merge", "nobody").returncode, 2, "merge of what is no role")
    check_equal(lynx("capture", "--merge").returncode, 2, "merge of nothing")
    check_equal(lynx("capture", "--merge", f"a={full}", f"a={full}").returncode, 2, "one role twice")
    check_equal(lynx("capture", "--merge", f"gpu.example={full}").returncode, 2, "a role that is a host name")
    check_equal(lynx("capture", "--merge", f"a={full}", "--pid", "1").returncode, 2, "merge of a process")


def test_joined_twice_and_shown_to_the_public(d, merged):
    """What is withheld of one is withheld of all."""
    lynx("capture", "--merge", f"outer={merged}", "--disclose", "public", "--out", f"{d}/twice.json")
    twice = facts_of(loaded(f"{d}/twice.json"))
    shown = {f["status"] for k, f in twice.items() if "process.argument" in k or "environment." in k}
    check_equal(shown - {"withheld", "absent"}, set(), "joined twice")


def test_a_run_joins_hosts(d, served):
    """The claim names the host that was not captured."""
    with reference("--mode", "metronome", "--gap", "2ms") as port:
        hosts = f"{{server-1: {served.d}/before.json, load-balancer: none}}"
        executor = f'{{endpoint: "http://127.0.0.1:{port}", hosts: {hosts}}}'
        path = contract(f"{d}/hosts.yaml", port, executor=executor)
        r = lynx("run", path, "--out", f"{d}/hosts.lynx", "--quiet")
        check(r.returncode in (0, 3, 4), f"run with hosts: {r.stderr}")
    check_in("load-balancer was not captured", lynx("show", "--claim", f"{d}/hosts.lynx").stdout, "the claim names it")
    sql = "SELECT count(*) > 10 FROM fact WHERE key LIKE 'server-1/%' AND moment LIKE 'start:%'"
    check_equal(rows(f"{d}/hosts.lynx", sql), [(1,)], "the host's facts are in the record")


def test_a_description_of_mlperf(full):
    r = lynx("diff", f"{SOURCE}/tests/recorded/mlperf/H200-SXM-141GBx8_TRT.json", full, "--json")
    check_equal(r.returncode, 1, f"MLPerf against this machine: {r.stderr}")
    keys = {x["key"]: x for x in json.loads(r.stdout)}
    check_equal(keys["gpu.0.name"]["a"], "(declared) NVIDIA H200-SXM-141GB", "MLPerf: what was typed is declared")
    check_equal(keys["imported.cooling"]["a"], "(declared) Air-cooled", "MLPerf: cooling")


def test_exports():
    bom = json.loads(lynx("capture", "--format", "cyclonedx").stdout)
    check_equal((bom["bomFormat"], bom["specVersion"]), ("CycloneDX", "1.6"), "CycloneDX")
    system = json.loads(lynx("capture", "--format", "mlperf").stdout)
    check(
        system["host_processor_model_name"]
        and "Not known to it" in system["sw_notes"]
        and "cooling" in system["sw_notes"],
        "MLPerf: what is missing is named",
    )
    check_equal(lynx("capture", "--format", "xml").returncode, 2, "an unknown format")


def test_what_is_not_there(d, full):
    r = lynx("capture", "--endpoint", "http://no-such-host.invalid:80")
    check_in("does not resolve", r.stdout, "a host that has no address")
    check_equal(lynx("diff", full, "now", "--pid", "4000000").returncode, 2, "now, of no process")
    check_equal(lynx("capture", "--root", f"{d}/nothing").returncode, 2, "no such recorded machine")


if __name__ == "__main__":
    main(__file__)
