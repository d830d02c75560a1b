/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/hang.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/net.h"
#include "lib/data/json.h"
#include "lib/data/record_hang.h"
#include "lib/spec/spec.h"
#include "probes/hang/gpu_watch.h"
#include "probes/hang/host.h"
#include "probes/hang/procs.h"
#include "probes/hang/ras.h"
#include "probes/hang/stacks.h"
#include "probes/host/sysfile.h"
#include "probes/node/child.h"

/* A rank that computes or waits for data for this long is no hang yet; one that
 * begins a step each second has begun one. */
#define WATCH_NS (2 * NS_PER_S)
/* All of it: the child is ended a second later. */
#define LOOK_NS (14 * NS_PER_S)
/* Each of the questions to RAS, which itself gives its peers 3 s, and all. */
#define ASK_NS	   (4 * NS_PER_S)
#define ASK_ALL_NS (8 * NS_PER_S)
/* NVML, behind the watch. */
#define GPU_NS (2 * NS_PER_S)

/* The journal of the kernel, where its log itself may not be read. */
#define JOURNAL_NS (2 * NS_PER_S)

/* py-spy takes a second, gdb up to four where libraries are large. */
#define STACKS_NS (4 * NS_PER_S)

/** What is looked at on a node. */
struct look {
	char node[64], root[PATH_MAX];
	char job[32];
	int64_t end_ns;
	struct procs procs;
	struct ras_answer ras[HANG_LOOKS];
	int answers;		/* that came */
	char utc[CLOCK_UTC_SIZE];
	struct gpu_use use[GPU_WATCH_MAX];
	struct stack *stacks;	/* of procs, or of the first of them; NULL */
	size_t n_stacks;
};

/** The end of a part of it that takes so long at most. */
static int64_t within_ns(const struct look *l, int64_t ns)
{
	int64_t end = clock_now_ns() + ns;

	return end < l->end_ns ? end : l->end_ns;
}

static void say_fact(const char *fact, const char *value)
{
	struct fact_row row = { .scope = "node", .source = "hang" };

	STR_COPY(row.fact, fact);
	STR_COPY(row.value, value);
	node_task_fact(&row);
}

/* ---- RAS ----------------------------------------------------------------- */

/** Where those of the job listen. */
static const char *ras_addr(const struct procs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->list[i].ras_addr[0]) {
			return p->list[i].ras_addr;
		}
	}
	return RAS_ADDR;
}

/** Is @host, an address or a name, this machine? */
static bool is_here(const char *host, char addrs[][NET_ADDR_TEXT], int n)
{
	char name[NET_HOST_SIZE] = "";
	bool here = strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;

	gethostname(name, sizeof(name) - 1);
	for (int i = 0; i < n && !here; i++) {
		here = strcmp(addrs[i], host) == 0;
	}
	return here || strcmp(host, name) == 0;
}

/** Is @pid a process of this node, and none of the job? */
static bool is_strange(const struct look *l, int64_t pid)
{
	struct proc_look now;

	for (size_t k = 0; k < l->procs.n; k++) {
		if (l->procs.list[k].pid == pid) {
			return false;
		}
	}
	return proc_look(l->root, pid, &now) == 0;
}

/** Words leave the number out where a rank is like the most: then it is the
 *  process that has this rank of as many. */
static void find_process(const struct look *l, struct ras_rank *r)
{
	for (size_t k = 0; k < l->procs.n && r->pid == 0; k++) {
		const struct proc *p = &l->procs.list[k];

		if (p->rank == r->rank && p->world == r->comm_size) {
			r->pid = p->pid;
			r->here = true;
		}
	}
}

/** Is it, by its rank, one of the job that is not there any more? */
static bool is_lost(const struct look *l, const struct ras_rank *r)
{
	bool lost = false;

	for (size_t k = 0; k < l->procs.n && r->here; k++) {
		const struct proc *p = &l->procs.list[k];

		if (p->rank == r->rank) {
			return false;
		}
		lost = lost || p->world == r->comm_size;
	}
	return lost;
}

/** Say which are on this node; and none of them where the job is another one:
 *  those of its processes that live are known. */
