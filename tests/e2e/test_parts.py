"""Load from several hosts: processes that share one contract, and hosts with networks of their own where the machine allows them. Every
arrival once, at its time, from one of them; one host lost makes the run incomplete, not wrong."""
from lynx import *

N = 3


def parts(d, name, port, n, start, prefix=lambda k: [], lost=None, env=None, **more):
    path = contract(f"{d}/{name}.yaml", port, **more)
    processes = []
    for k in range(1, n + 1):
        which = ["--part", "auto"] if env else ["--part", f"{k}/{n}"]
        own = {env[0]: str(k - 1), env[1]: str(n)} if env else {}
        processes.append(subprocess.Popen([*prefix(k), LYNX, "run", path, *which, "--start", f"@{start}", "--out", f"{d}/{name}.lynx", "--quiet"], env=environment(**own), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    if lost:
        time.sleep(max(0, start + 1 - time.time()))
        processes[lost - 1].kill()
    said = [p.communicate(timeout=120) for p in processes]
    return [f"{d}/{name}.part{k}.lynx" for k in range(1, n + 1)], [p.returncode for p in processes], said


def merged(d, name, files, code=0):
    r = lynx("merge", *files, "--out", f"{d}/{name}-whole.lynx", "--json")
    check_equal(r.returncode, code, f"merge {name}: {r.stderr} {r.stdout}")
    return f"{d}/{name}-whole.lynx", json.loads(r.stdout) if r.stdout else {}


METHOD = "{warm_up: 200ms, counted: 1s, sessions: 2, drain: 1s, request_timeout: 5s, lag_p99_at_most: 2s, steady: reported, stolen_at_most: 1}"

with folder() as d:
    with reference("--mode", "metronome") as port:
        # --- an open loop, split exactly ---
        files, codes, said = parts(d, "open", port, N, int(time.time()) + 3, regime="{load: poisson, rate_per_s: 90}", method=METHOD)
        check(all(c == 0 for c in codes), f"the parts: {codes} {said}")
        whole, out = merged(d, "open", files)
        alone = contract(f"{d}/alone.yaml", port, regime="{load: poisson, rate_per_s: 90}", method=METHOD)
        lynx("run", alone, "--out", f"{d}/alone.lynx", "--quiet")
        ids = rows(whole, "SELECT session, id, scheduled_ns FROM request WHERE phase = 'counted' ORDER BY 1, 2")
        check_equal(ids, rows(f"{d}/alone.lynx", "SELECT session, id, scheduled_ns FROM request WHERE phase = 'counted' ORDER BY 1, 2"), "every counted arrival of the contract's schedule, once, at its time, as one host would send it")
        for k, file in enumerate(files):
            own = {i % N for (i,) in rows(file, "SELECT id FROM request")}
            check_equal(len(own), 1, f"part {k + 1} sent its share: {own}")
        check_equal(show(whole)["precisions"][0]["requests"]["failed"], 0, "none failed")
        audit = json.loads(lynx("audit", whole, "--json").stdout)
        schedule = [c for c in audit["checks"] if c["check"] == "schedule"]
        check_equal([c["verdict"] for c in schedule], ["passed"], f"an audit makes the schedule anew: {schedule}")
        shown = lynx("show", whole).stdout
        check_in("load from 3 load hosts, which began together", shown, "show says where the load came from")
        check("merge" not in shown.split("as-served")[0], f"that parts were parts is no condition of the whole: {shown[:400]}")
        starts = [rows(f, "SELECT start_realtime_ns FROM session ORDER BY id") for f in files]
        check(all(abs(a[0] - b[0]) < 1_000_000 for s in starts for a, b in zip(s, starts[0])), f"all began together: {starts}")
        check_equal(json.loads(rows(whole, "SELECT value FROM meta WHERE key = 'parts'")[0][0])[1]["part"], 2, "the parts stand in the record")
        check_in("lynxbench merge", lynx("claim", files[0]).stdout, "a part by itself supports no claim")
        # --- a closed loop: the concurrency is shared out ---
        files, codes, said = parts(d, "closed", port, 2, int(time.time()) + 3, regime="{load: closed, concurrency: 5}", method=METHOD, env=("SLURM_PROCID", "SLURM_NTASKS"))
        check(all(c == 0 for c in codes), f"a launcher's numbers: {codes} {said}")
        whole, out = merged(d, "closed", files)
        check_equal(rows(whole, "SELECT max(concurrency) FROM session"), [(5,)], "5 in flight, of both")
        check_equal(rows(whole, "SELECT count(*) = count(DISTINCT session || '.' || id) FROM request"), [(1,)], "no request twice")
        # --- one host lost: incomplete, not wrong ---
        files, codes, said = parts(d, "lost", port, N, int(time.time()) + 3, lost=2, regime="{load: constant, rate_per_s: 60}", method=METHOD)
        whole, out = merged(d, "lost", files, code=130)
        check_in("part 2 of 3 is", out["why"], "it says which")
        check_equal(lynx("claim", whole).returncode, 1, "no claim")
        kept = rows(files[0], "SELECT count(*) FROM request WHERE outcome = 'ok'")[0][0]
        check(kept > 0 and rows(whole, "SELECT count(*) FROM request WHERE outcome = 'ok'")[0][0] >= kept, "what the others measured is there")
        missing, out = merged(d, "gone", [files[0], files[2]], code=130)
        check_in("part 2 of 3 is missing", out["why"], "a part that never came")
        check_equal(lynx("audit", missing).returncode, 1, "an audit sees what is missing")
        # --- what cannot be, in words ---
        other, _, _ = parts(d, "other", port, 2, int(time.time()) + 3, regime="{load: constant, rate_per_s: 20}", method=METHOD)
        for args, words in (([files[0], files[0]], "part 1 twice"), ([files[0], other[1]], "a part of another contract"), ([f"{d}/alone.lynx"], "no part of a run")):
            r = lynx("merge", *args, "--out", f"{d}/no.lynx")
            check_equal((r.returncode, os.path.exists(f"{d}/no.lynx")), (2, False), f"{words}: {r.stderr}")
            check_in(words, r.stderr, words)
        path = contract(f"{d}/c.yaml", port, regime="{load: constant, rate_per_s: 20}", method=METHOD)
        for args, words in ((["--part", "1/2"], "belong together"), (["--part", "3/2", "--start", "@4000000000"], "accepted: K/N"), (["--part", "auto", "--start", "@4000000000"], "no launcher says which"), (["--part", "1/2", "--start", "soon"], "accepted: a time"),
                            (["--part", "1/2", "--start", "@1000000000"], "give --start more time")):
            r = lynx("run", path, *args, "--out", f"{d}/{len(words)}.lynx", "--quiet")
            check_equal(r.returncode, 4 if "more time" in words else 2, f"{args}: {r.stderr}")
            check_in(words, r.stderr, str(args))
        for regime, words in (("{load: single_stream}", "a stream of one host"), ("{load: closed, concurrency: 1}", "1 for 2 hosts")):
            path = contract(f"{d}/r.yaml", port, regime=regime, method=METHOD)
            r = lynx("run", path, "--part", "1/2", "--start", "@4000000000", "--out", f"{d}/r.lynx", "--quiet")
            check_equal(r.returncode, 2, f"{regime}: {r.stderr}")
            check_in(words, r.stderr, regime)
    # --- hosts of their own, where the machine allows network namespaces ---
    names = [f"lynx{os.getpid()}{k}" for k in (1, 2)]
    made = []
    try:
        for k, name in enumerate(names, 1):
            for command in (f"ip netns add {name}", f"ip link add v{name} type veth peer name eth0 netns {name}", f"ip addr add 10.201.{k}.1/24 dev v{name}", f"ip link set v{name} up", f"ip netns exec {name} ip addr add 10.201.{k}.2/24 dev eth0",
                            f"ip netns exec {name} ip link set eth0 up", f"ip netns exec {name} ip link set lo up", f"ip netns exec {name} ip route add default via 10.201.{k}.1"):
                if subprocess.run(command.split(), capture_output=True).returncode:
                    raise OSError(command)
            made.append(name)
    except OSError as e:
        print(f"skipped: network namespaces, because this machine does not let us make them ({e})")
    if len(made) == 2:
        with reference("--mode", "metronome", "--address", "0.0.0.0") as port:
            files, codes, said = parts(d, "hosts", port, 2, int(time.time()) + 3, prefix=lambda k: ["ip", "netns", "exec", names[k - 1]], executor=f'{{endpoint: "http://10.201.1.1:{port}"}}', regime="{load: constant, rate_per_s: 40}", method=METHOD)
            check(all(c == 0 for c in codes), f"two hosts: {codes} {said}")
            whole, out = merged(d, "hosts", files)
            check_equal(show(whole)["precisions"][0]["requests"]["failed"], 0, "from two hosts")
    for name in names:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", f"v{name}"], capture_output=True)
finish()
