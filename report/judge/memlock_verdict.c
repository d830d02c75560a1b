/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge of memlock: the place that lowers the limit of locked memory. */
#include "report/judge/memlock_verdict.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"

/* ---- memlock chain ------------------------------------------------------- */

static bool is_low(const struct memlock_chain *c, enum memlock_context context)
{
	const struct chain_level *l = &c->level[context];

	return l->known && l->soft < c->needed_B;
}

/** Returns true if the job has the limit of the login shell, while slurmd would
 *  allow more.  Inside a job the limit of the shell is not known; then Slurm's
 *  configuration decides, if slurmd is known to have a higher limit. */
static bool from_login(const struct memlock_chain *c, int64_t soft)
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

/** Returns the link of the chain that lowered the limit of a job, which is too
 *  low first in @context. */
static enum chain_link job_link(const struct memlock_chain *c,
				enum memlock_context context)
{
	const struct chain_level *slurmd = &c->level[MEMLOCK_SLURMD];
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
	/* slurmd's hard limit, or its soft limit that was not replaced */
	if (first && slurmd->known &&
	    (slurmd->hard <= soft || slurmd->soft == soft)) {
		return LINK_SLURMD;
	}
	return context == MEMLOCK_BATCH	    ? LINK_BATCH :
	       is_low(c, MEMLOCK_CONTAINER) ? LINK_CONTAINER :
					      LINK_STEP;
}

static void add_fault(struct memlock_chain *c, enum chain_link link,
		      enum memlock_context context, int64_t limit_B)
{
	if (c->n < CHAIN_FAULTS) {
		c->faults[c->n++] = (struct chain_fault){
			.link = link, .context = context, .limit_B = limit_B,
		};
	}
}

/** Count @context in; false when it does not exist. */
static bool judge(struct memlock_chain *c, enum memlock_context context)
{
	const struct chain_level *l = &c->level[context];

	if (!l->exists) {
		return false;
	}
	c->judged |= 1u << context;
	c->unknown = c->unknown || !l->known;
	return true;
}

void chain_judge(struct memlock_chain *c)
{
	/* the contexts of a job, in the order in which it gets into them */
	static const enum memlock_context job[] = {
		MEMLOCK_BATCH, MEMLOCK_STEP, MEMLOCK_CONTAINER,
	};
	const struct chain_level *slurmd = &c->level[MEMLOCK_SLURMD];
	const struct chain_level *here = &c->level[MEMLOCK_HERE];
	bool propagated = c->propagation == CHAIN_PROPAGATED;
	/* a job gets the soft limit of slurmd, or, if it inherits the soft
	 * limit of the submitting shell, at most the hard one */
	int64_t limit = propagated ? slurmd->hard : slurmd->soft;

	/* if jobs run here, what they have is what counts */
	if (c->level[MEMLOCK_BATCH].exists || c->level[MEMLOCK_STEP].exists) {
		for (size_t i = 0; i < sizeof(job) / sizeof(job[0]); i++) {
			if (judge(c, job[i]) && c->n == 0 &&
			    is_low(c, job[i])) {
				add_fault(c, job_link(c, job[i]), job[i],
					  c->level[job[i]].soft);
			}
		}
		c->slurmd_unseen = slurmd->exists && !slurmd->known;
		return;
	}
	bool low = judge(c, MEMLOCK_SLURMD) && slurmd->known &&
		   limit < c->needed_B;

	/* no job runs in root's own shell on a node whose slurmd has enough,
	 * nor in a shell whose limit Slurm does not propagate; otherwise the
	 * limit that bites here is the shell's, and it comes first */
	c->spared = slurmd->exists && ((here->has_cap && !low) ||
				       c->propagation == CHAIN_KEPT);
	if (!c->spared && judge(c, MEMLOCK_HERE) && is_low(c, MEMLOCK_HERE)) {
		add_fault(c, propagated ? LINK_PROPAGATION :
			  is_low(c, MEMLOCK_CONTAINER) && !c->by_conf ?
			  LINK_CONTAINER : LINK_SHELL, MEMLOCK_HERE,
			  here->soft);
	}
	if (low) {
		add_fault(c, LINK_SLURMD, MEMLOCK_SLURMD, limit);
	}
}

