/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport nccl between two real processes: every size, both directions,
 * and each way in which the other end can fail, followed by a healthy pair on
 * the same GPUs.  Plays agent and coordinator itself, so that a fault here is
 * the transport's.  TAP on stdout.
 *
 * With one GPU, or with "pretend", the two ranks are two pretend nodes.
 */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/base/units.h"
#include "probes/host/gpu.h"
#include "probes/host/gpu_state.h"
#include "probes/nccl/log.h"
#include "probes/probe.h"
#include "tests/gpu/tap.h"

#define JOIN_NS	  (10 * NS_PER_S)
#define RUN_NS	  (3 * NS_PER_S)
#define ANSWER_NS (20 * NS_PER_S)	/* after that the transport is stuck */

/* ---- what a transport asks of its worker ------------------------------ */

struct outside {
	struct worker as;	/* comes first */
	struct worker_note note;
	int log_fd;	/* of what NCCL writes; an agent's, else */
	bool cancelled;
};

static bool cancelled(struct worker *w)
{
	return *(volatile bool *)&((struct outside *)w)->cancelled;
}

/* ---- one end, in a process of its own --------------------------------- */

enum verb { VERB_TICKET, VERB_JOIN, VERB_RUN, VERB_CLOSE };

struct ask {
	enum verb verb;
	bool lead;
	int peer;
	char ticket[XPORT_TICKET_MAX];
	struct xport_cell cell;
};

struct answer {
	bool ok;
	char text[320];
	char ticket[XPORT_TICKET_MAX];
	struct xport_result r;
	double seconds, init_seconds;
};

struct slot {
	pid_t pid;
	int fd;
	struct outside *worker;	/* shared memory */
};

static struct slot slots[2];
static bool pretend;

static double since(int64_t start_ns)
{
	return (double)(clock_now_ns() - start_ns) / 1e9;
}

static struct xport *end_open(int rank, struct worker *w, struct answer *a)
{
	static struct spec spec;
	struct xport_self self = {
		.rank = rank, .local_rank = pretend ? 0 : rank,
		.pretend = pretend, .worker = w, .spec = &spec,
	};
	const char *code = "";
	struct err e = { 0 };
	struct xport *x = NULL;
	int64_t start = clock_now_ns();

	spec_init(&spec);
	snprintf(self.node, sizeof(self.node), "n%d", pretend ? rank : 0);
	if (gpu_count(&code, &e) >= 0) {
		a->init_seconds = since(start);
		x = xport_nccl.open(&self, &code, &e);
	}
	a->ok = x != NULL;
	a->seconds = since(start);
	snprintf(a->text, sizeof(a->text), "%s: %.300s", code, e.text);
	return x;
}

static struct xport_link *end_join(struct xport *x, struct worker *w,
				   const struct ask *ask, int64_t deadline_ns,
				   struct xport_result *r)
{
	struct xport_link *l;
	int rc = 0;

	l = xport_nccl.begin(x, ask->ticket,
			     (struct xport_seat){ !ask->lead, 2 },
			     ask->peer, deadline_ns,
			     r);
	while (l != NULL && (rc = xport_nccl.begun(l, r)) == 0) {
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
		if (worker_cancelled(w)) {
			rc = -1;
			xport_fail(r, OUTCOME_ERROR, "cancelled", "cancelled");
			break;
		}
	}
	if (l != NULL && (rc < 0 || xport_nccl.meet(l, deadline_ns, r) < 0)) {
		xport_nccl.close(l);
		return NULL;
	}
	return l;
}

static void end_act(struct xport *x, struct worker *w, struct xport_link **l,
		    const struct ask *ask, struct answer *a)
{
	int64_t now = clock_now_ns();
	struct err e = { 0 };

	xport_result_init(&a->r);
	switch (ask->verb) {
	case VERB_TICKET:
		a->ok = xport_nccl.ticket(x, a->ticket, &e) == 0;
		break;
	case VERB_JOIN:
		*l = end_join(x, w, ask, now + JOIN_NS, &a->r);
		a->ok = *l != NULL;
		break;
	case VERB_RUN:
		a->ok = xport_nccl.run(*l, &ask->cell, now + RUN_NS, &a->r);
		break;
	case VERB_CLOSE:
		xport_nccl.close(*l);
		*l = NULL;
		a->ok = true;
		break;
	}
	a->seconds = since(now);
	memcpy(a->text, e.text, sizeof(a->text));
}

