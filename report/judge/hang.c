/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of hang: the rank that a hung job is waiting for. */
#include "report/judge/hang.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/judge/pairs.h"

/* ---- hang far ------------------------------------------------------------ */

/*
 * Finds processes that NCCL misses on another node than the one that asked
 * NCCL: the latter knows their address, and the other node what it has found.
 */

void hang_find_far(const struct run *run, struct hang_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct hang_row *r = &rows->list[i];
		const size_t len = strlen(r->node);
		const char *node = NULL;
		bool lost = true;	/* the node answered without it */

		/* "10.0.0.2/24, mtu 9000" is a fact of the node */
		for (size_t k = 0; k < run->n_facts && !r->state[0] && !node;
		     k++) {
			const struct fact_row *f = &run->facts[k];

			if (strcmp(f->fact, "address") == 0 &&
			    strncmp(f->value, r->node, len) == 0 &&
			    strchr("/, ", f->value[len])) {
				node = f->node;
			}
		}
		for (size_t k = 0; node && k < rows->n_silent; k++) {
			lost = lost && strcmp(rows->silent[k].node, node) != 0;
		}
		for (size_t k = 0; node && k < rows->n; k++) {
			const struct hang_row *t = &rows->list[k];

			lost = lost && !(t->state[0] && t->pid == r->pid &&
					 strcmp(t->node, node) == 0);
		}
		if (node && lost) {
			STR_COPY(r->node, node);
			STR_COPY(r->state, HANG_GONE);
		}
	}
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->list[i].state[0]) {
			rows->list[n++] = rows->list[i];
		}
	}
	rows->n = n;
}

/* ---- hang ---------------------------------------------------------------- */

#define EVIDENCE_MAX 8
/** Share of one core: a process that uses less sleeps, one that uses more spins
 *  or computes.  Ranks that wait in NCCL use 1.5 cores, ranks that sleep before
 *  a collective 0.01. */
#define IDLE_CPU 0.1
#define SPIN_CPU 0.8
/** Times that the main thread of a process slept meanwhile: one that polls
 *  sleeps more often. */
#define POLL_SWITCHES 4
/** Pages read back while watched: a process that waits for its memory. */
#define SWAP_FAULTS 20
/** Maximum collectives that a slow rank begins while it is watched: in a job of
 *  many small ones a late rank cannot be told. */
#define SLOW_STEPS 8

/* ---- states of a process ------------------------------------------------- */

static bool is_gone(const struct hang_row *r)
{
	return strcmp(r->state, HANG_GONE) == 0 || strcmp(r->state, "Z") == 0;
}

static bool is_stopped(const struct hang_row *r)
{
	return strcmp(r->state, "T") == 0 || strcmp(r->state, "t") == 0;
}

/** Returns true if the process does nothing.  A process that is ready to run
 *  but gets no CPU is not idle. */
static bool is_idle(const struct hang_row *r)
{
	return r->cpu < IDLE_CPU && strcmp(r->state, "R") != 0;
}

/** Its main thread in one sleep all the time, which no signal ends.  One that
 *  reads is in that state often, and leaves it each time. */
static bool is_stuck(const struct hang_row *r)
{
	return r->stuck_tid == r->pid;
}

static bool has_stuck_thread(const struct hang_row *r)
{
	return r->stuck_tid != RECORD_NONE;
}

/** Returns true if the process works on a GPU that is throttled by heat or
 *  power. */
static bool is_throttled(const struct hang_row *r)
{
	return r->gpu_throttled[0] && !hang_gpu_rests(r);
}

/** Returns true if the main thread is where a thread waits for another thread,
 *  a socket or a poll: the places of a rank that waits for other ranks. */
static bool is_in_wait(const struct hang_row *r)
{
	static const char *const places[] = {
		"futex_", "do_futex", "ep_poll", "do_epoll", "poll_", "do_poll",
		"do_sys_poll", "do_select", "wait_woken", "sk_", "tcp_",
		"inet_", "unix_", "__skb", "skb_", "sock_",
	};
	bool in = false;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		in = in || str_starts(r->waits_in, places[i]);
	}
	return in && is_idle(r);
}

/** Returns true if the process sleeps for a reason of its own, all the time: a
 *  loop that polls wakes up more often. */
