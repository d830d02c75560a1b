# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of runs to which something is done at a random moment.

    GPUCHECK=PROGRAM python3 tests/robust/chaos [N [SEED]]
        [--scenes=LIST] [--faults=LIST] [--lanes=N] [--only=NUMBER]
        [--keep=DIR] [--linger=SECONDS]

The same seed gives the same faults.  One line a round; the directory of a bad
one is kept.  At the end a table: fault and scene, how many were good.  Ends
with 1 if one was bad."""
import argparse
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.dont_write_bytecode = True

import plan as plans                            # noqa: E402
from procs import wait_for                      # noqa: E402
from round import Round, as_dict, describe      # noqa: E402
from scene import FAKES, HOWS, ROOT, groups, removed   # noqa: E402

HARD_S = 500        # of one round, all that it waits for together
PR_SET_PDEATHSIG = 1


def options():
    p = argparse.ArgumentParser(prog="chaos", description=__doc__)
    p.add_argument("rounds", nargs="?", type=int, default=20)
    p.add_argument("seed", nargs="?", type=int, default=int(time.time()))
    p.add_argument("--scenes", default=",".join(plans.SCENES))
    p.add_argument("--faults", default=",".join(plans.FAULTS))
    p.add_argument("--lanes", type=int, default=os.cpu_count() * 2)
    p.add_argument("--only", type=int, help="this round alone, kept")
    p.add_argument("--linger", type=int, default=15,
                   help="seconds after which nothing of a run is left")
    p.add_argument("--keep", help="where directories of bad rounds go")
    p.add_argument("--inside", help=argparse.SUPPRESS)
    o = p.parse_args()
    if FAKES not in os.environ:
        o.scenes = ",".join(s for s in o.scenes.split(",")
                            if not plans.SCENES[s].fakes)
    o.scenes, o.faults = o.scenes.split(","), o.faults.split(",")
    return o


def inside(o, program):
    """The round itself; its result is a file in its directory."""
    plan = plans.draw(o.seed, o.only, o.scenes, o.faults)
    seen, bad = Round(plan, o.inside, program, o.linger).run()
    with open(f"{o.inside}/result.json", "w") as f:
        json.dump({"bad": bad, "seen": as_dict(seen)}, f, indent=1)


def end_with_us():
    """Whoever kills this program kills its rounds."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Lane:
    """A round in its own namespaces, all of which end with it."""

    def __init__(self, o, number, program):
        self.plan = plans.draw(o.seed, number, o.scenes, o.faults)
        self.work = f"{o.keep}/{o.seed}.{number}"
        os.makedirs(self.work)
        scene = plans.SCENES[self.plan.scene]
        self.start = time.monotonic()
        with open(f"{self.work}/round.log", "w") as log:
            self.process = subprocess.Popen(
                [*HOWS[scene.how].place(self.plan), sys.executable, "-B",
                 os.path.dirname(os.path.abspath(__file__)), "0",
                 str(o.seed), f"--scenes={','.join(o.scenes)}",
                 f"--faults={','.join(o.faults)}", f"--only={number}",
                 f"--linger={o.linger}", f"--inside={self.work}"],
                env=dict(os.environ, GPUCHECK=program), cwd=ROOT,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=end_with_us)

    def ended(self):
        if self.process.poll() is not None:
            return True
        if time.monotonic() - self.start > HARD_S:
            self.end()
        return False

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for path in groups(self.work):
            wait_for(5, lambda p=path: removed(p))

    def result(self):
        """Complaints and what was seen."""
        try:
            with open(f"{self.work}/result.json") as f:
                got = json.load(f)
            return got["bad"], got["seen"]
        except (OSError, ValueError):
            with open(f"{self.work}/round.log", errors="replace") as f:
                last = f.read().strip().splitlines()[-1:]
            return [f"the round itself broke: {' '.join(last)}"], {}


def line(lane, bad, seen):
    p = lane.plan
    n, ranks = p.shape
    happened = len(seen.get("done", []))
    hit = "" if happened == len(p.hits) else f" ({happened} happened)"
    code = seen.get("code")
    return (f"{p.seed}.{p.number} {p.scene} {n}x{ranks}: {describe(p)}{hit}; "
            f"exit {code} after {seen.get('seconds', 0):.1f} s: "
            f"{'; '.join(bad) if bad else 'ok'}")


def table(results):
    """Rows: faults; columns: scenes; good of all."""
    scenes = [s for s in plans.SCENES
              if any(p.scene == s for p, _ in results)]
    all_, good = Counter(), Counter()
    for p, bad in results:
        for name in {f"{h.what} {h.victim}".strip() for h in p.hits} | {"all"}:
            all_[name, p.scene] += 1
            good[name, p.scene] += not bad
    names = sorted({n for n, _ in all_} - {"all"}) + ["all"]
    yield f"{'good/rounds':<20}" + "".join(f"{s:>11}" for s in scenes)
    for n in names:
        yield f"{n:<20}" + "".join(
            f"{f'{good[n, s]}/{all_[n, s]}' if all_[n, s] else '':>11}"
            for s in scenes)


def rounds(o, todo, program):
    """Their plans and complaints; none is left when this ends in any way."""
    results, lanes = [], []
    try:
        while todo or lanes:
            while todo and len(lanes) < o.lanes:
                lanes.append(Lane(o, todo.pop(0), program))
            for lane in [x for x in lanes if x.ended()]:
                lanes.remove(lane)
                bad, seen = lane.result()
                results.append((lane.plan, bad))
                print(line(lane, bad, seen), flush=True)
                if not bad and o.only is None:
                    shutil.rmtree(lane.work, ignore_errors=True)
            time.sleep(0.05)
    finally:
        for lane in lanes:
            lane.end()
    return results


def main():
    o = options()
    program = os.path.realpath(os.environ.get("GPUCHECK",
                                              f"{ROOT}/gpucheck"))
    if o.inside:
        return inside(o, program)
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, lambda number, _: sys.exit(128 + number))
    o.keep = o.keep or tempfile.mkdtemp(prefix="gpucheck-chaos-")
    # not what the next build puts in its place
    os.makedirs(f"{o.keep}/bin", exist_ok=True)
    program = shutil.copy(program, f"{o.keep}/bin/gpucheck")
    todo = [o.only] if o.only is not None else list(range(o.rounds))
    results = rounds(o, todo, program)
    n_bad = sum(bool(bad) for _, bad in results)
    print(*table(results), sep="\n")
    print(f"{len(results) - n_bad} of {len(results)} good, seed {o.seed}" +
          (f"; see {o.keep}" if n_bad else ""))
    if not n_bad and o.only is None:
        shutil.rmtree(o.keep, ignore_errors=True)
    return n_bad > 0


if __name__ == "__main__":
    sys.exit(main())