static void end_main(int rank, int fd, struct outside *o)
{
	struct answer a = { 0 };
	struct xport_link *l = NULL;
	struct xport *x;
	struct ask ask;

	o->log_fd = nccl_log_open(NULL);
	o->as = (struct worker){
		.note = &o->note, .log = "",
		.log_fd = o->log_fd, .cancelled = cancelled,
	};
	x = end_open(rank, &o->as, &a);
	if (write(fd, &a, sizeof(a)) != sizeof(a) || x == NULL) {
		_exit(1);
	}
	while (read(fd, &ask, sizeof(ask)) == sizeof(ask)) {
		memset(&a, 0, sizeof(a));
		end_act(x, &o->as, &l, &ask, &a);
		if (write(fd, &a, sizeof(a)) != sizeof(a)) {
			break;
		}
	}
	_exit(0);
}

/* ---- both ends, from outside ------------------------------------------ */

static bool hear(int rank, struct answer *a)
{
	struct err e = { 0 };

	memset(a, 0, sizeof(*a));
	xport_result_init(&a->r);
	if (net_read_all(slots[rank].fd, a, sizeof(*a),
			 clock_now_ns() + ANSWER_NS, &e) < 0) {
		printf("# rank %d: %s; it was at: %s\n", rank, e.text,
		       slots[rank].worker->note.step);
		return false;
	}
	return true;
}

static bool hear_both(struct answer a[2])
{
	bool first = hear(0, &a[0]);

	return hear(1, &a[1]) && first;
}

static void tell(int rank, const struct ask *ask)
{
	if (write(slots[rank].fd, ask, sizeof(*ask)) != sizeof(*ask)) {
		printf("# rank %d does not listen\n", rank);
	}
}