static void mark_own(const struct look *l, struct ras_answer *a)
{
	char addrs[NET_MAX_ADDRS][NET_ADDR_TEXT];
	int n_addrs = net_own_addrs(addrs, NET_MAX_ADDRS);
	bool ours = false, strange = false;

	for (size_t i = 0; i < a->n; i++) {
		struct ras_rank *r = &a->ranks[i];

		r->here = r->host[0] && is_here(r->host, addrs, n_addrs);
		strange = strange || (r->here && is_strange(l, r->pid));
		find_process(l, r);
		ours = ours || (a->words && is_lost(l, r));
		for (size_t k = 0; r->here && k < l->procs.n; k++) {
			ours = ours || l->procs.list[k].pid == r->pid;
		}
	}
	a->n = ours && !(a->words && strange) ? a->n : 0;
}

/** An answer counts by the processes that are here: without any nobody needs be
 *  asked. */
static bool ask_ras(const struct look *l, int64_t until_ns,
		    struct ras_answer *a)
{
	int64_t one_ns = within_ns(l, ASK_NS);
	struct str text = STR_INIT;
	struct err e = { 0 };
	bool ok = l->procs.n > 0 &&
		  ras_ask(ras_addr(&l->procs),
			  one_ns < until_ns ? one_ns : until_ns, &text, &e) ==
			  0 &&
		  ras_parse(str_text(&text), text.len, a, &e) == 0;

	if (!ok && l->procs.n > 0) {
		say_fact("ras_note", e.text);
		ras_release(a);
	}
	mark_own(l, a);
	str_release(&text);
	return ok;
}

static const struct ras_rank *find_rank(const struct ras_answer *a,
					const struct ras_rank *like)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->ranks[i].rank == like->rank &&
		    strcmp(a->ranks[i].comm, like->comm) == 0) {
			return &a->ranks[i];
		}
	}
	return NULL;
}

static bool add_rank(struct ras_answer *a, const struct ras_rank *r)
{
	struct ras_rank *list = realloc(a->ranks, (a->n + 1) * sizeof(*list));

	if (list) {
		a->ranks = list;
		list[a->n] = *r;
		list[a->n].calls[0] = '\0';
		list[a->n++].total = 0;
	}
	return list;
}

/** Words do not tell of ranks while all agree: those of another look stand for
 *  that with no number, which is not the same one. */
static void complete_words(struct look *l)
{
	for (int i = 0; i < l->answers; i++) {
		for (int k = 0; k < l->answers && l->ras[k].words; k++) {
			size_t n = l->ras[i].n;

			for (size_t j = 0; k != i && j < n; j++) {
				const struct ras_rank *r = &l->ras[i].ranks[j];

				if (!find_rank(&l->ras[k], r) &&
				    !add_rank(&l->ras[k], r)) {
					return;
				}
			}
		}
	}
}

/** Looks that had another rank of the communicator further than this one; in
 *  RECORD_NONE where it did not answer each time. */
static int64_t count_behind(const struct look *l, const struct ras_rank *like)
{
	int64_t behind = 0;

	for (int i = 0; i < l->answers; i++) {
		const struct ras_rank *own = find_rank(&l->ras[i], like);
		bool is_behind = false;

		if (!own || own->missing) {
			return RECORD_NONE;
		}
		for (size_t k = 0; k < l->ras[i].n; k++) {
			const struct ras_rank *r = &l->ras[i].ranks[k];

			is_behind = is_behind ||
				    (r->total > own->total &&
				     strcmp(r->comm, own->comm) == 0);
		}
		behind += is_behind;
	}
	return l->answers == HANG_LOOKS ? behind : RECORD_NONE;
}

/* ---- rows ---------------------------------------------------------------- */

/** The one GPU that the driver says process @pid uses; RECORD_NONE: none, or
 *  several. */
static int64_t gpu_of(const struct look *l, int64_t pid)
{
	int64_t gpu = RECORD_NONE;
	int n = 0;

	for (int i = 0; i < GPU_WATCH_MAX; i++) {
		for (unsigned int k = 0; k < l->use[i].n_pids; k++) {
			if ((int64_t)l->use[i].pids[k] == pid) {
				gpu = i;
				n++;
			}
		}
	}
	return n == 1 ? gpu : RECORD_NONE;
}

