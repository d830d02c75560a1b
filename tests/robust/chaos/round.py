# SPDX-License-Identifier: BSD-3-Clause
"""One round, inside the namespaces of its scene: start a run, do to it what
the plan says, and look at what is left."""
import csv
import dataclasses
import io
import json
import subprocess
import time
from datetime import datetime, timezone

from oracle import SIGNAL, Done, Seen, complaints, resumed_complaints
from plan import FAULTS, LINKS, SCENES
from procs import alive, send, wait_for
from scene import HOWS, faketime

NAP_S = 0.01
# What stands for its node or a rank of it; the others are everybody's.
NODES_OWN = ("agent", "worker", "child", "slurmd", "slurmstepd")


class Round:
    def __init__(self, plan, work, program, linger_s):
        self.plan, self.linger_s = plan, linger_s
        self.scene = SCENES[plan.scene]
        self.on = HOWS[self.scene.how](plan, self.scene, work, program)
        self.done, self.undo = [], []   # undo: (when, what to call)
        self.stopped = []               # for good
        self.base = None
        self.front_utc = "~"            # when the front had ended

    def run(self):
        """Complaints, and a line of what was done."""
        try:
            return self.whole()
        finally:
            self.on.close()

    def whole(self):
        if not self.scene.pairs:
            self.measure_base()
        self.begin = time.monotonic()
        early = [h for h in self.plan.hits if FAULTS[h.what].early or
                 h.what == "clock"]
        self.on.start(early)
        for hit in early:
            if hit.what != "clock":
                self.note(hit)
        for hit in self.plan.hits:
            if not FAULTS[hit.what].early and self.reached(hit.moment):
                self.strike(hit)
        self.until_end()
        seen = self.look()
        bad = complaints(seen)
        if self.scene.pairs and seen.run and not bad:
            bad = self.resume(seen)
        return seen, bad

    def measure_base(self):
        """How such a run ends here when nothing is done to it."""
        self.on.dir += "0"
        self.on.start([])
        wait_for(self.on.bound_s, self.ended)
        self.base = self.look()
        self.on.dir = self.on.dir[:-1]

    # Until the end.

    def ended(self):
        return self.on.front.poll() is not None

    def turn(self):
        """What is due is undone; false once the time is over."""
        now = time.monotonic()
        for due in [u for u in self.undo if u[0] <= now]:
            self.undo.remove(due)
            due[1]()
        time.sleep(NAP_S)
        return now - self.begin < self.on.bound_s + 5

    def reached(self, moment):
        """Wait for it; false when the run was over before."""
        where, much = moment
        start = time.monotonic()

        def there():
            if where == "start":
                return time.monotonic() > self.begin + much / 1000
            if where == "rows":
                return len(self.rows()) > much * self.planned()
            return self.read_json("run.json").get("ended_utc")

        while not there():
            if self.on.over() or not self.turn() or time.monotonic() - start > \
                    self.on.bound_s / 2:
                return False
        if where == "end":
            time.sleep(much / 1000)
        return True

    def planned(self):
        ranks = self.plan.shape[0] * self.plan.shape[1]
        return ranks * (ranks - 1) if self.scene.pairs else len(self.base.rows)

    def strike(self, hit):
        fault = FAULTS[hit.what]
        if fault.signal:
            self.strike_process(hit, fault.signal)
        elif hit.what in LINKS:
            nodes = self.on.nodes()
            node = nodes[int(hit.pick * len(nodes))]
            first = nodes.index(node) * self.plan.shape[1]
            ranks = set(range(first, first + self.plan.shape[1]))
            if any(p.kind == "coordinator" and self.on.node_of(p) == node
                   for p in self.on.family()):
                ranks = None        # it loses all the others
            self.note(hit, node=node, ranks=ranks)
            self.on.link(node, False)
            self.later(hit, lambda: self.on.link(node, True))
        elif hit.what == "disk":
            self.note(hit)
            self.on.fill()
        elif hit.what == "clock" and faketime():
            self.note(hit)
            self.on.step_clock(hit.amount)

    def strike_process(self, hit, name):
        family = wait_for(2, lambda: self.some(hit.victim))
        if not family:
            return
        victims = [p for p in family if p.kind == hit.victim]
        victim = victims[int(hit.pick * len(victims))]
        node, ranks = None, set()
        if hit.victim in NODES_OWN:
            node = self.on.node_of(victim)
            ranks = self.on.ranks_of(victim, family)
        elif hit.victim in self.on.takes_all:
            ranks = None        # all agents go with it, one by one
        elif hit.victim == "coordinator" and hit.what == "stop":
            # it loses all agents, by a fault of its own node
            node, ranks = self.on.node_of(victim), None
        self.note(hit, hit.victim, node, ranks)
        if not send(victim, name):
            self.done.pop()
        elif hit.lasts:
            self.later(hit, lambda: send(victim, "CONT"))
        elif name == "STOP":
            self.stopped.append(victim)

    def some(self, kind):
        """The family, when one of that kind is in it."""
        family = self.on.family()
        return family if any(p.kind == kind for p in family) else None

    def later(self, hit, what):
        if hit.lasts:
            self.undo.append((time.monotonic() + hit.lasts, what))

    def note(self, hit, victim="", node=None, ranks=frozenset()):
        told = tuple(sorted(ranks or ()))
        # before there is a plan, who does not come gets the last ranks
        if hit.what in ("nofile", "nproc", "memory") or (
                ranks and self.on.detached and
                not self.read_json("run.json").get("nodes")):
            ranks = None
        self.done.append(Done(
            hit.what, victim, node, None if ranks is None else set(ranks),
            self.text(), bool(self.read_json("run.json").get("ended_utc")),
            utc(), hit.lasts, hit.amount,
            told))

    def until_end(self):
        while not self.ended() and self.turn():
            pass
        self.seconds = time.monotonic() - self.begin
        self.front_utc = utc()
        while self.undo and self.turn():
            pass
        if self.on.detached or any(d.victim == "front" for d in self.done):
            # who could have ended them is not there
            for victim in self.stopped:
                send(victim, "CONT")
        if self.on.detached:
            self.on.heal()
            wait_for(self.on.bound_s, self.on.over, 0.1)
        self.left = self.linger()

    def linger(self):
        cut = any(d.what in LINKS for d in self.done)
        wait_for(self.linger_s, lambda: not self.on.remains(cut), 0.1)
        left = self.on.remains(cut)
        for process in self.on.family():
            if process.kind not in self.on.machine and alive(process.pid):
                send(process, "KILL")
        return left

    # What is left.

    def text(self):
        try:
            with open(f"{self.on.dir}/results.csv", "rb") as f:
                return f.read()
        except OSError:
            return b""

    def rows(self):
        whole = self.text()
        whole = whole[:whole.rfind(b"\n") + 1].decode(errors="replace")
        return list(csv.DictReader(io.StringIO(whole)))

    def read_json(self, name):
        try:
            with open(f"{self.on.dir}/{name}") as f:
                return json.load(f)
        except (OSError, ValueError):
            return {}

    def read(self, name):
        with open(f"{self.on.work}/{name}", errors="replace") as f:
            return f.read()

    def report(self):
        """Its exit code, away from what was done to the run."""
        return subprocess.run(
            [self.on.program, "report", self.on.dir], env=self.on.env,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=120).returncode

    def look(self):
        code = self.on.front_code()
        seen = Seen(pairs=self.scene.pairs, done=self.done,
                    code=(SIGNAL - code if code is not None and code < 0
                          else code),
                    seconds=getattr(self, "seconds", 0),
                    bound_s=self.on.bound_s, rows=self.rows(),
                    text=self.text(), out=self.read("out"),
                    err=self.read("err"), left=getattr(self, "left", []))
        seen.run = self.read_json("run.json")
        seen.verdict = self.read_json("verdict.json")
        seen.went_on = (self.on.detached and
                        seen.run.get("ended_utc", "") > self.front_utc)
        if self.base:
            seen.base_code = self.base.code
            seen.base_exclude = self.base.verdict.get("exclude", [])
        if code is None:
            self.on.front.kill()
            seen.code = -1
        self.on.heal()
        seen.report_code = self.report()
        return seen

    def resume(self, before):
        """A good run may say that there is nothing to do."""
        self.begin, self.done = time.monotonic(), []
        self.on.resume()
        while not self.ended() and self.turn():
            pass
        if self.on.detached:
            wait_for(self.on.bound_s, self.on.over, 0.1)
        self.left = self.linger()
        after = self.look()
        return list(resumed_complaints(after, before, after.code))


def utc():
    """As run.json has it."""
    return datetime.now(timezone.utc).isoformat(
        timespec="milliseconds").replace("+00:00", "Z")


def describe(plan):
    """What the plan was, in a line: fault, victim and moment."""
    words = []
    for h in plan.hits:
        much = h.lasts and f"{h.lasts}s" or h.amount or ""
        words.append(f"{h.what} {h.victim or much}"
                     f"{' ' + str(much) if h.victim and much else ''} "
                     f"at {h.moment[0]}:{h.moment[1]}")
    return ", ".join(words)


def as_dict(seen):
    """For the file that a bad round leaves."""
    d = dataclasses.asdict(seen)
    for big in ("rows", "text", "out", "err", "run", "verdict"):
        d.pop(big)
    for done in d["done"]:
        done["rows"] = done["rows"].count(b"\n")
        done["ranks"] = sorted(done["ranks"]) if done["ranks"] is not None \
            else None
    return d
