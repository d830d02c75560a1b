# SPDX-License-Identifier: BSD-3-Clause
"""What has to be true of a run, whatever was done to it: a pure function of
what was seen, which gives complaints."""
import itertools
import re
from dataclasses import dataclass, field

BAD = ("error", "timeout", "crashed", "corrupt")
CUT = ("not_run", "skipped")
KEY = ("attempt", "src_rank", "dst_rank", "transport", "op", "mode", "memory",
       "schedule", "size_B")
SIGNAL = 256            # as an exit code: ended by a signal


@dataclass
class Done:
    """A fault as it happened."""
    what: str
    victim: str             # kind of process, "" where it is none
    node: str               # None where nobody knows, or it is no one's
    ranks: set              # that may show it; None = all
    rows: bytes             # results.csv just before
    over: bool = False      # all was measured, the report was not yet there
    utc: str = ""
    lasts: float = 0
    amount: int = 0
    told: tuple = ()        # ranks by the launcher's count


@dataclass
class Seen:
    """All that is left of a run."""
    pairs: bool
    done: list
    code: int               # of the front; SIGNAL + its number
    seconds: float
    bound_s: float
    base_code: int = 0      # of the same run left alone
    base_exclude: list = field(default_factory=list)
    run: dict = None        # run.json
    verdict: dict = None
    rows: list = field(default_factory=list)
    text: bytes = b""       # results.csv
    out: str = ""
    err: str = ""
    left: list = field(default_factory=list)
    report_code: int = 0
    went_on: bool = False   # it ended later than the front, which followed it


def effect(done):
    """How a victim is from then on."""
    return {"kill": "dead", "segv": "dead", "term": "told",
            "stop": "stuck", "pause": "late"}.get(done.what, done.what)


# What a run may end with besides 0, which is right where all was measured.
CODES = {
    ("dead", "worker"): set(), ("told", "worker"): set(),
    ("stuck", "worker"): {4}, ("late", "worker"): set(),
    ("dead", "agent"): {1}, ("told", "agent"): {4},
    ("stuck", "agent"): {1, 4}, ("late", "agent"): set(),
    ("dead", "coordinator"): {4}, ("told", "coordinator"): {4},
    ("stuck", "coordinator"): {1, 4}, ("late", "coordinator"): set(),
    ("dead", "front"): {SIGNAL}, ("told", "front"): {4},
    ("late", "front"): set(),
    ("dead", "srun"): {4}, ("told", "srun"): {4}, ("late", "srun"): set(),
    ("dead", "slurmstepd"): {1, 4}, ("told", "slurmstepd"): {1, 4},
    ("late", "slurmstepd"): set(),
    ("dead", "batch"): {4}, ("told", "batch"): {4}, ("late", "batch"): set(),
    ("dead", "slurmd"): {1}, ("told", "slurmd"): {1},
    ("clock", ""): set(), ("disk", ""): {3, 4}, ("nofile", ""): {1, 3, 4},
    ("nproc", ""): {1, 3, 4}, ("memory", ""): {1, 3, 4, SIGNAL},
    ("shm", ""): set(), ("cut", ""): {1, 4}, ("flap", ""): {1, 4},
}


def codes_found(seen):
    return {f["code"] for f in (seen.verdict or {}).get("findings", [])}


def allowed_codes(seen):
    codes = {seen.base_code}
    for d in seen.done:
        codes |= CODES.get((effect(d), d.victim), set())
        if not seen.pairs and d.victim in ("worker", "child"):
            codes |= {1}        # its rank is left out, not tried again
        soon = d.rows.count(b"\n") < 2
        if soon and effect(d) == "told":
            # before it could be told anything: that ends it
            codes |= CODES.get(("dead", d.victim), set())
        if d.over and d.victim == "front":
            codes |= {SIGNAL}   # TERM ends a report like anything else
    # after the last agent the front gives it a moment to say so
    if {("late", "coordinator"), ("dead", "agent")} <= {
            (effect(d), d.victim) for d in seen.done}:
        codes |= {4}
    # who did not get to run is no fault, and what it lost not measured
    if "starved" in codes_found(seen):
        codes |= {4}
    # most agents at once: they were ended
    if len([d for d in seen.done if d.victim == "agent"]) > 1:
        codes |= {4}
    # a rank that died twice
    if len([d for d in seen.done if d.victim == "worker"]) > 1:
        codes |= {1}
    if seen.done and not any(r["outcome"] == "ok" for r in seen.rows):
        codes |= {3, 4}     # it had not begun
    return codes


def layout(seen):
    """Node of each rank, from run.json; empty before it is known."""
    return {n["first_rank"] + g: n["name"]
            for n in (seen.run or {}).get("nodes") or []
            for g in range(n.get("gpus", 0))}


def cells(seen):
    planned = ((seen.run or {}).get("planned") or {}).get("cells")
    return set(itertools.permutations(layout(seen), 2)) if planned else set()


def cell(row):
    return int(row["src_rank"]), int(row["dst_rank"])


def measured(seen):
    return {cell(r) for r in seen.rows if r["outcome"] == "ok"} \
        if seen.pairs else set()


def complete(seen):
    return bool(cells(seen)) and measured(seen) >= cells(seen)


def touched_nodes(seen):
    """Nodes that may be named, None where any may."""
    if any(d.what in ("nofile", "nproc", "memory") for d in seen.done):
        return None
    # a rank that never came is called by what its launcher had told it
    ranks = {f"rank{r}" for d in seen.done for r in d.told}
    return ({d.node for d in seen.done if d.node} | ranks |
            set(seen.base_exclude))


def touched_ranks(seen):
    ranks = set()
    for d in seen.done:
        if d.ranks is None:
            return None
        ranks |= d.ranks
    return ranks