/** Does a process that is none of the ranks use it? */
static bool is_shared(const struct look *l, const struct gpu_use *use)
{
	for (unsigned int k = 0; k < use->n_pids; k++) {
		size_t i = 0;

		while (i < l->procs.n &&
		       l->procs.list[i].pid != (int64_t)use->pids[k]) {
			i++;
		}
		if (i == l->procs.n) {
			return true;
		}
	}
	return false;
}

/** Where the kernel lets that be read: mostly root alone. */
static void read_kernel_stack(const struct look *l, const struct proc *p,
			      char text[STACK_SIZE])
{
	char printed[4096];

	sysfile_read(printed, sizeof(printed), "%s/proc/%" PRId64
		     "/task/%" PRId64 "/stack", l->root, p->pid,
		     p->stuck.tid > 0 ? p->stuck.tid : p->pid);
	stack_parse(printed, text);
}

static struct hang_row new_row(const struct look *l, const char *node,
			       int64_t rank, int64_t pid)
{
	struct hang_row row = {
		.rank = rank, .pid = pid, .cpu = NAN,
		.gpu = RECORD_NONE, .gpu_busy_pct = NAN, .gpu_power_W = NAN,
		.comm_rank = RECORD_NONE, .comm_size = RECORD_NONE,
		.async_error = RECORD_NONE, .behind = RECORD_NONE,
		.gpu_sm_pct = NAN, .gpu_warp_pct = NAN, .gpu_link_MiB_s = NAN,
		.gpu_clock_MHz = NAN,
		.swapped_B = RECORD_NONE, .faults = RECORD_NONE,
		.stuck_tid = RECORD_NONE,
		.outcome = OUTCOME_OK,
	};

	STR_COPY(row.node, node);
	STR_COPY(row.start_utc, l->utc);
	STR_COPY(row.ras, HANG_RAS_NONE);
	return row;
}

static void set_comm(struct hang_row *row, const struct ras_rank *r)
{
	STR_COPY(row->ras, r->dead    ? HANG_RAS_DEAD :
			   r->missing ? HANG_RAS_MISSING :
			   r->told    ? HANG_RAS_ANSWERS :
					HANG_RAS_NONE);
	STR_COPY(row->comm, r->comm);
	row->comm_rank = r->rank;
	row->comm_size = r->comm_size;
	row->async_error = r->async_error;
}

/** @r: by the last answer, which @first says of the first one; or NULL. */
static void say_row(const struct look *l, const struct proc *p,
		    const struct ras_rank *first, const struct ras_rank *r)
{
	struct hang_row row = new_row(l, l->node, p->rank, p->pid);
	bool same = p->first.started == p->last.started;

	row.cpu = proc_cpu(p);
	STR_COPY(row.command, p->first.command);
	row.state[0] = same ? p->last.state : 'X';
	/* in one place all the time, or nowhere in particular */
	if (strcmp(p->first.waits_in, p->last.waits_in) == 0) {
		STR_COPY(row.waits_in, p->last.waits_in);
	}
	if (same && row.state[0] != 'X') {
		row.faults = p->last.faults - p->first.faults;
		row.swapped_B = p->last.swapped_B >= 0 ? p->last.swapped_B :
							 RECORD_NONE;
	}
	read_kernel_stack(l, p, row.kernel_stack);
	if (p->stuck.tid > 0) {
		row.stuck_tid = p->stuck.tid;
		snprintf(row.stuck_in, sizeof(row.stuck_in), "%s%s%s",
			 p->stuck.name, p->stuck.waits_in[0] ? " in " : "",
			 p->stuck.waits_in);
	}
	if (p - l->procs.list < (ptrdiff_t)l->n_stacks) {
		STR_COPY(row.stack, l->stacks[p - l->procs.list].text);
	}
	proc_children(l->root, p->pid, row.children, sizeof(row.children));
	if (r) {
		set_comm(&row, r);
		STR_COPY(row.calls, first->calls);
		STR_COPY(row.calls_later, r->calls);
		row.gpu = r->gpu >= 0 ? r->gpu : RECORD_NONE;
		row.rank = p->rank >= 0 ? p->rank : r->rank;
		row.behind = count_behind(l, r);
	}
	if (row.gpu == RECORD_NONE) {
		row.gpu = gpu_of(l, p->pid);
	}
	if (row.gpu >= 0 && row.gpu < GPU_WATCH_MAX) {
		const struct gpu_use *use = &l->use[row.gpu];

		row.gpu_busy_pct = use->busy_pct;
		row.gpu_clock_MHz = use->clock_MHz;
		STR_COPY(row.gpu_throttled, use->throttled);
		/* else what others do there would be held against it */
		if (!is_shared(l, use)) {
			row.gpu_power_W = use->power_W;
			row.gpu_sm_pct = use->sm_pct;
			row.gpu_warp_pct = use->warp_pct;
			row.gpu_link_MiB_s = use->link_MiB_s;
		}
	}
	node_task_row(&schema_hang, &row);
}