static bool is_asleep(const struct hang_row *r)
{
	return is_idle(r) && r->waits_in[0] && !is_in_wait(r) &&
	       !(r->switches > POLL_SWITCHES);
}

static bool is_swapped(const struct hang_row *r)
{
	return r->swapped_B > 0 && r->faults >= SWAP_FAULTS &&
	       r->cpu < SPIN_CPU;
}

static bool has_dead_child(const struct hang_row *r)
{
	return strchr(r->children, 'Z') && is_idle(r);
}

static bool waits_for_file(const struct hang_row *r)
{
	static const char *const places[] = {
		"pipe_", "anon_pipe", "fifo_", "wait_for_partner", "folio_wait",
		"wait_on_page", "rpc_", "nfs", "cl_", "ldlm", "fuse_",
	};
	bool waits = strcmp(r->state, "D") == 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		waits = waits || str_starts(r->waits_in, places[i]);
	}
	return waits && is_idle(r);
}

#define THREAD "has a thread in uninterruptible sleep in the kernel"

/** The first that holds says why a rank keeps the others waiting. */
static const struct hang_cause {
	bool (*holds)(const struct hang_row *r);	/* NULL: always */
	bool hard;		/* by itself, whatever others do, ... */
	bool still;		/* ... unless the job makes progress */
	const char *code, *says;
} causes[] = {
	{ .holds = is_gone, .hard = true, .still = true, .code = "rank_gone",
	  .says = "has exited, and the others wait for it" },
	{ .holds = is_stopped, .hard = true, .code = "rank_stopped",
	  .says = "is stopped by a signal or a debugger" },
	{ .holds = is_stuck, .hard = true, .still = true, .code = "rank_stuck",
	  .says = "is in uninterruptible sleep in the kernel" },
	{ .holds = is_swapped, .code = "rank_swapped",
	  .says = "waits for its memory to be swapped in" },
	{ .holds = has_stuck_thread, .code = "rank_stuck", .says = THREAD },
	{ .holds = has_dead_child, .code = "rank_child_dead",
	  .says = "waits for a child process that has exited" },
	{ .holds = waits_for_file, .code = "rank_waits_file",
	  .says = "waits for a file or a pipe" },
	{ .holds = is_throttled, .code = "rank_throttled",
	  .says = "is busy on a GPU with low clocks" },
	{ .holds = is_idle, .code = "rank_asleep",
	  .says = "is idle in the program's own code" },
	{ .code = "rank_computes",
	  .says = "is still busy in the program's own code" },
};

static const struct hang_cause *cause_of(const struct hang_row *r)
{
	const struct hang_cause *c = causes;

	while (c->holds && !c->holds(r)) {
		c++;
	}
	return c;
}

/* ---- findings ------------------------------------------------------------ */

static void add_evidence(const struct hang_row *r, struct finding *f)
{
	char calls[160] = "", cpu[32] = "", gpu[80] = "", wide[32] = "";
	char clock[80] = "", stuck[300] = "", rest[320] = "";

	if (r->comm[0]) {
		snprintf(calls, sizeof(calls), ": %s",
			 !hang_is_told(r)	     ? "no answer from NCCL" :
			 r->calls_later[0] ? r->calls_later :
					     "no collective started");
	}
	if (!isnan(r->cpu)) {
		snprintf(cpu, sizeof(cpu), ", %.2f cores", r->cpu);
	}
	if (r->gpu != RECORD_NONE && !isnan(r->gpu_power_W)) {
		snprintf(gpu, sizeof(gpu), ", GPU %" PRId64 ": %.0f %%, %.0f W",
			 r->gpu, r->gpu_busy_pct, r->gpu_power_W);
	}
	if (!isnan(r->gpu_sm_pct)) {
		snprintf(wide, sizeof(wide), ", %.1f %% of its SMs",
			 r->gpu_sm_pct);
	}
	if (r->gpu_throttled[0]) {
		snprintf(clock, sizeof(clock), ", at %.0f MHz (%s)",
			 r->gpu_clock_MHz, r->gpu_throttled);
	}
	if (r->stuck_tid != RECORD_NONE) {
		snprintf(stuck, sizeof(stuck), ", stuck: %s%s%.160s",
			 r->stuck_in, r->kernel_stack[0] ? " < " : "",
			 r->kernel_stack);
	}
	if (!r->comm[0] && r->threads[0]) {
		snprintf(rest, sizeof(rest), "; threads: %s", r->threads);
	}
	if (r->unread_B > 0 || r->unsent_B > 0) {
		const size_t len = strlen(rest);

		snprintf(rest + len, sizeof(rest) - len, "; sockets: %" PRId64
			 " B unread, %" PRId64 " B unsent", r->unread_B,
			 r->unsent_B);
	}
	if (!r->comm[0] && r->store[0]) {
		const size_t len = strlen(rest);

		snprintf(rest + len, sizeof(rest) - len, "; store %s",
			 r->store);
	}
	finding_add_evidence(f, "rank %" PRId64 "%s, state %s%s%s%s%s%s%s%s%s%s"
			     "%s",
			     r->rank, calls, r->state,
			     r->waits_in[0] ? " in " : "", r->waits_in, stuck,
			     cpu, gpu, wide, clock,
			     r->stack[0] ? ", in " : "", r->stack, rest);
}