/* ---- memlock verdict ----------------------------------------------------- */

/** Maximum names that fit into a line. */
#define NAMES_MAX 3
#define EVIDENCE_MAX 8

/** The rows about one node. */
struct node_view {
	char name[64];
	struct memlock_chain chain;
	const struct memlock_row *unit, *conf;
};

struct judging {
	const struct run *run;
	struct verdict *v;
	struct node_view *nodes;
	size_t n_nodes;
	struct chain_level login;
	const struct memlock_row *login_conf, *propagation;
};

static bool is_check(const struct memlock_row *row, const char *check)
{
	return strcmp(row->check, check) == 0;
}

/* ---- rows into chains -------------------------------------------------- */

static void take_level(struct chain_level *l, const struct memlock_row *row)
{
	if (is_check(row, CHECK_CAP)) {
		l->has_cap = strcmp(row->code, CODE_HAS_CAP) == 0;
	} else if (is_check(row, CHECK_HARD)) {
		l->hard = row->limit_B;
	} else if (is_check(row, CHECK_SOFT)) {
		l->exists = row->outcome != OUTCOME_SKIPPED;
		l->known = row->limit_B != RECORD_NONE;
		l->soft = row->limit_B;
		l->hard = l->known && l->hard < l->soft ? l->soft : l->hard;
	}
}

static struct node_view *view_of(struct judging *j, const char *name)
{
	struct node_view new = { 0 }, *view;

	/* the rows of a node are usually contiguous */
	for (size_t i = j->n_nodes; i > 0; i--) {
		if (strcmp(j->nodes[i - 1].name, name) == 0) {
			return &j->nodes[i - 1];
		}
	}
	STR_COPY(new.name, name);
	view = grow_add(&j->nodes, &j->n_nodes, &new, sizeof(new));
	j->v->failed = j->v->failed || !view;
	return view;
}

/* ---- findings ---------------------------------------------------------- */

/** One more case, on @node, of what a finding says that need not be there
 *  yet. */
__attribute__((format(printf, 6, 7)))
static struct finding *add_case(struct judging *j, const struct part *p,
				bool fail, const char *code, const char *node,
				const char *fmt, ...)
{
	struct finding *f = finding_add(j->v, *p, code);
	int at = run_find_node(j->run, node, -1);
	va_list ap;

	f->fail = fail;
	va_start(ap, fmt);
	vsnprintf(f->says, sizeof(f->says), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i + 1 < j->v->n && !j->v->failed; i++) {
		struct finding *g = &j->v->findings[i];

		if (strcmp(g->code, f->code) == 0 && g->fail == f->fail &&
		    part_compare(&g->part, &f->part) == 0 &&
		    g->part.name == f->part.name &&
		    strcmp(g->says, f->says) == 0) {
			f = g;
			finding_remove(j->v, j->v->n - 1);
			break;
		}
	}
	if (at >= 0) {		/* a login shell has no node */
		finding_add_member(f, at);
	}
	f->cells++;
	return f;
}

/* ---- findings about the chain ------------------------------------------ */

static const struct link_words {
	enum part_kind kind;
	const char *code;
	const char *who, *why;	/* "... limited to 64 KiB of locked memory" */
} link_words[CHAIN_LINKS] = {
	[LINK_SLURMD] = { .kind = PART_LIMIT, .code = "memlock_slurmd",
		.who = "slurmd is", .why = "; jobs inherit this limit" },
	[LINK_PROPAGATION] = { .kind = PART_CONFIG,
		.code = "memlock_propagated", .who = "jobs are",
		.why = ": Slurm propagates the limit of the login shell" },
	[LINK_BATCH] = { .kind = PART_LIMIT, .code = "memlock_batch",
		.who = "the batch script is",
		.why = ", less than slurmd and login shell" },
	[LINK_STEP] = { .kind = PART_LIMIT, .code = "memlock_step",
		.who = "job steps are",
		.why = ", less than the shell that started them" },
	[LINK_CONTAINER] = { .kind = PART_LIMIT, .code = "memlock_container",
		.who = "processes in the container are", .why = "" },
	[LINK_SHELL] = { .kind = PART_LIMIT, .code = "memlock_shell",
		.who = "processes are", .why = ", the default: no file sets "
					       "it" },
};

