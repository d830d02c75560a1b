/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/hang.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/spec/spec.h"
#include "probes/hang/host.h"
#include "probes/hang/look.h"
#include "probes/node/child.h"

/* A rank that computes or waits for data for this long is no hang yet; one that
 * begins a step each second has begun one. */
#define WATCH_NS (2 * NS_PER_S)
/* All of it: the child is ended a second later. */
#define LOOK_NS (14 * NS_PER_S)
/* All questions to RAS together. */
#define ASK_ALL_NS (8 * NS_PER_S)
/* NVML, behind the watch. */
#define GPU_NS (2 * NS_PER_S)

/* The journal of the kernel, where its log itself may not be read. */
#define JOURNAL_NS (2 * NS_PER_S)

/* py-spy takes a second, gdb up to four where libraries are large. */
#define STACKS_NS (4 * NS_PER_S)

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
	int64_t until = look_within_ns(l, ASK_ALL_NS), begun;
	int rc;

	l->answers += look_ask(l, until, &l->ras[0]);
	rc = choose(l);
	look_at_ranks(l, true);
	begun = clock_now_ns();
	for (int i = 1; i < HANG_LOOKS && rc == 0; i++) {
		wait_until(begun + WATCH_NS * i / (HANG_LOOKS - 1));
		if (l->answers == i) {
			l->answers += look_ask(l, until, &l->ras[i]);
		}
	}
	look_complete(l);
	look_at_ranks(l, false);
	if (some_have_ended(l)) {
		/* the others may be about to: a job at its end is no hang */
		wait_until(clock_now_ns() + WATCH_NS);
		look_at_ranks(l, false);
	}
	if (gpu_watch_end(gpus, look_within_ns(l, GPU_NS), l->use) < 0) {
		look_fact("gpu_note", "NVML does not answer");
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
	tool = stacks_read(l->stacks, l->n_stacks,
			   look_within_ns(l, STACKS_NS));
	look_fact("stacks", tool ? tool :
				   "neither py-spy nor gdb is installed");
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
		look_fact("process_note", "the kernel does not let processes "
			  "be read that hang while they change their memory");
	}
	rc = rc == 0 ? watch(&l) : -1;
	if (rc == 0 && spec.stacks) {
		read_stacks(&l);
	}
	if (rc == 0) {
		look_say(&l);
		hang_host_facts(l.root, job_since_us(&l), l.job[0],
				look_within_ns(&l, JOURNAL_NS));
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