static struct finding *name_rank(struct hang *h, struct seat *s,
				 const char *code, const char *says)
{
	const struct hang_row *r = s->row;
	struct part p = part_at(PART_PROCESS,
				run_find_node(h->run, r->node, -1),
				(int)r->rank);
	const char *host = hang_host_cause(h, r, &says);
	struct finding *f;
	size_t shown = 1;

	p.peer_index = (int)r->pid;
	f = finding_add(h->v, p, host ? host : code);
	f->fail = true;
	f->cells = f->explained = 1;
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *t = &h->seats[i];

		t->named = t->named || t->process == s->process;
	}
	finding_say(f, "Rank %" PRId64 " on %s (%s%spid %" PRId64 ") %s",
		    r->rank, r->node, r->command, r->command[0] ? ", " : "",
		    r->pid, says);
	add_evidence(r, f);
	hang_host_evidence(h, r, f);
	for (size_t i = 0; i < h->rows->n && shown < EVIDENCE_MAX; i++) {
		const struct seat *t = &h->seats[i];

		if (t->process != s->process && t->comm == s->comm) {
			add_evidence(t->row, f);
			shown++;
		}
	}
	return f;
}

/** Names the ranks whose own state is a cause, without comparing ranks.
 *  Returns how many. */
static size_t name_hard(struct hang *h)
{
	bool on = hang_goes_on(h->rows);
	size_t n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_cause *c = cause_of(h->seats[i].row);

		if (c->hard && !h->seats[i].named && !(c->still && on)) {
			name_rank(h, &h->seats[i], c->code, c->says);
			n++;
		}
	}
	return n;
}

static size_t name_behind(struct hang *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i], *process = &h->seats[s->process];

		if (s->named) {
			continue;
		}
		/* A rank that makes progress in another communicator will come,
		 * and so will one that no rank waits for yet: their GPUs are
		 * busy. */
		if (s->odd) {
			name_rank(h, s, "rank_other_call",
			     "has started a different collective than the "
			     "others");
			n++;
		} else if (s->behind && !process->victim && !process->moves &&
			   h->comms[s->comm].wait > 0) {
			const struct hang_cause *c = cause_of(s->row);
			char says[200];

			snprintf(says, sizeof(says),
				 "has not entered the "
				 "collective in which the others wait: it %s",
				 c->says);
			name_rank(h, s, c->code, says);
			n++;
		}
	}
	return n;
}

static bool is_pair(const struct hang *h, const struct comm *c)
{
	bool pair = h->seats[c->seats[0]].row->comm_size == 2;

	for (size_t i = 0; i < c->n; i++) {
		pair = pair && h->seats[c->seats[i]].total == 0;
	}
	return pair;
}

/** Returns true if no count of NCCL tells the ranks apart: there are none, or
 *  all agree and ranks send and receive in communicators of two, which NCCL
 *  does not count. */
static bool is_uncounted(const struct hang *h)
{
	bool counts = false, pairs = false;

	for (size_t i = 0; i < h->n_comms; i++) {
		const struct comm *c = &h->comms[i];

		if (c->goes_on || c->behind > 0) {
			return false;
		}
		for (size_t k = 0; k < c->n; k++) {
			counts = counts || h->seats[c->seats[k]].total > 0;
		}
		pairs = pairs || is_pair(h, c);
	}
	return !counts || pairs;
}