static void say_rows(const struct look *l)
{
	const struct ras_answer *last = l->answers > 0 ?
					&l->ras[l->answers - 1] : NULL;

	for (size_t i = 0; i < l->procs.n; i++) {
		const struct proc *p = &l->procs.list[i];
		bool said = false;

		for (size_t k = 0; last && k < last->n; k++) {
			const struct ras_rank *r = &last->ranks[k], *first;

			if (r->here && r->pid == p->pid) {
				first = find_rank(&l->ras[0], r);
				say_row(l, p, first ? first : r, r);
				said = true;
			}
		}
		if (!said) {
			say_row(l, p, NULL, NULL);
		}
	}
}

/** Has each look missed it? */
static bool is_missed(const struct look *l, const struct ras_rank *like)
{
	bool missed = l->answers == HANG_LOOKS;

	for (int i = 0; i < l->answers && missed; i++) {
		const struct ras_rank *r = find_rank(&l->ras[i], like);

		missed = r && (r->missing || r->dead);
	}
	return missed;
}

/** Of the communicator of @r, is the first rank that answers on this node?  Of
 *  all nodes it is on one. */
static bool is_ours_to_say(const struct ras_answer *a,
			   const struct ras_rank *r)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ras_rank *s = &a->ranks[i];

		if (s->told && strcmp(s->comm, r->comm) == 0) {
			return s->here;
		}
	}
	return false;
}

/** Ranks of the largest communicators, the job's, that NCCL misses elsewhere:
 *  where no rank has been left nobody else can tell of them. */
static void say_far(const struct look *l)
{
	const struct ras_answer *a = &l->ras[HANG_LOOKS - 1];
	int64_t most = 0;

	for (size_t i = 0; i < a->n; i++) {
		most = a->ranks[i].comm_size > most ? a->ranks[i].comm_size :
						      most;
	}
	for (size_t i = 0; i < a->n; i++) {
		const struct ras_rank *r = &a->ranks[i];

		if (r->comm_size == most && (r->missing || r->dead) &&
		    !r->here && r->host[0] && is_missed(l, r) &&
		    is_ours_to_say(a, r)) {
			struct hang_row row = new_row(l, r->host, r->rank,
						      r->pid);

			set_comm(&row, r);
			node_task_row(&schema_hang, &row);
		}
	}
}

/* ---- the watch ----------------------------------------------------------- */

static void wait_until(int64_t until_ns)
{
	int64_t left = until_ns - clock_now_ns();
	const struct timespec t = { .tv_sec = left / NS_PER_S,
				    .tv_nsec = left % NS_PER_S };

	if (left > 0) {
		nanosleep(&t, NULL);
	}
}

/** Its ranks are those of RAS where that answers, the dead ones among them;
 *  else by what their environment says. */
static int choose(struct look *l)
{
	const struct ras_answer *a = &l->ras[0];

	if (a->n == 0 || a->words) {
		procs_keep_ranks(&l->procs);
	}
	/* those that RAS does not name are what started ranks, or was started
	 * by them; where it does name all */
	for (size_t i = l->procs.n; i-- > 0 && a->n > 0 && !a->words;) {
		bool named = false;

		for (size_t k = 0; k < a->n; k++) {
			named = named || (a->ranks[k].here &&
					  a->ranks[k].pid ==
						  l->procs.list[i].pid);
		}
		if (!named) {
			l->procs.list[i] = l->procs.list[--l->procs.n];
		}
	}
	for (size_t k = 0; k < a->n; k++) {
		if (a->ranks[k].here &&
		    !procs_add(&l->procs, a->ranks[k].pid)) {
			return -1;
		}
	}
	return 0;
}