static void add_source(struct finding *f, const char *who,
		       const struct memlock_row *row)
{
	if (row && row->outcome == OUTCOME_OK) {
		finding_add_evidence(f, "%s: %s%s%s", who, row->source,
				     row->source[0] && row->detail[0] ? ": " :
									"",
				     row->detail);
	}
}

static void add_chain_evidence(const struct judging *j,
			       const struct node_view *view,
			       enum chain_link link, struct finding *f)
{
	struct str levels = STR_INIT;
	char bytes[32];

	if (f->n_evidence > 0) {
		return;		/* of the first node that has it */
	}
	/* "login 64 KiB, slurmd unlimited, batch 64 KiB, step 64 KiB" */
	for (int i = 0; i < MEMLOCK_CONTEXTS; i++) {
		const struct chain_level *l = &view->chain.level[i];

		if (l->exists) {
			str_addf(&levels, "%s%s %s", levels.len ? ", " : "",
				 memlock_context_names[i],
				 l->known ? memlock_bytes(l->soft, bytes,
							  sizeof(bytes)) :
					    "unknown");
		}
	}
	finding_add_evidence(f, "%s", str_text(&levels));
	str_release(&levels);
	if (link == LINK_SLURMD) {
		add_source(f, "systemd", view->unit);
		/* Once slurmd is repaired, the login shell's limit may be next.
		 */
		if (j->login.known && j->login.soft < view->chain.needed_B &&
		    view->chain.propagation != CHAIN_KEPT) {
			finding_add_evidence(f, "the next limit is that of the "
					     "login shell, which Slurm "
					     "propagates");
		}
	} else if (link == LINK_PROPAGATION) {
		add_source(f, "Slurm", j->propagation);
		add_source(f, "login shell", j->login_conf ? j->login_conf :
							 view->conf);
	} else if (link == LINK_SHELL) {
		add_source(f, "pam_limits", view->conf);
	}
}

static void add_chain_finding(struct judging *j, const struct node_view *view,
			      const struct chain_fault *fault)
{
	const struct link_words *w = &link_words[fault->link];
	struct part p = part_of_kind(w->kind);
	bool by_file = fault->link == LINK_SHELL && view->chain.by_conf;
	/* the row that says which line of the unit systemd ignores */
	const struct memlock_row *unit =
		fault->link == LINK_SLURMD && view->unit &&
				strcmp(view->unit->code, CODE_IGNORED) == 0 ?
			view->unit : NULL;
	const bool outside = fault->link == LINK_SLURMD && view->unit &&
			     strcmp(view->unit->code, CODE_UNUSED) == 0;
	char bytes[32];

	memlock_bytes(fault->limit_B, bytes, sizeof(bytes));
	add_chain_evidence(
		j, view, fault->link,
		add_case(j, &p, true, by_file ? "memlock_limits_conf" :
				      outside ? "memlock_slurmd_outside" :
				      unit ? unit->code : w->code,
			 view->name, "%s limited to %s of locked memory%s%s",
			 w->who, bytes, by_file ? " by " :
					unit ? ": " : w->why,
			 by_file ? view->conf->source :
			 unit ? unit->detail : ""));
}