/** Returns false if all ranks are idle with which process @p exchanges data: no
 *  rank waits for it.  Communicators of two are the links of that graph. */
static bool is_awaited(const struct hang *h, size_t p)
{
	bool linked = false, awaited = false;

	for (size_t i = 0; i < h->n_comms; i++) {
		const struct comm *c = &h->comms[i];
		const struct seat *a, *b;

		if (c->n != 2 || !is_pair(h, c)) {
			continue;
		}
		a = &h->seats[c->seats[0]];
		b = &h->seats[c->seats[1]];
		if (a->process == p || b->process == p) {
			linked = true;
			awaited = awaited ||
				  !is_idle(a->process == p ? b->row : a->row);
		}
	}
	return awaited || !linked;
}

/** Returns true if the process may wait in NCCL: it spins, and its GPU does not
 *  compute. */
static bool is_spinning(const struct hang_row *r)
{
	return (r->cpu >= SPIN_CPU || strcmp(r->state, "R") == 0) &&
	       !hang_gpu_rests(r) && !hang_computes(r);
}

/** If NCCL has no counts: names the idle ranks at the end of each chain, and
 *  those that sleep for a reason of their own, if all others spin for a GPU
 *  that may run an NCCL kernel.  Those are the majority, or all idle ranks
 *  sleep. */
static size_t name_idle(struct hang *h)
{
	size_t all = 0, idle = 0, asleep = 0, spin = 0, n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_row *r = &h->rows->list[i];

		if (h->seats[i].process == i) {
			all++;
			idle += is_idle(r);
			asleep += is_asleep(r);
			spin += is_spinning(r);
		}
	}
	if (idle + spin < all || spin < 2 - (idle < spin) ||
	    (idle >= spin && asleep < idle) || !is_uncounted(h) ||
	    hang_goes_on(h->rows)) {
		return 0;
	}
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];

		/* a rank that no rank waits for yet will be waited for */
		if (s->process == i && is_idle(s->row) &&
		    (is_awaited(h, i) || is_asleep(s->row))) {
			const struct hang_cause *c = cause_of(s->row);
			char says[200];

			snprintf(says, sizeof(says), "%s, while the others "
				 "busy-wait", c->says);
			name_rank(h, s, c->code, says);
			n++;
		}
	}
	return n;
}

/** Return true if the rank computes, on no GPU. */
static bool is_busy(const struct hang_row *r)
{
	return (r->cpu >= SPIN_CPU ||
		(strcmp(r->state, "R") == 0 && r->cpu >= IDLE_CPU &&
		 r->switches <= POLL_SWITCHES)) &&
	       r->gpu == RECORD_NONE && r->comm[0] == '\0';
}

/** If few ranks spin, as with Gloo or MPI, or while communicators are set up:
 *  names the few ranks that sleep for a reason of their own or leave data
 *  unread, while most wait for a thread or a socket; or the only one that
 *  computes, on no GPU. */
static size_t name_sleeper(struct hang *h)
{
	size_t all = 0, wait = 0, asleep = 0, deaf = 0, busy = 0, n = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_row *r = h->seats[i].row;

		if (h->seats[i].process == i) {
			all++;
			wait += is_in_wait(r) ||
				((r->comm[0] || r->gpu != RECORD_NONE) &&
				 is_spinning(r));
			asleep += is_asleep(r);
			deaf += is_idle(r) && r->unread_B > 0;
			busy += is_busy(r);
		}
	}
	deaf = asleep == 0 && busy == 0 && wait == all && deaf == 1;
	busy = asleep == 0 && busy == 1 && wait == all - 1;
	if (all < 2 || (asleep == 0 && !deaf && !busy) ||
	    (!deaf && (wait < all - wait || wait < 2)) || !is_uncounted(h) ||
	    (asleep > 0 && wait + asleep < all) || hang_goes_on(h->rows)) {
		return 0;
	}
	for (size_t i = 0; i < h->rows->n; i++) {
		struct seat *s = &h->seats[i];
		const struct hang_cause *c = cause_of(s->row);
		char says[200];

		if (s->process != i ||
		    !(deaf ? s->row->unread_B > 0 :
		      busy ? is_busy(s->row) : is_asleep(s->row))) {
			continue;
		}
		snprintf(says, sizeof(says), "%s%s, while the others wait for "
			 "data", c->says, deaf ? " with data unread" : "");
		name_rank(h, s, c->code, says);
		n++;
	}
	return n;
}

