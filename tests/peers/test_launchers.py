"""Load from several hosts, started as sites start it: by MPI's launcher, by Slurm's, over ssh. All of them real, all on this machine, each with
a process per rank that finds its own number."""

import getpass
import sys

sys.path.insert(0, __import__("os").path.join(__import__("os").environ["SOURCE"], "tests", "e2e"))
from lynx import *

METHOD = "{warm_up: 200ms, counted: 1s, sessions: 2, drain: 1s, request_timeout: 5s, instrument_error_at_most: 1, steady: reported, stolen_at_most: 1}"
N = 3


def held(d, name, r):
    """What the ranks left is three parts, which make one run."""
    check_equal(r.returncode, 0, f"{name}: {r.stdout[-500:]} {r.stderr[-1500:]}")
    files = [f"{d}/{name}.part{k}.lynx" for k in range(1, N + 1)]
    merged = lynx("merge", *files, "--out", f"{d}/{name}-whole.lynx")
    check_equal(merged.returncode, 0, f"{name}: merge: {merged.stderr}")
    check_in("load from 3 load hosts, which began together", lynx("show", f"{d}/{name}-whole.lynx").stdout, name)
    alone = rows(
        f"{d}/alone.lynx", "SELECT session, id, scheduled_ns FROM request WHERE phase = 'counted' ORDER BY 1, 2"
    )
    check_equal(
        rows(
            f"{d}/{name}-whole.lynx",
            "SELECT session, id, scheduled_ns FROM request WHERE phase = 'counted' ORDER BY 1, 2",
        ),
        alone,
        f"{name}: the schedule of one host",
    )
    print(f"by {name}: {N} ranks, one run")


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**environment(), **more})


def command(d, name, part="auto"):
    return [
        LYNX,
        "run",
        f"{d}/c.yaml",
        "--part",
        part,
        "--start",
        f"@{int(time.time()) + 6}",
        "--out",
        f"{d}/{name}.lynx",
        "--quiet",
    ]


def by_mpi(d):
    held(d, "mpi", run("mpirun", "-n", str(N), *command(d, "mpi")))


def by_ssh(d):
    """A server of our own, for this user and one key."""
    port = free_port()
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{d}/{key}"], check=True)
    os.makedirs("/run/sshd", exist_ok=True) if os.geteuid() == 0 else None
    with open(f"{d}/sshd", "w") as f:
        f.write(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {d}/host\nAuthorizedKeysFile {d}/user.pub\nStrictModes no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nUsePAM no\n"
        )
    server = subprocess.Popen(
        [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", f"{d}/sshd"], stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        words = [command(d, "ssh", f"{k}/{N}") for k in range(1, N + 1)]
        words = [w[:6] + [words[0][6]] + w[7:] for w in words]  # one start for all
        ranks = [
            subprocess.Popen(
                [
                    "ssh",
                    "-p",
                    str(port),
                    "-i",
                    f"{d}/user",
                    "-o",
                    "StrictHostKeyChecking=no",
                    "-o",
                    "UserKnownHostsFile=/dev/null",
                    "-o",
                    "LogLevel=ERROR",
                    f"{getpass.getuser()}@127.0.0.1",
                    *w,
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(),
            )
            for w in words
        ]
        said = [p.communicate(timeout=120) for p in ranks]
        held(d, "ssh", subprocess.CompletedProcess([], max(p.returncode for p in ranks), str(said), ""))
    finally:
        server.terminate()
        server.communicate(timeout=10)


def by_slurm(d):
    """A cluster of one node and one user: controller, node daemon, and what they sign their messages with."""
    if os.geteuid() != 0:
        print("by Slurm: skipped, because its daemons want root here")
        return
    control, node, host = free_port(), free_port(), socket.gethostname().split(".")[0]
    os.chmod(d, 0o755)
    for folder in ("munge", "state", "spool"):
        os.makedirs(f"{d}/{folder}", mode=0o755)
    with open(f"{d}/munge/key", "wb") as f:
        f.write(os.urandom(1024))
    os.chmod(f"{d}/munge/key", 0o400)
    os.chmod(f"{d}/munge", 0o755)
    with open(f"{d}/slurm.conf", "w") as f:
        f.write(f"""ClusterName=lynx
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={d}/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={d}/state
SlurmdSpoolDir={d}/spool
SlurmctldPidFile={d}/slurmctld.pid
SlurmdPidFile={d}/slurmd.pid
SlurmctldLogFile={d}/slurmctld.log
SlurmdLogFile={d}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES OverSubscribe=FORCE State=UP
""")
    env = {**environment(), "SLURM_CONF": f"{d}/slurm.conf"}
    daemons = []
    try:
        for daemon in (
            [
                "munged",
                "--foreground",
                "--force",
                f"--key-file={d}/munge/key",
                f"--socket={d}/munge/socket",
                f"--pid-file={d}/munge/pid",
                f"--log-file={d}/munge/log",
                f"--seed-file={d}/munge/seed",
            ],
            ["slurmctld", "-D", "-f", f"{d}/slurm.conf"],
            ["slurmd", "-D", "-f", f"{d}/slurm.conf"],
        ):
            with open(f"{d}/{daemon[0]}.out", "w") as out:
                daemons.append(
                    subprocess.Popen(
                        [shutil.which(daemon[0]) or f"/usr/sbin/{daemon[0]}", *daemon[1:]],
                        env=env,
                        stdout=out,
                        stderr=subprocess.STDOUT,
                    )
                )
            time.sleep(1)
        for _ in range(60):
            state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=env, capture_output=True, text=True)
            if state.stdout.strip() in ("idle", "mixed"):
                break
            time.sleep(0.5)
        else:
            logs = "".join(open(f).read()[-600:] for f in (f"{d}/slurmctld.out", f"{d}/slurmd.out", f"{d}/munged.out"))
            print(f"by Slurm: skipped, because its node does not come up here: {state.stdout}{state.stderr} {logs}")
            return
        held(
            d,
            "slurm",
            subprocess.run(
                ["srun", "-n", str(N), "--overcommit", "--export=ALL", *command(d, "slurm")],
                env=env,
                capture_output=True,
                text=True,
                timeout=120,
            ),
        )
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            daemon.kill()


with folder() as d, reference("--mode", "metronome") as port:
    contract(f"{d}/c.yaml", port, regime="{load: poisson, rate_per_s: 90}", method=METHOD)
    check_equal(lynx("run", f"{d}/c.yaml", "--out", f"{d}/alone.lynx", "--quiet").returncode, 0, "alone")
    by_mpi(d)
    by_ssh(d)
    by_slurm(d)
finish()
