# SPDX-License-Identifier: BSD-3-Clause
"""What happens in which round: a pure function of the seed and its number."""
import random
from dataclasses import dataclass, field

TCP = ["--transport=tcp", "-b", "2M", "-n", "25", "--timeout=10s"]
SIM = ["--transport=sim", "--timeout=10s"]


TWOS = 0.25     # of rounds with two faults


@dataclass(frozen=True)
class Scene:
    """How a run is started: by whom, what, on how many nodes and ranks."""
    weight: int
    how: str            # a class of scene.py
    shapes: list        # (nodes, ranks of each)
    words: list         # the command and its options
    faults: tuple       # names of FAULTS
    victims: dict       # kind of process and weight
    start_ms: int = 400     # the latest moment after the start
    moments: dict = field(default_factory=lambda: {"rows": 8, "start": 2,
                                                   "end": 1})
    pairs: bool = True  # rows of ordered pairs of ranks, which --resume ends
    fakes: bool = False     # on the libraries of tests/copies


@dataclass(frozen=True)
class Fault:
    """What is done: by signal to a process, or to what the run stands on."""
    weight: int
    signal: str = ""        # to a victim
    lasts: tuple = ()       # seconds after which it is undone, at random
    amounts: tuple = ()     # of a limit, or steps of the clock in seconds
    early: bool = False     # there from the start


@dataclass
class Hit:
    """A fault of one round."""
    what: str
    victim: str = ""        # kind of process
    pick: float = 0         # which of them, 0 to 1
    moment: tuple = ()      # ("start"|"rows"|"end", ms | part of all | ms)
    lasts: float = 0        # seconds, 0 = for good
    amount: int = 0


@dataclass
class Round:
    seed: int
    number: int
    scene: str
    shape: tuple = ()
    pictures: bool = False
    hits: list = field(default_factory=list)


FAULTS = {
    "kill": Fault(24, "KILL"),
    "segv": Fault(14, "SEGV"),
    "term": Fault(12, "TERM"),
    "stop": Fault(12, "STOP"),
    "pause": Fault(16, "STOP", lasts=(0.2, 9)),
    "clock": Fault(5, amounts=(-86400, -3600, -10, 10, 3600, 86400)),
    "disk": Fault(6),
    "nofile": Fault(4, amounts=(12, 16, 20, 24, 32, 48, 64), early=True),
    "nproc": Fault(3, amounts=(3, 5, 8, 12, 16), early=True),
    "memory": Fault(3, amounts=(8 << 20, 16 << 20, 32 << 20), early=True),
    "shm": Fault(1, amounts=(4096,), early=True),
    "cut": Fault(8),
    "flap": Fault(8, lasts=(0.2, 4)),
}
# Which nobody but who stopped them can bring back.
NEVER_STOPPED = ("front", "srun", "slurmstepd", "batch", "slurmd")
SIGNALS = ("kill", "segv", "term", "stop", "pause")
LIMITS = ("clock", "disk", "nofile", "nproc", "memory", "shm")
LINKS = ("cut", "flap")
LOCAL = {"front": 2, "coordinator": 2, "agent": 3, "worker": 5}
QUICK = {"start": 8, "end": 1}     # all rows come together
NODES = {"front": 2, "coordinator": 2, "agent": 3, "child": 1}
SLURM = {"front": 2, "coordinator": 2, "agent": 2, "worker": 3, "srun": 2,
         "slurmstepd": 2, "batch": 2, "slurmd": 1}

SCENES = {
    "local": Scene(50, "Local", [(2, 3), (2, 4), (3, 2), (1, 6)],
                   ["p2p", *TCP], SIGNALS + LIMITS, LOCAL),
    "sim": Scene(12, "Local", [(4, 8), (6, 4)], ["p2p", *SIM],
                 SIGNALS + LIMITS, NODES),
    "ping": Scene(6, "Local", [(3, 2)], ["ping", "--count=30"],
                  SIGNALS, NODES, 1500, QUICK, pairs=False),
    "memlock": Scene(2, "Local", [(2, 2)], ["memlock"], SIGNALS, NODES, 80,
                     QUICK, pairs=False),
    "allreduce": Scene(3, "Local", [(2, 2)],
                       ["allreduce", "--transport=sim"], SIGNALS, NODES,
                       150, QUICK, pairs=False),
    "cuda": Scene(4, "Local", [(1, 3), (1, 4)],
                  ["p2p", "--transport=cuda", "-b", "256K", "-n", "4",
                   "--timeout=10s"], SIGNALS, LOCAL, fakes=True),
    "nccl": Scene(3, "Local", [(1, 4)],
                  ["allreduce", "-b", "64K", "-e", "128K", "-f", "2", "-n",
                   "2"], SIGNALS, LOCAL, 2000, QUICK, pairs=False,
                  fakes=True),
    "env": Scene(15, "Env", [(3, 2), (4, 1)], ["p2p", *TCP],
                 SIGNALS + LINKS, LOCAL),
    "slurm": Scene(12, "Slurm", [(3, 2)], ["p2p", *TCP], SIGNALS + LINKS,
                   SLURM),
    "salloc": Scene(4, "Salloc", [(3, 2)], ["p2p", *TCP], SIGNALS + ("flap",),
                    {k: SLURM[k] for k in SLURM if k != "batch"}),
}


def choose(r, weights):
    return r.choices(list(weights), list(weights.values()))[0]


def draw_moment(r, scene):
    where = choose(r, scene.moments)
    if where == "rows":
        return where, round(r.random(), 3)
    return where, r.randrange(scene.start_ms if where == "start" else 400)


def draw_hit(r, scene, pictures, names):
    what = choose(r, {f: FAULTS[f].weight for f in names})
    fault = FAULTS[what]
    hit = Hit(what, pick=r.random(), moment=draw_moment(r, scene))
    if fault.signal:
        victims = dict(scene.victims, gnuplot=1) if pictures else scene.victims
        hit.victim = choose(r, victims)
        if what == "stop" and hit.victim in NEVER_STOPPED:
            hit.what, fault = "pause", FAULTS["pause"]
    if fault.lasts:
        hit.lasts = round(r.uniform(*fault.lasts), 1)
    if scene.how in ("Slurm", "Salloc") and (what in LINKS or
                                             hit.victim == "slurmd"):
        # before, it is a job that waits for its nodes
        hit.moment = "rows", round(r.random(), 3)
    if fault.amounts:
        hit.amount = r.choice(fault.amounts)
    return hit


def draw(seed, number, scenes, faults):
    """Round `number`: the same for the same seed, scenes and faults."""
    r = random.Random(f"{seed}.{number}")
    name = choose(r, {s: SCENES[s].weight for s in scenes})
    scene = SCENES[name]
    plan = Round(seed, number, name, r.choice(scene.shapes),
                 pictures=r.random() < 0.15)
    names = [f for f in scene.faults if f in faults]
    later = [f for f in names if not FAULTS[f].early]
    plan.hits = [draw_hit(r, scene, plan.pictures, n) for n in (names, later)
                 if n]
    # the library that fakes the clock needs shared memory
    if r.random() > TWOS or {"shm", "clock"} <= {h.what for h in plan.hits}:
        plan.hits = plan.hits[:1]
    return plan