/** If all ranks have begun the same collectives: names a rank whose NCCL thread
 *  may be stuck.  If most ranks have such a thread it has another purpose. */
static size_t name_thread(struct hang *h)
{
	size_t n = 0, stuck = 0, all = 0;

	for (size_t i = 0; i < h->rows->n; i++) {
		all += h->seats[i].process == i;
		stuck += h->seats[i].process == i &&
			 has_stuck_thread(h->seats[i].row);
	}
	if (stuck == 0 || stuck * 2 >= all || !hang_all_wait(h)) {
		return 0;
	}
	for (size_t i = 0; i < h->rows->n; i++) {
		if (!h->seats[i].named && has_stuck_thread(h->seats[i].row)) {
			name_rank(h, &h->seats[i], "rank_stuck", THREAD);
			n++;
		}
	}
	return n;
}

/** Warns of a rank that makes progress, but is the last one each time; and of
 *  throttled GPUs whose ranks hold up the others, unless all are throttled. */
static void warn_slow(struct hang *h)
{
	size_t all = 0, slow = 0;

	for (size_t i = 0; i < h->n_comms && hang_goes_on(h->rows); i++) {
		const struct comm *c = &h->comms[i];
		struct seat *last = NULL;
		size_t late = 0;

		for (size_t k = 0; k < c->n; k++) {
			struct seat *s = &h->seats[c->seats[k]];

			late += s->row->behind != 0;
			last = s->row->behind == HANG_LOOKS ? s : last;
		}
		/* of those that wait it would be one itself */
		if (last && late == 1 && c->wait > !hang_computes(last->row) &&
		    last->total - last->total_then <= SLOW_STEPS) {
			name_rank(h, last, is_throttled(last->row) ?
					  "rank_throttled" : "rank_slow",
				  "makes progress, but the others wait for it "
				  "in every step")->fail = false;
		}
	}
	for (size_t i = 0; i < h->rows->n; i++) {
		all += h->seats[i].process == i;
		slow += h->seats[i].process == i &&
			is_throttled(h->seats[i].row);
	}
	for (size_t i = 0; i < h->rows->n && slow < all; i++) {
		if (!h->seats[i].named && is_throttled(h->seats[i].row)) {
			name_rank(h, &h->seats[i], "rank_throttled", "is on a "
				  "GPU with low clocks, and the others are "
				  "just as slow")->fail = false;
		}
	}
}

/** Adds to the finding of the first of several ranks that were named for the
 *  same reason, in the same place, which ones these are. */
static void say_group(struct hang *h)
{
	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_row *r = h->seats[i].row;
		const struct hang_cause *c = cause_of(r);
		struct str ranks = STR_INIT;
		size_t n = 0, first = h->rows->n;

		for (size_t k = 0; k < h->rows->n && r->waits_in[0]; k++) {
			const struct seat *s = &h->seats[k];

			if (s->named && s->process == k &&
			    cause_of(s->row) == c &&
			    strcmp(s->row->waits_in, r->waits_in) == 0) {
				first = n == 0 ? k : first;
				str_add_number(&ranks, &n, EVIDENCE_MAX,
					       s->row->rank);
			}
		}
		for (size_t k = 0; k < h->v->n && first == i && n > 1; k++) {
			struct finding *f = &h->v->findings[k];

			if (f->part.kind == PART_PROCESS &&
			    f->part.index == (int)r->rank) {
				finding_more(f, " (a group in %s: ranks %s)",
					     r->waits_in, str_text(&ranks));
			}
		}
		str_release(&ranks);
	}
}

/** Ranks of which no process was found although others of their node say that
 *  they run there. */
