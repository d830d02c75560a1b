/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/memlock_chain.h"

/** The contexts of a job, in the order in which it gets into them. */
static const enum memlock_context job_contexts[] = {
	MEMLOCK_BATCH, MEMLOCK_STEP, MEMLOCK_CONTAINER,
};

static bool is_low(const struct chain *c, enum memlock_context context)
{
	const struct chain_level *l = &c->level[context];

	return l->known && l->soft < c->needed_B;
}

/** Does the job have what the login shell had, and slurmd would allow more? */
static bool from_login(const struct chain *c, int64_t soft)
{
	const struct chain_level *login = &c->level[MEMLOCK_LOGIN];
	const struct chain_level *slurmd = &c->level[MEMLOCK_SLURMD];

	return c->propagation != CHAIN_KEPT && login->known &&
	       login->soft == soft &&
	       !(slurmd->known && slurmd->hard <= soft);
}

/** Is it slurmd's hard limit, or the soft one that nothing replaced? */
static bool from_slurmd(const struct chain *c, int64_t soft)
{
	const struct chain_level *slurmd = &c->level[MEMLOCK_SLURMD];

	return slurmd->known &&
	       (slurmd->hard <= soft || slurmd->soft == soft);
}

/** What lowered the limit of a job, first seen too low in @context? */
static enum chain_link job_link(const struct chain *c,
				enum memlock_context context)
{
	int64_t soft = c->level[context].soft;

	if (context == MEMLOCK_STEP && c->level[MEMLOCK_BATCH].known) {
		return LINK_STEP;	/* the batch script still had enough */
	}
	if (context == MEMLOCK_CONTAINER && c->level[MEMLOCK_STEP].known) {
		return LINK_CONTAINER;
	}
	if (from_login(c, soft)) {
		return LINK_PROPAGATION;
	}
	if (from_slurmd(c, soft)) {
		return LINK_SLURMD;
	}
	return context == MEMLOCK_BATCH ? LINK_BATCH :
	       context == MEMLOCK_STEP	? LINK_STEP :
					  LINK_CONTAINER;
}

static void add_fault(struct chain_answer *a, enum chain_link link,
		      enum memlock_context context, int64_t limit_B)
{
	if (a->n < CHAIN_FAULTS) {
		a->faults[a->n++] = (struct chain_fault){
			.link = link, .context = context, .limit_B = limit_B,
		};
	}
}

/** Count @context in; false when it does not exist. */
static bool judge(const struct chain *c, enum memlock_context context,
		  struct chain_answer *a)
{
	const struct chain_level *l = &c->level[context];

	if (!l->exists) {
		return false;
	}
	a->judged |= 1u << context;
	a->unknown = a->unknown || !l->known;
	return true;
}

/** Jobs run here: what they have is what counts. */
static bool judge_job(const struct chain *c, struct chain_answer *a)
{
	bool job = c->level[MEMLOCK_BATCH].exists ||
		   c->level[MEMLOCK_STEP].exists;

	for (size_t i = 0;
	     job && i < sizeof(job_contexts) / sizeof(job_contexts[0]); i++) {
		enum memlock_context context = job_contexts[i];

		if (judge(c, context, a) && a->n == 0 && is_low(c, context)) {
			add_fault(a, job_link(c, context), context,
				  c->level[context].soft);
		}
	}
	a->slurmd_unseen = job && c->level[MEMLOCK_SLURMD].exists &&
			   !c->level[MEMLOCK_SLURMD].known;
	return job;
}

/**
 * What a job would get from slurmd: its soft limit, or, where the soft one
 * comes from the submitting shell, as much as the hard one allows.
 */
static void judge_slurmd(const struct chain *c, struct chain_answer *a)
{
	const struct chain_level *l = &c->level[MEMLOCK_SLURMD];
	int64_t limit = c->propagation == CHAIN_PROPAGATED ? l->hard : l->soft;

	if (judge(c, MEMLOCK_SLURMD, a) && l->known && limit < c->needed_B) {
		add_fault(a, LINK_SLURMD, MEMLOCK_SLURMD, limit);
	}
}

/** Root's own shell on a node of a cluster is nobody's job. */
static void judge_here(const struct chain *c, struct chain_answer *a)
{
	const struct chain_level *here = &c->level[MEMLOCK_HERE];

	if (here->has_cap && c->level[MEMLOCK_SLURMD].exists) {
		return;
	}
	if (judge(c, MEMLOCK_HERE, a) && is_low(c, MEMLOCK_HERE)) {
		add_fault(a,
			  c->level[MEMLOCK_CONTAINER].exists ? LINK_CONTAINER :
							       LINK_SHELL,
			  MEMLOCK_HERE, here->soft);
	}
}

void chain_judge(const struct chain *c, struct chain_answer *a)
{
	*a = (struct chain_answer){ 0 };
	if (!judge_job(c, a)) {
		judge_slurmd(c, a);
		judge_here(c, a);
	}
}
