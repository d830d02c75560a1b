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

/** Does the job have what the login shell had, and slurmd would allow more?
 *  What the shell had is not known inside of a job: Slurm's word will do, where
 *  slurmd is seen to give more by itself. */
static bool from_login(const struct chain *c, int64_t soft)
{
	const struct chain_level *login = &c->level[MEMLOCK_LOGIN];
	const struct chain_level *slurmd = &c->level[MEMLOCK_SLURMD];

	if (slurmd->known && slurmd->hard <= soft) {
		return false;
	}
	return login->known ?
		       c->propagation != CHAIN_KEPT && login->soft == soft :
		       c->propagation == CHAIN_PROPAGATED && slurmd->known &&
			       slurmd->soft > soft;
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

	/* what comes before had enough, as far as it is known */
	bool first = context == MEMLOCK_BATCH ||
		     (context == MEMLOCK_STEP &&
		      !c->level[MEMLOCK_BATCH].known) ||
		     (context == MEMLOCK_CONTAINER &&
		      !c->level[MEMLOCK_STEP].known);

	if (first && from_login(c, soft)) {
		return LINK_PROPAGATION;
	}
	if (first && from_slurmd(c, soft)) {
		return LINK_SLURMD;
	}
	return context == MEMLOCK_BATCH		? LINK_BATCH :
	       is_low(c, MEMLOCK_CONTAINER) ? LINK_CONTAINER :
						  LINK_STEP;
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

/** What lowered the limit of a shell, which is to submit jobs where Slurm takes
 *  it along? */
static enum chain_link shell_link(const struct chain *c)
{
	if (c->propagation == CHAIN_PROPAGATED) {
		return LINK_PROPAGATION;
	}
	return is_low(c, MEMLOCK_CONTAINER) && !c->by_conf ? LINK_CONTAINER :
							     LINK_SHELL;
}

/** On a node of a cluster root's own shell is nobody's job, nor is one whose
 *  limit Slurm leaves behind. */
static void judge_here(const struct chain *c, struct chain_answer *a)
{
	const struct chain_level *here = &c->level[MEMLOCK_HERE];

	a->spared = c->level[MEMLOCK_SLURMD].exists &&
		    (here->has_cap || c->propagation == CHAIN_KEPT);
	if (!a->spared && judge(c, MEMLOCK_HERE, a) &&
	    is_low(c, MEMLOCK_HERE)) {
		add_fault(a, shell_link(c), MEMLOCK_HERE, here->soft);
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