static bool say_missing(struct hang *h)
{
	struct str ranks = STR_INIT;
	struct finding *f;
	size_t n = 0;

	for (size_t i = 0; i < h->rows->n && !hang_is_heard(h->rows); i++) {
		const struct hang_row *r = h->seats[i].row;
		const int64_t local = r->local_ranks;
		int64_t first = local > 0 ? r->rank - r->rank % local : 0;
		bool lowest = local > 0 && r->rank >= 0;

		for (size_t k = 0; k < h->rows->n; k++) {
			int64_t rank = h->rows->list[k].rank;

			lowest = lowest && (rank < first || rank > r->rank ||
					    (rank == r->rank && k >= i));
		}
		/* ranks of a node are numbered in a row */
		for (int64_t at = first; lowest && at < first + local; at++) {
			size_t k = 0;

			while (k < h->rows->n && h->rows->list[k].rank != at) {
				k++;
			}
			if (k == h->rows->n) {
				str_add_number(&ranks, &n, EVIDENCE_MAX, at);
			}
		}
	}
	if (n > 0) {
		f = finding_add(h->v, part_of_kind(PART_CONFIG),
				"hang_missing");
		finding_say(f, "No process that uses NCCL, CUDA, PyTorch or "
			    "MPI was found for %zu of the ranks on these "
			    "nodes, and the others wait: rank %s", n,
			    str_text(&ranks));
	}
	str_release(&ranks);
	return n > 0;
}

/** All ranks wait for an answer on a socket, and have a rendezvous store. */
static bool say_store(struct hang *h, size_t n)
{
	static const char *const places[] = {
		"wait_woken", "sk_", "tcp_", "inet_", "__skb", "skb_",
	};
	const char *store = NULL;
	struct finding *f;

	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_row *r = h->seats[i].row;
		bool reads = false;

		for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++) {
			reads = reads || str_starts(r->waits_in, places[k]);
		}
		if (!reads || !is_idle(r) || !r->store[0] || r->comm[0]) {
			return false;
		}
		store = r->store;
	}
	if (store) {
		f = finding_add(h->v, part_of_kind(PART_CONFIG), "hang_store");
		finding_say(f, "All %zu ranks wait for an answer on a socket, "
			    "as from the rendezvous store %s", n, store);
	}
	return store;
}

/** Ranks that only send and receive, none of which is idle. */
static bool say_cycle(struct hang *h)
{
	struct str ranks = STR_INIT;
	struct finding *f;
	bool wait = is_uncounted(h) && hang_gpus_between(h, HANG_BUSY_PCT, 100);
	size_t n = 0;

	for (size_t i = 0; i < h->n_comms; i++) {
		const struct comm *c = &h->comms[i];

		for (size_t k = 0; k < c->n && is_pair(h, c); k++) {
			const struct seat *s = &h->seats[c->seats[k]];

			h->seats[s->process].pair = true;
		}
	}
	for (size_t i = 0; i < h->rows->n; i++) {
		const struct seat *s = &h->seats[i];

		wait = wait && !is_idle(s->row) && !hang_computes(s->row);
		if (s->pair) {
			str_add_number(&ranks, &n, EVIDENCE_MAX, s->row->rank);
		}
	}
	if (wait && n > 1) {
		f = finding_add(h->v, part_of_kind(PART_CONFIG), "hang_cycle");
		finding_say(f, "Ranks %s wait for each other in send or "
			    "receive: none of them is idle, and none has "
			    "started a collective meanwhile",
			    str_text(&ranks));
	}
	str_release(&ranks);
	return wait && n > 1;
}

/** Reports that all ranks have begun @all ("": nothing), and their GPUs work,
 *  or @rest. */
static void say_alike(struct hang *h, size_t n, const char *all, bool rest)
{
	struct finding *f = finding_add(h->v, part_of_kind(PART_CONFIG),
					rest ? "hang_between" :
					       "hang_same_call");
	const char *moved = rest ? "" : hang_moved_text(h, f);

	if (rest && !all[0]) {
		finding_say(f, "None of the %zu ranks has started a "
			    "collective: their GPUs are idle, and the program "
			    "does something else", n);
	} else if (rest) {
		finding_say(f, "All %zu ranks have finished %s and started no "
			    "further collective: their GPUs are idle, and the "
			    "program does something else", n, all);
	} else {
		finding_say(f, "All %zu ranks %s%s%s: sizes differ, the "
			    "network is stalled, or a GPU runs a long "
			    "computation%s", n, all[0] ? "are in " : "",
			    all[0] ? all : "have work on their GPUs that NCCL "
					   "does not count",
			    all[0] ? " with equal counts, and it does not "
				     "finish" : "", moved);
	}
}