static void judge_chain(struct judging *j, struct node_view *view)
{
	const struct part limit = part_of_kind(PART_LIMIT);
	const struct part config = part_of_kind(PART_CONFIG);
	const struct memlock_row *row = j->propagation;

	view->chain.level[MEMLOCK_LOGIN] = j->login;
	if (row && row->outcome == OUTCOME_OK) {
		view->chain.propagation = strcmp(row->code, CODE_KEPT) == 0 ?
						  CHAIN_KEPT :
						  CHAIN_PROPAGATED;
	}
	view->chain.by_conf = view->conf &&
			      view->conf->limit_B ==
				      view->chain.level[MEMLOCK_HERE].soft;
	chain_judge(&view->chain);
	for (int i = 0; i < MEMLOCK_CONTEXTS; i++) {
		const struct chain_level *l = &view->chain.level[i];

		if (view->chain.judged & 1u << i) {
			j->v->cells[!l->known ? CELL_NOT_RUN :
				    l->soft < view->chain.needed_B ?
						CELL_FAIL : CELL_PASS]++;
		}
	}
	for (size_t i = 0; i < view->chain.n; i++) {
		add_chain_finding(j, view, &view->chain.faults[i]);
	}
	if (view->chain.unknown) {
		add_case(j, &limit, false, CODE_UNKNOWN, view->name,
			 "this user cannot read a locked-memory limit that the "
			 "result depends on");
	}
	if (view->chain.slurmd_unseen && view->chain.n == 0) {
		add_case(j, &config, false, "slurmd_unseen", view->name,
			 "slurmd's limit cannot be read; the job's limit is "
			 "sufficient");
	}
}

/* ---- findings about the rest ------------------------------------------- */

static void judge_proof(struct judging *j, const struct memlock_row *row)
{
	struct part p = part_of_kind(row->hca[0] ? PART_NIC : PART_CONFIG);
	int node = run_find_node(j->run, row->node, -1);
	const char *blank = row->hca[0] ? " " : "";
	struct finding *f = NULL;
	char ok[32], fail[32], need[32];

	p.name = run_find_name(j->run, row->hca);
	if (row->outcome == OUTCOME_NOT_RUN) {
		add_case(j, &p, false, row->code, row->node,
			 "%s%s%s was not tested: %s", row->hca, blank,
			 row->check, row->detail);
	}
	if (!cells_outcome_failed(row->outcome)) {
		return;
	}
	/* a break at the limit belongs to the chain's finding of the node */
	for (size_t i = 0; strcmp(row->code, CODE_ENOMEM) == 0 &&
			   i < j->v->n && !f; i++) {
		struct finding *of = &j->v->findings[i];

		for (size_t k = 0; k < of->n_members && of->fail && !f &&
				   str_starts(of->code, "memlock_"); k++) {
			f = of->members[k] == node ? of : NULL;
		}
	}
	if (strcmp(row->code, CODE_ENOMEM) == 0) {
		p.kind = PART_LIMIT;
	}
	if (f) {
		f->cells++;
	} else {
		f = add_case(j, &p, true, row->code, row->node, "%s%s%s: %s",
			     row->hca, blank, row->check, row->detail);
	}
	if (row->max_ok_B != RECORD_NONE && f->n_evidence < EVIDENCE_MAX &&
	    f->n_members > 0 && f->members[0] == node) {
		finding_add_evidence(
			f, "%s%s%s: works up to %s, fails at %s, needed %s",
			row->hca, blank, row->check,
			memlock_bytes(row->max_ok_B, ok, sizeof(ok)),
			memlock_bytes(row->min_fail_B, fail, sizeof(fail)),
			memlock_bytes(row->needed_B, need, sizeof(need)));
	}
}

static bool is_proof(const struct memlock_row *row)
{
	return is_check(row, CHECK_CQ) || is_check(row, CHECK_QP) ||
	       is_check(row, CHECK_MR) || is_check(row, CHECK_MLOCK);
}

/** Returns true if @row only repeats a result of the chain: a shell outside of
 *  a job reaches its limit, or the reason why slurmd's limit is low. */
static bool is_settled(struct judging *j, const struct memlock_row *row)
{
	const struct node_view *view = view_of(j, row->node);
	bool slurmd = false;

	if (!view) {
		return true;
	}
	for (size_t i = 0; i < view->chain.n; i++) {
		slurmd |= view->chain.faults[i].link == LINK_SLURMD;
	}
	return is_proof(row) ? view->chain.spared &&
				       strcmp(row->code, CODE_ENOMEM) == 0 &&
				       memlock_context_parse(row->context) ==
					       MEMLOCK_HERE :
			       slurmd && is_check(row, CHECK_UNIT);
}

