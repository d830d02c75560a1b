# SPDX-License-Identifier: BSD-3-Clause
"""A rank of a job of PyTorch that goes on until something keeps it from that.

usage: python3 hang_rank.py WHAT ODD STEP PLACE    with RANK, WORLD_SIZE ...;
rank ODD does WHAT in step STEP.  pipe_...: ranks send and receive alone; mixed_...
do so besides allreduces of two; gloo_...: without GPUs; two_...: the next rank
does it as well.  TIMEOUT_S is the time-out of PyTorch.  In the folder PLACE it writes its process number
to up.RANK before it uses a GPU, which it does when there is "go", with the number
of the first one, to at.RANK where it comes to STEP, and to past.RANK when it
has gone on from there for 20 steps.
"""
import datetime
import multiprocessing
import os
import sys
import time

import torch
import torch.distributed as dist

what, odd, at = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
place = sys.argv[4]
rank = int(os.environ["RANK"])


def mark(name):
    path = os.path.join(place, "%s.%d" % (name, rank))
    with open(path + "~", "w") as f:
        f.write(str(os.getpid()))
    os.rename(path + "~", path)


mark("up")
while not os.path.exists(os.path.join(place, "go")):
    time.sleep(0.05)
with open(os.path.join(place, "go")) as f:
    first = int(f.read())
if not what.startswith("gloo"):
    torch.cuda.set_device(first + int(os.environ["LOCAL_RANK"]))
kind, _, rest = what.partition("_")
if kind in ("pipe", "mixed", "gloo", "two"):
    what = rest
else:
    kind = ""
dist.init_process_group(
    "gloo" if kind == "gloo" else "nccl", timeout=datetime.timedelta(
        seconds=int(os.environ.get("TIMEOUT_S", "600"))))
world = dist.get_world_size()
device = "cpu" if kind == "gloo" else "cuda"
data = torch.ones(1 << 20, device=device)
big = torch.ones((2048, 2048), device=device)
halves = [dist.new_group([r, r + 1]) for r in range(0, world, 2)] \
    if kind == "mixed" else []
is_odd = rank == odd or kind == "two" and rank == (odd + 1) % world


# on all SMs
spin = torch.cuda.jiterator._create_jit_fn("""
template <typename T> T spin(T x) {
    long long begin = clock64();
    while (clock64() - begin < (1LL << 60));
    return x;
}""") if what == "gpu_spin" else None


def worker(queue):
    time.sleep(600)


def trouble():
    """What keeps this rank from its next collective."""
    if what == "asleep":
        time.sleep(600)
    elif what == "other":
        # NCCL can match two collectives of one size, and go on
        few = data[:1000]
        dist.all_gather([torch.empty_like(few) for _ in range(world)], few)
        torch.cuda.synchronize()
    elif what == "size":
        dist.all_reduce(data[:1000])
        torch.cuda.synchronize()
    elif what == "gpu_loop":
        torch.cuda._sleep(1 << 62)
    elif what == "gpu_spin":
        spin(big)
    elif what == "fifo":
        open(os.path.join(place, "fifo"), "rb").read()
    elif what == "loader":
        queue = multiprocessing.get_context("fork").Queue()
        child = multiprocessing.get_context("fork").Process(
            target=worker, args=(queue,))
        child.start()
        time.sleep(0.2)
        os.kill(child.pid, 9)
        queue.get()
    elif what == "busy":
        end = time.monotonic() + 600
        while time.monotonic() < end:
            pass
    elif what in ("stop", "kill"):
        # while one is on its way, part of the last step may still be here
        while not all(os.path.exists(os.path.join(place, "at.%d" % r))
                      for r in range(dist.get_world_size())):
            time.sleep(0.05)
        os.kill(os.getpid(), 19 if what == "stop" else 9)


def pipe():
    """One step of a pipeline, or of tensor parallel pairs in one."""
    hop = 2 if kind == "mixed" else 1
    if kind == "mixed":
        dist.all_reduce(data, group=halves[rank // 2])
    if rank >= hop:
        dist.recv(data, rank - hop)
    if rank < world - hop:
        dist.send(data, rank + hop)


def step_of():
    if kind in ("pipe", "mixed"):
        pipe()
    else:
        dist.all_reduce(data)
    data.fill_(1)
    if device == "cuda":
        torch.cuda.synchronize()


# two ranks connect when both call, one way, which a circle does not
for r in range(world if what == "cycle" else 0):
    if r in (rank, (rank + 1) % world):
        (dist.send if r == rank else dist.recv)(
            data, (r - 1) % world if r == rank else r)
for step in range(1 << 30):
    if step == at:
        mark("at")
    if what == "compile" and step == at:
        end = time.monotonic() + 8      # every rank, before its collective
        while time.monotonic() < end:
            sum(range(10000))
    elif what == "slow" and step >= at and rank == odd:
        time.sleep(1)
    elif what == "compute":
        for _ in range(20):
            big = big @ big * 1e-3
    elif step == at and what == "cycle":
        dist.recv(data, (rank + 1) % world)
        torch.cuda.synchronize()
    elif step == at and is_odd:
        trouble()
    step_of()
    if step == at + 20:
        mark("past")
