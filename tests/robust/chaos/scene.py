# SPDX-License-Identifier: BSD-3-Clause
"""How a run is started, on what it stands, and what it must not leave there."""
import os
import resource
import socket
import subprocess

from procs import MARK, SLURM, family, wait_for

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
MAX_TIME_S = 60         # --max-time of every run
BOOT_S = 10
SILENCE_S = 5           # and thrice that where the kernel still answers
GRACE_S = 90            # of the front beyond that: agents, KILL, report
DISK_B = 4 << 20
SLURMD_PORT = 6818
CGROUPS = "/sys/fs/cgroup"
FAKES = "GPUCHECK_TEST_FAKE"    # names a CUDA of tests/copies


class Local:
    """Agents of the front, on this machine."""
    bound_s = MAX_TIME_S + BOOT_S + GRACE_S
    detached = False    # the run goes on without its front
    takes_all = ("srun", "batch")
    machine = ()        # kinds of process that are no run's

    @staticmethod
    def place(plan):
        """The command that makes the namespaces of a round."""
        return [f"{ROOT}/tests/alone"]

    def __init__(self, plan, scene, work, program):
        self.plan, self.scene, self.work = plan, scene, work
        self.program = program
        self.disk = f"{work}/disk"
        self.dir = f"{self.disk}/run"
        self.clock = f"{work}/clock"
        self.workers = {}       # by node, as they came first
        os.makedirs(f"{work}/tmp")
        os.makedirs(self.disk)
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("GPUCHECK", "SLURM_JOB"))}
        self.env |= {MARK: work, "TMPDIR": f"{work}/tmp",
                     "GPUCHECK_CONFIG": "none"}
        if scene.fakes:
            self.env |= {"GPUCHECK_CUDA_LIB": os.environ[FAKES],
                         "GPUCHECK_NCCL_LIB": os.environ[FAKES + "_NCCL"],
                         "FAKE_CUDA_GPUS": str(plan.shape[1])}
        if not plan.pictures:
            self.env["PATH"] = self.bare_path()
        if any(h.what == "disk" for h in plan.hits):
            self.mount("size=%d" % DISK_B)

    def bare_path(self):
        """Without gnuplot, which takes longer than a run."""
        return "/nonexistent"

    # What a run stands on.

    def mount(self, options, where=None):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs",
                        where or self.disk], check=True)

    def start(self, hits):
        """The front, with what the early ones of @hits take from it."""
        limits, env = [], dict(self.env)
        for hit in hits:
            if hit.what == "nofile":
                limits.append(lambda n=hit.amount: resource.setrlimit(
                    resource.RLIMIT_NOFILE, (n, n)))
            elif hit.what in ("nproc", "memory"):
                group = self.group(hit)
                limits.append(lambda g=group: write(f"{g}/cgroup.procs",
                                                    str(os.getpid())))
            elif hit.what == "shm":
                self.mount("size=%d" % hit.amount, "/dev/shm")
            elif hit.what == "clock" and faketime():
                env |= self.faked_clock()
        return self.launch(self.words(), env, lambda: [f() for f in limits])

    def faked_clock(self):
        write(self.clock, "+0")
        return {"LD_PRELOAD": faketime(), "FAKETIME_NO_CACHE": "1",
                "FAKETIME_TIMESTAMP_FILE": self.clock, "NO_FAKE_STAT": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def group(self, hit):
        kind, name = {"nproc": ("pids", "pids.max"),
                      "memory": ("memory", "memory.limit_in_bytes")}[hit.what]
        path = next(p for p in groups(self.work) if f"/{kind}/" in p)
        os.mkdir(path)
        write(f"{path}/{name}", str(hit.amount))
        return path

    def launch(self, words, env, before=None):
        with open(f"{self.work}/out", "w") as out, \
                open(f"{self.work}/err", "w") as err:
            self.front = subprocess.Popen(
                words, env=env, stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, cwd=self.work, preexec_fn=before)
        return self.front

    def words(self):
        n, ranks = self.plan.shape
        return [self.program, *self.scene.words, f"--local={n}x{ranks}",
                *self.common()]

    def common(self):
        return ["-o", self.dir, f"--max-time={MAX_TIME_S}s",
                f"--boot-timeout={BOOT_S}s", f"--silence={SILENCE_S}s",
                "--progress=never"]

    def resume(self):
        self.launch([self.program, "p2p", "--resume", self.dir,
                     f"--max-time={MAX_TIME_S}s", "--progress=never"],
                    self.env)

    # What is done to it.

    def family(self):
        return family(self.work)

    def node_of(self, process):
        return process.node

    def ranks_of(self, process, among):
        """The ranks that a process stands for, None where that is not known:
        agents start their workers in the order of the ranks, until one of
        them has to be replaced."""
        n, ranks = self.plan.shape
        node = self.node_of(process)
        if node is None:
            return None
        first = self.nodes().index(node) * ranks
        workers = [p.pid for p in among if p.kind == "worker" and
                   self.node_of(p) == node]
        if process.kind == "worker" and len(workers) == ranks and \
                workers == self.workers.setdefault(node, workers):
            return {first + workers.index(process.pid)}
        return set(range(first, first + ranks))

    def nodes(self):
        return [f"n{k}" for k in range(self.plan.shape[0])]

    def fill(self):
        try:
            with open(f"{self.disk}/filler", "wb", buffering=0) as f:
                while f.write(bytes(4096)):
                    pass
        except OSError:
            pass

    def step_clock(self, seconds):
        write(self.clock, f"{seconds:+d}")

    def oom_killed(self):
        return any(" 0" not in line for g in groups(self.work)
                   for line in lines(f"{g}/memory.oom_control")
                   if line.startswith("oom_kill "))

    # After the run.

    def over(self):
        """Is the run at its end?  Only the front's, where it ends with it."""
        return self.front.poll() is not None

    def heal(self):
        """All limits are off."""
        if os.path.exists(f"{self.disk}/filler"):
            os.remove(f"{self.disk}/filler")

    def heal_links(self):
        """All are up, and no node remembers that another did not answer."""
        for node in self.nodes():
            self.link(node, True)
        for k in range(1, self.plan.shape[0] + 1):
            subprocess.run(["node-run", str(k), "ip", "neigh", "flush", "all"],
                           check=False)

    def front_code(self):
        """Its exit code, less than zero for a signal; None: it runs."""
        return self.front.poll()

    def remains(self, cut):
        """What it has left on the machine, in words; @cut: a link was."""
        return ([f"process {p}" for p in self.family()] +
                [f"file /dev/shm/{f}" for f in os.listdir("/dev/shm")
                 if "faketime" not in f] +      # the library's own
                [f"file tmp/{f}" for f in os.listdir(f"{self.work}/tmp")] +
                [f"socket {s}" for s in listening()])

    def close(self):
        for path in groups(self.work):
            wait_for(5, lambda p=path: removed(p))


class Env(Local):
    """Agents that are started by hand, each in the network of its node."""
    detached = True

    def __init__(self, *args):
        super().__init__(*args)
        n, self.each = self.plan.shape
        self.net = {subprocess.run(
            ["node-run", str(k), "readlink", "/proc/self/ns/net"],
            capture_output=True, text=True,
            check=True).stdout.strip(): f"n{k}" for k in range(1, n + 1)}
        self.agents = []

    @staticmethod
    def place(plan):
        return [f"{ROOT}/tests/ping/netns", str(plan.shape[0]), "1"]

    def words(self):
        return [self.program, *self.scene.words, "--launcher=env",
                *self.common()]

    def start(self, hits):
        super().start(hits)
        self.start_agents()

    def resume(self):
        before = lines(f"{self.dir}/run.json")
        super().resume()
        wait_for(10, lambda: lines(f"{self.dir}/run.json") != before or
                 self.front.poll() is not None)
        if self.front.poll() is None:
            self.start_agents()

    def start_agents(self):
        n, each = self.plan.shape
        if not wait_for(20, lambda: os.path.exists(f"{self.dir}/run.json") or
                        self.front.poll() is not None):
            return
        with open(f"{self.work}/agents", "a") as out:
            for r in range(n * each):
                self.agents.append(subprocess.Popen(
                    ["node-run", str(r // each + 1), "env", f"RANK={r}",
                     f"WORLD_SIZE={n * each}", f"LOCAL_RANK={r % each}",
                     f"LOCAL_WORLD_SIZE={each}",
                     f"PATH={self.env['PATH']}",
                     self.program, "agent", self.dir],
                    env=dict(self.env, PATH=os.environ["PATH"]),
                    stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def node_of(self, process):
        return self.net.get(process.net)

    def ranks_of(self, process, among):
        if process.boot_rank and self.node_of(process):
            return {int(process.boot_rank)}
        return None

    def nodes(self):
        return list(self.net.values())

    def link(self, node, up):
        subprocess.run(["ip", "link", "set", f"v{node[1:]}-eth0",
                        "up" if up else "down"], check=True)

    def over(self):
        # each is asked, so that none stays a zombie
        return super().over() and not [a for a in self.agents
                                       if a.poll() is None]

    def heal(self):
        super().heal()
        self.heal_links()


class Slurm(Local):
    """One job of a cluster of this round's own."""
    detached = True
    bound_s = Local.bound_s + 30
    machine = ("slurmd",)

    @staticmethod
    def place(plan):
        return [f"{ROOT}/tests/cluster/slurm-netns", str(plan.shape[0]), "8"]

    def __init__(self, *args):
        super().__init__(*args)
        self.net = {}
        for k, name in enumerate(self.nodes(), 1):
            with open(f"{os.environ['CLUSTER']}/{name}.pid") as f:
                self.net[os.readlink(f"/proc/{f.read().strip()}/ns/net")] = \
                    name

    def bare_path(self):
        return os.environ["PATH"]       # of Slurm's commands

    def words(self):
        n, ranks = self.plan.shape
        return [self.program, *self.scene.words, "-N", str(n), "-G",
                str(ranks), *self.common()]

    def family(self):
        return family(self.work, SLURM)

    def nodes(self):
        return [f"gcn{k}" for k in range(1, self.plan.shape[0] + 1)]

    def node_of(self, process):
        return self.net.get(process.net)

    def link(self, node, up):
        subprocess.run(["ip", "link", "set", f"gcv{node[3:]}",
                        "up" if up else "down"], check=True)

    def asked(self, *words):
        return subprocess.run(words, capture_output=True, text=True,
                              check=False, timeout=60).stdout.strip()

    def over(self):
        return super().over() and not self.asked("squeue", "-h")

    def remains(self, cut):
        # a slurmstepd whose controller was out of reach tries again after a
        # time of its own; what it has started is gone by then
        others = (*self.machine, "slurmstepd") if cut else self.machine
        return ([f"process {p}" for p in self.family()
                 if p.kind not in others] +
                [f"file tmp/{f}" for f in os.listdir(f"{self.work}/tmp")] +
                [f"job {j}" for j in self.asked("squeue", "-h").splitlines()])

    def heal(self):
        """Nodes as an operator brings them back."""
        self.heal_links()
        running = {self.node_of(p) for p in self.family()
                   if p.kind == "slurmd"}
        for k, node in enumerate(self.nodes(), 1):
            if node not in running:
                self.asked("node-run", str(k), "slurmd", "-N", node)

    def resume(self):
        wait_for(60, lambda: self.all_idle() and self.all_answer(), 0.5)
        super().resume()

    def all_idle(self):
        n = str(self.plan.shape[0])
        if self.asked("sinfo", "-h", "--states=idle", "--format=%D") == n:
            return True
        for node in self.nodes():       # what Slurm itself has drained
            self.asked("scontrol", "update", f"nodename={node}",
                       "state=resume")
        return False


    def all_answer(self):
        """Is each slurmd there?  One that has just come is idle before."""
        try:
            for node in self.nodes():
                socket.create_connection((node, SLURMD_PORT), 1).close()
            return True
        except OSError:
            return False


class Salloc(Slurm):
    """Steps of an allocation that the front is in."""
    takes_all = ("srun", "front")       # whose child srun is

    def launch(self, words, env, before=None):
        # salloc makes 0 or 1 of a signal
        write(f"{self.work}/code", "")
        return super().launch(
            ["salloc", "--quiet", "--exclusive", "--gres=gpu:8", "-N",
             str(self.plan.shape[0]), "bash", "-c",
             f'"$@"; echo $? >{self.work}/code', "front", *words], env, before)

    def front_code(self):
        code = super().front_code()
        for said in lines(f"{self.work}/code") if code is not None else ():
            code = int(said) if int(said) < 128 else 128 - int(said)
        return code

    def words(self):
        n, ranks = self.plan.shape
        return [self.program, *self.scene.words, "-G", str(ranks),
                *self.common()]


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def lines(path):
    try:
        with open(path) as f:
            return f.read().splitlines()
    except OSError:
        return []


def groups(work):
    """Control groups that the round of @work may have made."""
    name = "chaos" + work.replace("/", "-")
    return [f"{CGROUPS}/{kind}/{name}" for kind in ("pids", "memory")]


def removed(group):
    try:
        os.rmdir(group)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def listening():
    """Local ends of sockets of this network that still listen."""
    return [row.split()[1] for name in ("tcp", "tcp6")
            for row in lines(f"/proc/net/{name}")[1:]
            if row.split()[3] == "0A"]


def faketime():
    for where in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                  "/usr/lib64"):
        path = f"{where}/faketime/libfaketime.so.1"
        if os.path.exists(path):
            return path
    return None


HOWS = {"Local": Local, "Env": Env, "Slurm": Slurm,
        "Salloc": Salloc}
