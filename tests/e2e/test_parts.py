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


METHOD = "{warm_up: 200ms, counted: 1s, sessions: 2, drain: 1s, request_timeout: 5s, instrument_error_at_most: 0.9, steady: reported, stolen_at_most: 1}"

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
        check_equal(rows(whole, "SELECT count(*) FROM request a JOIN request b ON b.session = a.session AND b.id = a.id + 1 WHERE b.scheduled_ns < a.scheduled_ns"), [(0,)], "ids in the order of time")
        # --- parts that are not of one run, or saw another executor, however well sealed ---
        files, codes, said = parts(d, "pair", port, 2, int(time.time()) + 3, regime="{load: constant, rate_per_s: 40}", method=METHOD)
        whole, out = merged(d, "pair", files)
        reasons = lynx("claim", whole).stdout
        for code, words, *sql in ((130, "session 1 is complete in 1 of 2 parts", "DELETE FROM session WHERE id = 1", "DELETE FROM request WHERE session = 1", "DELETE FROM sample WHERE session = 1"),
                                  (2, "is another one than in the parts before it", "UPDATE session SET counted_ns = counted_ns * 2"),
                                  (2, "did not begin at the common start", "UPDATE session SET start_realtime_ns = start_realtime_ns + 3600000000000"),
                                  (2, "other prompts than in", "UPDATE input SET text = CAST(text || '!' AS BLOB) WHERE id = 3"),
                                  (2, "was sent by another part too", "UPDATE request SET id = id - 1")):
            forge(files[1], f"{d}/forged.lynx", *sql)
            r = lynx("merge", files[0], f"{d}/forged.lynx", "--out", f"{d}/forged-whole.lynx")
            check_equal((r.returncode, os.path.exists(f"{d}/forged-whole.lynx")), (code, code == 130), f"{sql}: {r.stdout} {r.stderr}")
            check_in(words, r.stdout + r.stderr, str(sql))
            check(code == 130 or f"{d}/forged.lynx: " in r.stderr, f"the file is named: {r.stderr}")
            if code == 130:
                os.unlink(f"{d}/forged-whole.lynx")
        for words, sql in (("something else is executed", "UPDATE session SET executed = '{\"executed\": \"fp4\"}'"), ("found another executor", "UPDATE fact SET value = 'other' WHERE moment LIKE 'start%' AND key = 'serving.name'"),
                           ("part 2 by itself is instrument-limited", "UPDATE request SET issued_ns = issued_ns + 3000000000, written_ns = written_ns + 3000000000, first_byte_ns = first_byte_ns + 3000000000, first_token_ns = first_token_ns + 3000000000, last_token_ns = last_token_ns + 3000000000, end_ns = end_ns + 3000000000 WHERE session = 1")):
            if "serving.name" in sql:
                key = rows(files[1], "SELECT key FROM fact WHERE moment LIKE 'start%' AND key LIKE '%kernel%' LIMIT 1")[0][0]
                sql = f"UPDATE fact SET value = 'other' WHERE moment LIKE 'start%' AND key = '{key}'"
            forge(files[1], f"{d}/forged.lynx", sql)
            other, _ = merged(d, f"forged{len(words)}", [files[0], f"{d}/forged.lynx"])
            check(words in lynx("claim", other).stdout and words not in reasons, f"{words}: {lynx('claim', other).stdout[:600]}")
        r = lynx("merge", files[0], f"{d}/nowhere.lynx", "--out", f"{d}/no.lynx")
        check_in(f"{d}/nowhere.lynx: ", r.stderr, "a file that is not there is named")
        # --- one host lost: incomplete, not wrong ---
        files, codes, said = parts(d, "lost", port, N, int(time.time()) + 3, lost=2, regime="{load: constant, rate_per_s: 60}", method=METHOD)
        check_in("lynxbench recover", lynx("merge", *files, "--out", f"{d}/early.lynx").stderr, "a killed part is recovered first")
        check_equal(lynx("recover", files[1]).returncode, 0, "recovered")
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
        path = contract(f"{d}/r.yaml", port, regime="{load: constant, rate_per_s: 20}", method=METHOD)
        for args, words in ((["--observe"], "sends nothing"), (["--start", "2027-02-31T00:00:00Z"], "accepted: a time")):
            r = lynx("run", path, "--part", "1/2", *([] if "--start" in args else ["--start", "@4000000000"]), *args, "--out", f"{d}/r.lynx", "--quiet")
            check_equal(r.returncode, 2, f"{args}: {r.stderr}")
            check_in(words, r.stderr, str(args))
        r = lynx("run", path, "--part", "auto", "--start", "@1000000000", "--out", f"{d}/auto.lynx", "--quiet", env={"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"})
        check(os.path.exists(f"{d}/auto.part3.lynx"), f"mpirun's word counts before the batch script's: {os.listdir(d)}")
        for more, words in (({"checks": "[prefix]"}, "sessions of its own"), ({"method": METHOD[:-1] + ", budget: 1h}"}, "method.budget"), ({"regime": "{load: poisson, rate_per_s: 40, concurrency: 3}", "method": METHOD[:-1] + ", threads: 2}"}, "3 for 4 load threads")):
            path = contract(f"{d}/r.yaml", port, **{"regime": "{load: constant, rate_per_s: 20}", "method": METHOD, **more})
            r = lynx("run", path, "--part", "2/2", "--start", "@4000000000", "--out", f"{d}/r.lynx", "--quiet")
            check_equal(r.returncode, 2, f"{more}: {r.stderr}")
            check_in(words, r.stderr, str(more))
        for regime, words in (("{load: single_stream}", "a stream of one host"), ("{load: closed, concurrency: 1}", "1 for 2 load threads")):
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