static void slot_start(int rank)
{
	struct slot *s = &slots[rank];
	int fds[2];

	if (s->worker == NULL) {
		s->worker = mmap(NULL, sizeof(*s->worker),
				 PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	if (s->worker == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
	    (s->pid = fork()) < 0) {
		printf("Bail out! cannot start a process\n");
		exit(1);
	}
	if (s->pid == 0) {
		close(fds[0]);
		end_main(rank, fds[1], s->worker);
	}
	close(fds[1]);
	s->fd = fds[0];
}

static void slot_stop(int rank)
{
	kill(slots[rank].pid, SIGKILL);
	waitpid(slots[rank].pid, NULL, 0);
	close(slots[rank].fd);
}

static bool slots_ready(unsigned mask)
{
	bool good = true;

	for (int rank = 0; rank < 2; rank++) {
		struct answer a;

		if (mask & 1u << rank) {
			good = hear(rank, &a) && a.ok && good;
			printf("# rank %d open: cuInit %.2f s, in all %.2f s "
			       "%s\n", rank, a.init_seconds, a.seconds,
			       a.ok ? "" : a.text);
		}
	}
	return good;
}

static bool join(struct answer a[2])
{
	struct ask ask = { .verb = VERB_TICKET };

	tell(0, &ask);
	if (!hear(0, &a[0]) || !a[0].ok) {
		return false;
	}
	ask.verb = VERB_JOIN;
	memcpy(ask.ticket, a[0].ticket, sizeof(ask.ticket));
	for (int rank = 0; rank < 2; rank++) {
		ask.lead = rank == 0;
		ask.peer = !rank;
		tell(rank, &ask);
	}
	return hear_both(a) && a[0].ok && a[1].ok;
}

static void leave(void)
{
	struct ask ask = { .verb = VERB_CLOSE };
	struct answer a;

	tell(0, &ask);
	tell(1, &ask);
	for (int rank = 0; rank < 2; rank++) {
		if (hear(rank, &a)) {
			printf("# rank %d close: %.3f s\n", rank, a.seconds);
		}
	}
}

static void tell_run(int rank, int sender, struct xport_cell cell,
		     enum xport_drill drill)
{
	struct ask ask = { .verb = VERB_RUN, .cell = cell };

	ask.cell.sender = rank == sender;
	ask.cell.drill = drill;
	tell(rank, &ask);
}

static void show(const char *what, int rank, const struct answer *a)
{
	printf("# %s rank %d: %s %s %s (%.3f s)\n", what, rank,
	       outcome_name(a->r.outcome), a->r.code, a->r.detail, a->seconds);
}

static const struct xport_cell plain = {
	.size_bytes = 64 << 20, .warmup = 2, .check = true, .latency = true,
	.pattern_seed = 7, .slow_factor = 1,
};

/* A fault-free exchange both ways; what it costs in all. */
static bool healthy(const char *after)
{
	int64_t start = clock_now_ns();
	struct answer a[2];
	bool good = join(a);

	show("join", 0, &a[0]);
	show("join", 1, &a[1]);
	for (int sender = 0; good && sender < 2; sender++) {
		tell_run(0, sender, plain, XPORT_DRILL_NONE);
		tell_run(1, sender, plain, XPORT_DRILL_NONE);
		good = hear_both(a) &&
		       a[0].r.outcome == OUTCOME_OK &&
		       a[1].r.outcome == OUTCOME_OK &&
		       a[!sender].r.wrong == 0;
		printf("# %d -> %d: %.1f GB/s (%.1f .. %.1f), %lld "
		       "iterations, %.2f us, p99 %.2f us, %.3f s\n", sender,
		       !sender, a[sender].r.bw_GB_s, a[sender].r.bw_min_GB_s,
		       a[sender].r.bw_max_GB_s, (long long)a[sender].r.iters,
		       a[sender].r.lat_us, a[sender].r.lat_p99_us,
		       a[sender].seconds);
	}
	leave();
	printf("# pair in all: %.2f s\n", since(start));
	return ok(good, "a healthy pair after %s", after);
}

static void test_sizes(void)
{
	static const uint64_t sizes[] = { 1, 8, 13, 4096, 65537, 1 << 20,
					  16 << 20, 64 << 20, 256 << 20 };
	struct answer a[2];
	bool good = join(a), both_agree = true;

	for (size_t i = 0; good && i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct xport_cell cell = plain;
		char text[32];

		cell.size_bytes = sizes[i];
		cell.latency = false;
		for (int sender = 0; good && sender < 2; sender++) {
			tell_run(0, sender, cell, XPORT_DRILL_NONE);
			tell_run(1, sender, cell, XPORT_DRILL_NONE);
			good = hear_both(a) &&
			       a[0].r.outcome == OUTCOME_OK &&
			       a[1].r.outcome == OUTCOME_OK;
			both_agree = both_agree &&
				     a[0].r.bw_GB_s == a[1].r.bw_GB_s &&
				     a[0].r.iters == a[1].r.iters;
			printf("# %s %d -> %d: %.3f GB/s (%.3f .. %.3f) %lld "
			       "iterations %.3f s %s %s\n",
			       units_size_text(sizes[i], text, sizeof(text)),
			       sender, !sender, a[0].r.bw_GB_s,
			       a[0].r.bw_min_GB_s, a[0].r.bw_max_GB_s,
			       (long long)a[0].r.iters, a[0].seconds,
			       a[0].r.detail, a[1].r.detail);
		}
	}
	leave();
	ok(good, "every size, both ways, data right");
	ok(both_agree, "both ends report the same numbers");
}

static void test_drill(const char *name, enum xport_drill drill,
		       enum outcome sender_outcome,
		       enum outcome receiver_outcome)
{
	struct xport_cell cell = plain;
	struct answer a[2] = { 0 };
	bool good = join(a);

	if (good) {
		tell_run(0, 0, cell, XPORT_DRILL_NONE);
		tell_run(1, 0, cell, drill);
		good = hear_both(a) &&
		       a[0].r.outcome == sender_outcome &&
		       a[1].r.outcome == receiver_outcome;
	}
	show(name, 0, &a[0]);
	show(name, 1, &a[1]);
	leave();
	ok(good, "drill: %s", name);
}

static void test_slow(void)
{
	struct xport_cell cell = plain, slow = plain;
	struct answer a[2], b[2];
	bool good = join(a);
	double ratio = 0;

	slow.slow_factor = 0.25;
	/* of two single measurements one may be held up by this machine */
	for (int i = 0; i < 3 && good && !(ratio > 0.2 && ratio < 0.3); i++) {
		tell_run(0, 0, cell, XPORT_DRILL_NONE);
		tell_run(1, 0, cell, XPORT_DRILL_NONE);
		good = hear_both(a);
		tell_run(0, 0, slow, XPORT_DRILL_NONE);
		tell_run(1, 0, cell, XPORT_DRILL_NONE);
		good = hear_both(b) && good;
		ratio = b[0].r.bw_GB_s / a[0].r.bw_GB_s;
	}
	leave();
	ok(good && ratio > 0.2 && ratio < 0.3,
	   "drill: a quarter of the speed measures as %.3f of it", ratio);
}

/* Rank 1 is hit by signal @sig in the middle of a long transfer. */
static void test_signal(int sig, const char *name)
{
	struct xport_cell cell = plain;
	struct answer a[2] = { 0 };
	bool good = join(a);

	cell.iters = 8000;	/* a second or more */
	cell.size_bytes = 256 << 20;
	if (good) {
		tell_run(0, 0, cell, XPORT_DRILL_NONE);
		tell_run(1, 0, cell, XPORT_DRILL_NONE);
		usleep(200000);
		kill(slots[1].pid, sig);
		good = hear(0, &a[0]) && !a[0].ok &&
		       a[0].r.outcome != OUTCOME_OK;
	}
	show(name, 0, &a[0]);
	ok(good, "the other end is %s in a transfer", name);
	slot_stop(1);
	slot_start(1);
	slots_ready(1u << 1);
	tell(0, &(struct ask){ .verb = VERB_CLOSE });
	hear(0, &a[0]);
}

static void test_never_joins(void)
{
	struct ask ask = { .verb = VERB_TICKET };
	struct answer a;
	bool good;

	tell(0, &ask);
	good = hear(0, &a) && a.ok;
	ask.verb = VERB_JOIN;
	ask.lead = true;
	ask.peer = 1;
	memcpy(ask.ticket, a.ticket, sizeof(ask.ticket));
	if (good) {
		tell(0, &ask);
		good = hear(0, &a) && !a.ok &&
		       a.r.outcome == OUTCOME_TIMEOUT;
	}
	show("alone", 0, &a);
	ok(good, "the other end never joins");
}

static void test_wrong_interface(void)
{
	struct ask ask = { .verb = VERB_TICKET };
	struct answer a;
	bool refused;

	tell(0, &ask);
	refused = hear(0, &a) && !a.ok;
	printf("# %s\n", a.text);
	ok(refused && strstr(a.text, "NCCL: ") != NULL,
	   "a wrong NCCL_SOCKET_IFNAME is refused in NCCL's words");
}

static void test_cancel(void)
{
	struct answer a[2] = { 0 };
	bool good = join(a);

	if (good) {
		tell_run(0, 0, plain, XPORT_DRILL_NONE);
		usleep(300000);
		slots[0].worker->cancelled = true;
		good = hear(0, &a[0]) && a[0].r.echo && a[0].seconds < 2;
		slots[0].worker->cancelled = false;
	}
	show("cancel", 0, &a[0]);
	leave();
	ok(good, "a task that is cancelled ends at once, as an echo");
}

static size_t shm_files(void)
{
	glob_t found = { 0 };
	size_t n = glob("/dev/shm/nccl-*", 0, NULL, &found) == 0 ?
			   found.gl_pathc :
			   0;

	globfree(&found);
	return n;
}

static void restart_both(void)
{
	slot_stop(0);
	slot_stop(1);
	slot_start(0);
	slot_start(1);
	slots_ready(3);
}

int main(int argc, char **argv)
{
	struct gpu_list list;
	int gpus;
	size_t shm = shm_files();
	bool quick = argc > 1 && strcmp(argv[argc - 1], "quick") == 0;

	gpu_list_read_proc(&list, "");
	gpu_list_apply_visible(&list, getenv("CUDA_VISIBLE_DEVICES"));
	gpus = (int)gpu_list_visible(&list);
	pretend = gpus < 2 || (argc > 1 && strcmp(argv[1], "pretend") == 0);
	if (gpus == 0) {
		printf("1..0 # SKIP no GPU on this machine\n");
		return 0;
	}
	printf("# %d GPUs, %s\n", gpus,
	       pretend ? "two pretend nodes" : "two ranks of one node");
	signal(SIGPIPE, SIG_IGN);
	slot_start(0);
	slot_start(1);
	if (ok(slots_ready(3), "both ends open") && healthy("a start") &&
	    healthy("a pair") && !quick) {
		test_sizes();
		test_slow();
		test_drill("corrupt", XPORT_DRILL_CORRUPT, OUTCOME_OK,
			   OUTCOME_CORRUPT);
		healthy("a corrupt one");
		test_drill("stay away", XPORT_DRILL_STAY_AWAY,
			   OUTCOME_TIMEOUT, OUTCOME_TIMEOUT);
		test_drill("hang", XPORT_DRILL_HANG, OUTCOME_TIMEOUT,
			   OUTCOME_TIMEOUT);
		healthy("a hang");
		test_cancel();
		test_never_joins();
		healthy("one that never joined");
		test_signal(SIGKILL, "killed");
		healthy("a kill");
		test_signal(SIGSTOP, "stopped");
		healthy("a stop");
		setenv("NCCL_SOCKET_IFNAME", "nosuch9", 1);
		restart_both();
		unsetenv("NCCL_SOCKET_IFNAME");
		test_wrong_interface();
		restart_both();
		healthy("a wrong interface name");
	}
	slot_stop(0);
	slot_stop(1);
	if (!quick) {
		ok(shm_files() <= shm, "no /dev/shm/nccl-* file is left");
	}
	printf("1..%d\n", tests);
	return failures != 0;
}