/** Reports what is left to say when no rank is named. */
static void say_undecided(struct hang *h)
{
	const char *all = h->rows->n > 0 ? h->rows->list[0].calls_later : NULL;
	size_t n = 0;
	struct finding *f;
	bool rest;

	/* @all: the collectives that all ranks of all communicators have begun,
	 * if they agree */
	for (size_t i = 0; i < h->rows->n; i++) {
		const struct hang_row *r = &h->rows->list[i];

		all = all && hang_is_told(r) &&
				      strcmp(r->calls_later, all) == 0 ? all :
									 NULL;
		n += h->seats[i].process == i;
	}
	rest = all && hang_gpus_between(h, 0, HANG_REST_PCT);
	if (say_cycle(h) || say_missing(h) || say_store(h, n)) {
		/* it says all */
	} else if (rest || (all && hang_gpus_between(h, HANG_BUSY_PCT, 100))) {
		say_alike(h, n, all, rest);
	} else {
		f = finding_add(h->v, part_of_kind(PART_CONFIG),
				"hang_undecided");
		finding_say(f, hang_is_heard(h->rows) ?
			    "No rank is making progress, and the evidence "
			    "does not show which rank the %zu process%s wait "
			    "for" :
			    "NCCL does not report whether the job makes "
			    "progress, and no evidence from its %zu process%s "
			    "singles out a rank", n, n == 1 ? "" : "es");
	}
	f = &h->v->findings[h->v->n - 1];
	for (size_t i = 0, k = 0; i < h->rows->n && k < EVIDENCE_MAX; i++) {
		if (h->seats[i].process == i) {
			add_evidence(&h->rows->list[i], f);
			k++;
		}
	}
}

/* ---- judge --------------------------------------------------------------- */

/** Names the rank whose GPU does something else than those of all others. */
static size_t name_gpu(struct hang *h)
{
	const char *code, *says;
	struct seat *s = hang_odd_gpu(h, &code, &says);

	if (s) {
		name_rank(h, s, is_throttled(s->row) ? "rank_throttled" : code,
			  says);
	}
	return s ? 1 : 0;
}

/** The most certain step first: only its ranks are named. */
static size_t (*const steps[])(struct hang *h) = {
	name_hard, name_behind, name_idle, name_sleeper, name_thread,
	hang_host_findings, name_gpu,
};

int hang_judge(const struct run *run, const struct hang_rows *rows,
	       struct verdict *v)
{
	struct hang h = { .run = run, .rows = rows, .v = v };
	bool on = hang_goes_on(rows), over = true;
	size_t named = 0;

	*v = (struct verdict){ 0 };
	if (!hang_seats_make(&h)) {
		hang_seats_free(&h);
		return -1;
	}
	pairs_find(run, v);
	for (size_t i = 0; i < rows->n_silent; i++) {
		const struct hang_row *r = &rows->silent[i];

		silent_finding(run, r->node, r->code, r->outcome, r->detail, v);
	}
	for (size_t i = 0; i < rows->n; i++) {
		over = over && is_gone(&rows->list[i]);
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) &&
	     named == 0 && !over; i++) {
		named = steps[i](&h);
	}
	for (size_t i = 0; i < rows->n; i++) {
		const struct seat *s = &h.seats[i];

		if (s->process == i) {
			v->cells[s->named && named > 0 ? CELL_FAIL :
				 named > 0 || on ? CELL_PASS :
						   CELL_NOT_RUN]++;
		}
	}
	if (named == 0) {
		warn_slow(&h);
	} else if (named > 1) {
		say_group(&h);
	}
	if (over && v->n == 0) {
		struct finding *f = finding_add(v, part_of_kind(PART_CONFIG),
						"hang_nothing");

		finding_say(f, "There is no process with NCCL, CUDA or PyTorch "
			    "and a rank that this user can inspect");
		if (rows->n > 0) {
			finding_say(f, "All %zu processes have exited",
				    rows->n);
		}
	} else if (named == 0 && !on && rows->n > 0) {
		say_undecided(&h);
	}
	hang_seats_free(&h);
	return verdict_close(run, v);
}