static void look_at_ranks(struct look *l, bool first)
{
	for (size_t i = 0; i < l->procs.n; i++) {
		struct proc *p = &l->procs.list[i];

		if (first) {
			proc_note_blocked(l->root, p);
		}
		proc_look(l->root, p->pid, first ? &p->first : &p->last);
		if (!first) {
			proc_find_stuck(l->root, p);
		}
	}
}

static bool some_have_ended(const struct look *l)
{
	bool some = false;

	for (size_t i = 0; i < l->procs.n; i++) {
		const struct proc *p = &l->procs.list[i];

		some = some || (p->first.state != 'X' && p->last.state == 'X');
	}
	return some;
}

static int watch(struct look *l)
{
	struct gpu_watch *gpus = gpu_watch_begin();
	int64_t until = within_ns(l, ASK_ALL_NS), begun;
	int rc;

	l->answers += ask_ras(l, until, &l->ras[0]);
	rc = choose(l);
	look_at_ranks(l, true);
	begun = clock_now_ns();
	for (int i = 1; i < HANG_LOOKS && rc == 0; i++) {
		wait_until(begun + WATCH_NS * i / (HANG_LOOKS - 1));
		if (l->answers == i) {
			l->answers += ask_ras(l, until, &l->ras[i]);
		}
	}
	complete_words(l);
	look_at_ranks(l, false);
	if (some_have_ended(l)) {
		/* the others may be about to: a job at its end is no hang */
		wait_until(clock_now_ns() + WATCH_NS);
		look_at_ranks(l, false);
	}
	if (gpu_watch_end(gpus, within_ns(l, GPU_NS), l->use) < 0) {
		say_fact("gpu_note", "NVML does not answer");
	}
	return rc;
}

/** After all else, as it stops them. */
static void read_stacks(struct look *l)
{
	const char *tool;
	size_t n = l->procs.n < STACKS_MAX ? l->procs.n : STACKS_MAX;

	l->stacks = calloc(n + 1, sizeof(*l->stacks));
	for (size_t i = 0; i < n && l->stacks; i++) {
		l->stacks[i].pid = l->procs.list[i].pid;
	}
	l->n_stacks = l->stacks ? n : 0;
	tool = stacks_read(l->stacks, l->n_stacks, within_ns(l, STACKS_NS));
	say_fact("stacks", tool ? tool : "neither py-spy nor gdb is installed");
}

/** When its first rank that is still there was started, after the boot. */
static int64_t job_since_us(const struct look *l)
{
	int64_t since = INT64_MAX;

	for (size_t i = 0; i < l->procs.n; i++) {
		const struct proc_look *p = &l->procs.list[i].first;

		if (p->state != 'X' && p->started < since) {
			since = p->started;
		}
	}
	return since == INT64_MAX ? INT64_MAX :
				    since * (NS_PER_S / NS_PER_US) /
					    sysconf(_SC_CLK_TCK);
}

int hang_child(const json_t *args, struct err *e)
{
	const char *job = getenv("SLURM_JOB_ID");
	struct look l = { .end_ns = clock_now_ns() + LOOK_NS };
	struct spec spec;
	int rc;

	clock_utc(l.utc);
	if (json_get_text(args, "node", l.node, sizeof(l.node), e) < 0 ||
	    spec_from_json(&spec, json_object_get(args, "options"), e) < 0) {
		return -1;
	}
	STR_COPY(l.job, job ? job : "");
	STR_COPY(l.root, spec.sysroot);
	rc = procs_find(l.root, l.job, spec.pid, &l.procs);
	if (l.procs.mute > 0) {
		say_fact("process_note", "the kernel does not let processes be "
			 "read that hang while they change their memory");
	}
	rc = rc == 0 ? watch(&l) : -1;
	if (rc == 0 && spec.stacks) {
		read_stacks(&l);
	}
	if (rc == 0) {
		say_rows(&l);
		say_far(&l);
		hang_host_facts(l.root, job_since_us(&l), l.job[0],
				within_ns(&l, JOURNAL_NS));
	} else {
		err_set(e, ENOMEM, "no memory for the processes");
	}
	for (int i = 0; i < HANG_LOOKS; i++) {
		ras_release(&l.ras[i]);
	}
	procs_release(&l.procs);
	free(l.stacks);
	return rc;
}
