/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a node: its processes, and ranks that nobody else can tell of. */
#include "probes/hang/look.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "probes/host/sysfile.h"
#include "probes/node/child.h"

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
		row.behind = look_behind(l, r);
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
				first = look_rank(&l->ras[0], r);
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
		const struct ras_rank *r = look_rank(&l->ras[i], like);

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

void look_say(const struct look *l)
{
	say_rows(l);
	say_far(l);
}
