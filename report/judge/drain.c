/* SPDX-License-Identifier: BSD-3-Clause */
/* Decide if a finding is reason enough to drain its node: the only place. */
#include "report/judge/verdict.h"

#include <math.h>
#include <string.h>

#include "lib/base/limit.h"
#include "lib/data/hosts.h"
#include "lib/data/record_rows.h"
#include "report/judge/findings.h"
#include "report/judge/retest.h"
#include "report/judge/tell.h"
#include "report/symptoms/symptom.h"

/** Nodes that must say so. */
#define WITNESSES 3
/** The first of those that failed with a node: enough to find three. */
#define MAX_PARTNERS 64

/** The bad cells of one part, by the node at the other end. */
struct drain_heard {
	bool inside;		/* the node itself */
	bool faults;		/* one is not only slow */
	int partners[MAX_PARTNERS];	/* other nodes, each once */
	size_t n;
};

bool drain_hung_up(const struct run *run, int node)
{
	/* texts of uv_strerror() and wire.c; without a text it is not known */
	static const char *const ends[] = {
		"closed by the other end", "connection reset", NULL
	};
	const char *why = "";

	run_foreach_event(run, e) {
		if (strcmp(e->event, "agent_lost") == 0 &&
		    strcmp(e->node, run->nodes[node].name) == 0) {
			why = e->detail;
		}
	}
	for (size_t i = 0; ends[i]; i++) {
		if (strstr(why, ends[i])) {
			return true;
		}
	}
	return false;
}

/** Return what the code of @f proves. */
static enum symptom_drain code_proves(const struct finding *f)
{
	const struct symptom *x = symptom_find(symptoms_builtin(), f->code);

	return x ? x->drain : DRAIN_BY_TESTS;
}

/** Collects the bad cells of @f by the node at the other end.  Ranks count node
 *  by node, and so do the cells of one. */
static void hear(const struct run *run, const struct finding *f,
		 struct drain_heard *h)
{
	const struct cluster_node *n = &run->nodes[f->part.node];
	bool slow = strcmp(f->code, "slow") == 0;

	for (int i = 0; i < n->gpus * run->n_ranks * 2; i++) {
		int r = n->first_rank + i / 2 / run->n_ranks;
		int peer = i / 2 % run->n_ranks;
		int node = run->ranks[peer].node;
		size_t at = i % 2 ? run_at(run, peer, r) :
				    run_at(run, r, peer), k = 0;
		unsigned class = run->cells[at].class;
		/* a skipped test has not failed */
		bool bad = slow ? class == CELL_SLOW :
				  cells_failed(class) ||
					  witness_is_bad(run, ABOUT_FLAKY, at);

		if (peer == r || !part_touches_at(run, &f->part, at) || !bad) {
			continue;
		}
		h->inside |= node == f->part.node;
		h->faults |= cells_failed(class);
		while (k < h->n && h->partners[k] != node) {
			k++;
		}
		if (k == h->n && node != f->part.node && k < MAX_PARTNERS) {
			h->partners[h->n++] = node;
		}
	}
}

/** Returns true if a test between the two nodes passed, or was slow and
 *  @or_slow. */
static bool get_on(const struct run *run, int one, int other, bool or_slow)
{
	unsigned good = or_slow ? 1u << CELL_PASS | 1u << CELL_SLOW :
				  1u << CELL_PASS;
	const struct cluster_node *a = &run->nodes[one];
	const struct cluster_node *b = &run->nodes[other];

	for (int s = a->first_rank; s < a->first_rank + a->gpus; s++) {
		for (int d = b->first_rank; d < b->first_rank + b->gpus; d++) {
			if (good >> run_cell(run, s, d)->class & 1 ||
			    good >> run_cell(run, d, s)->class & 1) {
				return true;
			}
		}
	}
	return false;
}

/** Finds WITNESSES partners that all passed with each other, from number
 *  @from on, in addition to the @n in @found.  Returns false if there are
 *  not enough. */
static bool find_witnesses(const struct drain_heard *h,
			   uint8_t on[MAX_PARTNERS][MAX_PARTNERS],
			   size_t found[WITNESSES], size_t n, size_t from)
{
	for (size_t i = from; i < h->n && n < WITNESSES; i++) {
		size_t k = 0;

		while (k < n && on[found[k]][i]) {
			k++;
		}
		found[n] = i;
		if (k == n && find_witnesses(h, on, found, n + 1, i + 1)) {
			return true;
		}
	}
	return n == WITNESSES;
}