static void judge_row(struct judging *j, const struct memlock_row *row)
{
	const struct part node = part_of_kind(PART_NODE);
	const struct part config = part_of_kind(PART_CONFIG);
	enum cell_class class = cells_class_of(row->outcome);

	if (memlock_context_parse(row->context) == MEMLOCK_CONTEXTS) {
		/* the node has no rows of its own; if the run was stopped that
		 * is no fault */
		j->v->cells[class]++;
		if (run_find_event(j->run, "agent_late", row->node)) {
			add_case(j, &node, false, RECORD_STARVED, row->node,
				 "its agent connected too late to be tested");
			j->v->cut = true;
		} else if (row->outcome != OUTCOME_NOT_RUN) {
			add_case(j, &node, true, row->code, row->node, "%s",
				 row->detail);
		}
	} else if (is_proof(row)) {
		if (row->outcome != OUTCOME_SKIPPED && !is_settled(j, row)) {
			j->v->cells[class]++;
			judge_proof(j, row);
		}
	} else if (!is_check(row, CHECK_SOFT) &&
		   cells_outcome_failed(row->outcome) &&
		   !is_settled(j, row)) {
		add_case(j, &config, false, row->code, row->node, "%s: %s",
			 row->check, row->detail);
	}
}

/* ---- the verdict ------------------------------------------------------- */

/** Completes @f, whose cases are all known, with the nodes that it is about. */
static void close_finding(const struct run *run, struct finding *f)
{
	char (*nodes)[64] = calloc(f->n_members + 1, sizeof(*nodes));
	const size_t n = f->n_members;
	const size_t shown = n <= NAMES_MAX ? n : NAMES_MAX - 1;
	struct str says = STR_INIT;

	f->failed = f->failed || !nodes;
	for (size_t i = 0; nodes && i < f->n_members; i++) {
		STR_COPY(nodes[i], run->nodes[f->members[i]].name);
	}
	/* "gcn1, gcn2 and 6 more", gcn2 before gcn10 */
	if (nodes) {
		qsort(nodes, n, sizeof(*nodes), str_order);
	}
	for (size_t i = 0; nodes && i < shown; i++) {
		str_addf(&says, "%s%s", i ? ", " : "", nodes[i]);
	}
	if (nodes && shown < n) {
		str_addf(&says, " and %zu more", n - shown);
	}
	str_add(&says, nodes && n > 0 ? "" : "the login shell");
	str_addf(&says, ": %s", f->says);
	finding_say(f, "%s", str_text(&says));
	f->part.node = f->n_members == 1 ? f->members[0] : -1;
	f->explained = f->cells;
	f->n_first = f->n_evidence;
	str_release(&says);
	free(nodes);
}

void memlock_find(const struct run *run, const struct memlock_row *rows,
		  size_t n, struct verdict *v)
{
	struct judging j = { .run = run, .v = v };

	for (size_t i = 0; i < n; i++) {
		const struct memlock_row *row = &rows[i];
		enum memlock_context context =
			memlock_context_parse(row->context);
		const bool conf = is_check(row, CHECK_LIMITS_CONF);
		struct node_view *view = context == MEMLOCK_LOGIN ?
						 NULL : view_of(&j, row->node);

		if (context == MEMLOCK_LOGIN) {
			if (is_check(row, CHECK_PROPAGATION)) {
				j.propagation = row;
			} else if (conf) {
				j.login_conf = row;
			} else {
				take_level(&j.login, row);
			}
		} else if (view && context != MEMLOCK_CONTEXTS) {
			take_level(&view->chain.level[context], row);
			view->unit = is_check(row, CHECK_UNIT) ? row :
								 view->unit;
			view->conf = conf ? row : view->conf;
			if (is_check(row, CHECK_SOFT) &&
			    row->needed_B > view->chain.needed_B) {
				view->chain.needed_B = row->needed_B;
			}
		}
	}
	for (size_t i = 0; i < j.n_nodes; i++) {
		judge_chain(&j, &j.nodes[i]);
	}
	for (size_t i = 0; i < n; i++) {
		judge_row(&j, &rows[i]);
	}
	verdict_foreach(v, f) {
		close_finding(run, f);
	}
	free(j.nodes);
}

int memlock_judge(const struct run *run, struct verdict *v)
{
	*v = (struct verdict){ 0 };
	memlock_find(run, run->memlock, run->rows, v);
	return verdict_close(run, v);
}