# Each gives complaints, in words.

def check_end(seen):
    if seen.seconds > seen.bound_s:
        yield f"ran for {seen.seconds:.0f} s, at most {seen.bound_s:.0f} s"
        return
    code = SIGNAL if seen.code >= SIGNAL else seen.code
    if code not in allowed_codes(seen):
        yield f"exit code {seen.code}, not of {sorted(allowed_codes(seen))}"


def check_verdict(seen):
    """The words, the exit code and the report agree."""
    if not seen.verdict or seen.code >= SIGNAL:
        return
    status = seen.verdict["status"]
    right = {"pass": {0}, "warn": {0}, "fail": {1, 4}, "partial": {4},
             "unknown": {3, 4}}[status]
    full = any(d.what == "disk" for d in seen.done)
    if full or not measured(seen):
        right |= {3}
    if seen.code not in right:
        yield f"exit code {seen.code} with status {status}"
    # a report has room again for what the run could not write
    again = full and seen.verdict.get("unwritten")
    if seen.report_code != seen.code and not seen.went_on and not again:
        yield f"report ends with {seen.report_code}, the run with {seen.code}"


def check_report(seen):
    if seen.run and seen.report_code not in (0, 1, 3, 4):
        yield f"report ends with {seen.report_code}"


def check_left(seen):
    yield from (f"left behind: {what}" for what in seen.left)


def check_rows(seen):
    """Whole rows, each once, of ranks that there are, on their nodes."""
    where, keys = layout(seen), set()
    for row in seen.rows:
        if None in row or None in row.values():
            yield f"row of another width: {row}"
            continue
        if not seen.pairs:
            continue
        key = tuple(row[k] for k in KEY)
        if key in keys:
            yield f"row twice: {key}"
        keys.add(key)
        for end in ("src", "dst"):
            rank = int(row[f"{end}_rank"])
            if where.get(rank) != row[f"{end}_node"]:
                yield f"rank {rank} is not on {row[f'{end}_node']}"
        if row["outcome"] == "ok" and not float(row["bw_GB_s"] or 0) > 0:
            yield f"ok without a bandwidth: {cell(row)}"
    # What was in the file stays.  A coordinator that is killed takes along the
    # rows that it heard within the last tick of 100 ms, which were not there.
    for d in seen.done:
        whole = d.rows[:d.rows.rfind(b"\n") + 1]
        if not seen.text.startswith(whole):
            yield f"rows from before the fault are gone ({d.what})"


def check_cells(seen):
    """All cells have a row at an orderly end; those that nothing touched are
    good, or were cut off."""
    if not seen.pairs:
        return
    if (seen.run or {}).get("ended_utc"):
        gone = cells(seen) - {cell(r) for r in seen.rows}
        if gone and not any(d.what == "disk" for d in seen.done):
            yield f"{len(gone)} cells without a row, such as {min(gone)}"
    ranks = touched_ranks(seen)
    if ranks is None:
        return
    ok = measured(seen)
    for row in seen.rows:
        if ranks & set(cell(row)) or row["outcome"] == "ok":
            continue
        if row["outcome"] in BAD:
            yield (f"{cell(row)} is {row['outcome']} {row['code']}, "
                   f"touched were {sorted(ranks)}")
        elif cell(row) not in ok and seen.code in (0, 1):
            yield (f"{cell(row)} is {row['outcome']} {row['code']} "
                   "in a run that was not cut")


def accused(seen):
    """Nodes of fail findings, of exclude, and of commands that drain."""
    v = seen.verdict or {}
    for f in v.get("findings", []):
        if f["severity"] == "fail" and f["node"]:
            yield f["node"], f.get("peer_node"), f["says"]
        for name in re.findall(r"nodename=(\S+) .*state=drain", f["do"]):
            yield name, None, "drain"
    for name in v.get("exclude", []):
        yield name, None, "exclude"
    for name in re.findall(r"nodename=(\S+) .*state=drain", seen.out):
        yield name, None, "drain on the screen"


def check_accused(seen):
    allowed = touched_nodes(seen)
    if allowed is None:
        return
    for name, peer, why in accused(seen):
        if name not in allowed and peer not in allowed:
            yield f"accused {name}, which nothing touched: {why}"


def check_words(seen):
    """Our own shortage is told as such."""
    if any(d.what == "disk" for d in seen.done) and seen.code == 3 and \
            "No space left" not in seen.err:
        yield "a full disk is not named"
    run = seen.run or {}
    # it may fill between the end of the run and its verdict; a coordinator
    # that is stopped says nothing more
    if any(d.what == "disk" for d in seen.done) and seen.code == 3 and \
            run.get("planned") and not run.get("ended_utc") and \
            not any(d.victim == "coordinator" for d in seen.done):
        yield "run.json does not say that the disk is full"


CHECKS = (check_end, check_verdict, check_report, check_left, check_rows,
          check_cells, check_accused, check_words)


def complaints(seen):
    return [text for check in CHECKS for text in itertools.islice(
        check(seen), 3)]


def resumed_complaints(seen, before, code):
    """Of --resume, which had nothing in its way."""
    # where nothing was left to measure it says what the run said
    if code not in ({0, before.report_code} if complete(before) else {0}):
        yield f"--resume ends with {code}"
    if not complete(seen):
        yield (f"--resume leaves {len(cells(seen) - measured(seen))} of "
               f"{len(cells(seen))} pairs unmeasured")
    kept = {tuple(r.values()) for r in before.rows if r["outcome"] == "ok"}
    gone = kept - {tuple(r.values()) for r in seen.rows}
    if gone:
        yield f"--resume lost {len(gone)} good rows"
    for text in itertools.chain(check_rows(seen), check_left(seen)):
        yield f"after --resume: {text}"