static bool has_witnesses(const struct run *run, const struct drain_heard *h)
{
	uint8_t on[MAX_PARTNERS][MAX_PARTNERS] = { 0 };
	size_t found[WITNESSES];

	if (h->n < WITNESSES) {
		return false;
	}
	for (size_t i = 0; i < h->n; i++) {
		for (size_t k = i + 1; k < h->n; k++) {
			/* beside a failure, a slow test was an answer */
			on[i][k] = get_on(run, h->partners[i], h->partners[k],
					  h->faults);
		}
	}
	return find_witnesses(h, on, found, 0, 0);
}

/** Adds "; could not be reached by n0, n2" to what the finding says, and a
 *  command that tests this node with as many others as are needed. */
static void say_unproved(const struct run *run, const struct drain_heard *h,
			 struct finding *f)
{
	static const char *const without[] = {
		"nodes", "nodelist", "exclude", "inject", "pairs", NULL
	};
	struct str names = STR_INIT, act = STR_INIT;
	int named = 0;

	if (gone_code(f->code)->silence &&
	    !run_find_event(run, "agent_missing",
			    run->nodes[f->part.node].name)) {
		finding_list_name(&names, &named, "the coordinator");
	}
	for (size_t i = 0; h->faults && i < h->n; i++) {
		finding_list_name(&names, &named,
				  run->nodes[h->partners[i]].name);
	}
	if (named > 0) {
		finding_more(f, "; could not be reached by %s",
			     str_text(&names));
	}
	str_release(&names);
	if (run->n_nodes > WITNESSES ||
	    !spec_launcher_is(run_file(run->json).launcher,
			      LAUNCHER_SLURM)) {
		return;
	}
	str_addf(&act, "%s\nThis is not enough to drain it. To check whether it "
		 "is this node, test it with three others:\n" TELL_COMMAND,
		 f->act);
	tell_again(run, without, &act);
	str_add(&act, " -N 4 --nodelist=");
	str_add_quoted(&act, run->nodes[f->part.node].name);
	tell_passed_on(run, &act);
	finding_set_act(f, str_text(&act));
	str_release(&act);
}

static void weigh_one(const struct run *run, const struct verdict *v,
		      struct finding *f)
{
	bool passes = v->cells[CELL_PASS] + v->cells[CELL_SLOW] > 0;
	struct drain_heard h = { 0 };
	bool cut = strcmp(f->code, GONE_CUT) == 0;
	bool silent;
	/* it is a fault of that one node, not of how the job, its limits or a
	 * packet filter are set up */
	bool may = f->fail && f->part.node >= 0 && f->part.peer_node < 0 &&
		   part_is(&f->part, KINDS_IN_NODE) && !limit_is(f->code) &&
		   !gone_code(f->code)->set_up && code_proves(f) != DRAIN_NEVER;

	/* That no agent could be started proves nothing about the node: the
	 * cause may be a key, path or firewall on the launcher's side. */
	if (!may || (gone_code(f->code)->unstarted &&
		     strcmp(f->code, "agent_missing") != 0)) {
		f->drain = false;
		return;
	}
	if (f->n_probes > 0 || str_starts(f->code, RETEST_OWN)) {
		return;		/* by the runs that it is from */
	}
	hear(run, f, &h);
	/* only the coordinator reported the fault, because it heard nothing of
	 * the node */
	silent = cut || (gone_code(f->code)->silence &&
			 !drain_hung_up(run, f->part.node));
	/* without a score the finding is not from cells */
	f->drain = (isnan(f->score) ?
			    code_proves(f) >= DRAIN_ALONE && !silent :
			    passes && h.inside) ||
		   (!cut && has_witnesses(run, &h));
	if (!f->drain && (silent || h.n > 0)) {
		say_unproved(run, &h, f);
	}
}

/** Return true if each node of @run has a finding of @code that drains it. */
static bool is_on_all(const struct run *run, const struct verdict *v,
		      const char *code)
{
	int with = 0;

	for (int i = 0; i < run->n_nodes; i++) {
		bool has = false;

		verdict_foreach(v, f) {
			has = has || (f->drain && f->part.node == i &&
				      strcmp(f->code, code) == 0);
		}
		with += has;
	}
	return with == run->n_nodes && with > 1;
}

void drain_weigh(const struct run *run, struct verdict *v)
{
	verdict_foreach(v, f) {
		weigh_one(run, v, f);
	}
	/* what all nodes report has one cause, such as a driver that is being
	 * replaced, or a switch */
	verdict_foreach(v, f) {
		if (!f->drain || code_proves(f) != DRAIN_ALONE ||
		    !is_on_all(run, v, f->code)) {
			continue;
		}
		verdict_foreach(v, g) {
			g->drain = g->drain && strcmp(g->code, f->code) != 0;
		}
	}
}
