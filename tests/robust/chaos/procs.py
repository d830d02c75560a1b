# SPDX-License-Identifier: BSD-3-Clause
"""The processes of one run, found by what they inherit from us.

A round has its own process namespace; the mark is what tells a run's
processes from ours, and it is looked at again before each signal."""
import os
import signal
import time

MARK = "GPUCHECK_TEST_CHAOS"
SLURM = ("srun", "slurmstepd", "slurmd", "batch")


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read()
    except OSError:
        return b""


class Process:
    """A process of the run, as it was seen."""

    def __init__(self, pid, kind, env, words):
        self.pid, self.kind, self.words = pid, kind, words
        self.node = env.get("GPUCHECK_BOOT_NODE")
        self.boot_rank = env.get("RANK")
        self.parent = int(read(pid, "stat").rpartition(b")")[2].split()[1]
                          or 0)
        try:
            self.net = os.readlink(f"/proc/{pid}/ns/net")
        except OSError:
            self.net = None

    def __str__(self):
        return f"{self.pid} {' '.join(self.words)}"


def kind_of(words):
    """What a command line is in a run; the name of the program where it is
    none of ours."""
    name = os.path.basename(words[0]).rstrip(":")
    if any(w.endswith("/slurm_script") for w in words):
        return "batch"
    if name != "gpucheck" or len(words) < 2:
        return name
    if words[1] in ("agent", "coordinator", "worker"):
        return "child" if words[2:3] == ["inventory"] else words[1]
    return "front"


def alive(pid):
    state = read(pid, "stat").rpartition(b")")[2].split()
    return bool(state) and state[0] not in (b"Z", b"X")


def family(mark, kinds=()):
    """The run's processes, and those of other kinds that have no mark but are
    of this namespace."""
    found = []
    for pid in sorted(int(p) for p in os.listdir("/proc") if p.isdigit()):
        words = [w.decode(errors="replace") for w in
                 read(pid, "cmdline").split(b"\0")[:-1]]
        if not words or not words[0] or not alive(pid):
            continue
        kind = kind_of(words[0].split() + words[1:])
        env = dict(e.partition("=")[::2] for e in
                   read(pid, "environ").decode(errors="replace").split("\0"))
        if env.get(MARK) == mark or kind in kinds:
            try:
                found.append(Process(pid, kind, env, words))
            except IndexError:
                pass        # it has just ended
    return found


def send(process, name):
    """False when it was gone."""
    try:
        os.kill(process.pid, getattr(signal, "SIG" + name))
        return True
    except ProcessLookupError:
        return False


def wait_for(seconds, true, nap=0.02):
    """What `true` gives, once it is true or the time is over."""
    end = time.monotonic() + seconds
    while True:
        got = true()
        if got or time.monotonic() > end:
            return got
        time.sleep(nap)
