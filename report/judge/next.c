/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/next.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/hostlist.h"
#include "lib/data/json.h"
#include "report/judge/retest.h"
#include "report/judge/tell.h"
#include "report/judge/witness.h"

/** Nodes looked at in the exact search: well below a second. */
#define MAX_WORK 20000000

/** Nodes that cannot stay together: a graph, of which as few nodes as possible
 *  are taken out until no edge is left. */
struct conflicts {
	int n;
	uint8_t *edge;		/* n x n */
	struct conflict_node {	/* in the try under way */
		bool out;	/* taken out */
		int degree;	/* edges to others that are still in */
	} *nodes;
	bool *best;		/* taken out, in the best try so far */
	int n_out, n_best;
	long work;
};

static bool is_bad(const struct run *run, size_t at)
{
	return witness_is_bad(run, ABOUT_FAULTS, at) ||
	       (!run->shared_cores && witness_is_bad(run, ABOUT_SLOW, at));
}

static bool quarrels(const struct conflicts *c, int a, int b)
{
	return c->edge[(size_t)a * (size_t)c->n + (size_t)b];
}

static void take_out(struct conflicts *c, int a)
{
	if (c->nodes[a].out) {
		return;
	}
	for (int b = 0; b < c->n; b++) {
		c->nodes[b].degree -= quarrels(c, a, b) && !c->nodes[b].out;
	}
	c->nodes[a] = (struct conflict_node){ .out = true };
	c->n_out++;
}

static void add_conflict(struct conflicts *c, int a, int b)
{
	c->edge[(size_t)a * (size_t)c->n + (size_t)b] = 1;
	c->edge[(size_t)b * (size_t)c->n + (size_t)a] = 1;
}

/** Is any cell bad?  Where nothing fails, nobody was lost by a fault of his. */
static bool find_bad_cells(const struct run *run, const struct verdict *v,
			   struct conflicts *c)
{
	bool any = false;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (is_bad(run, at) &&
		    (v->status == VERDICT_FAIL ||
		     strcmp(run_cell_code(run, at), "agent_lost") != 0)) {
			any = true;
			add_conflict(c, run->ranks[run_src(run, at)].node,
				     run->ranks[run_dst(run, at)].node);
		}
	}
	return any;
}

/** Where no cell is bad: does anything fail, and all of it in nodes that are
 *  known? */
static bool find_failures(const struct verdict *v, struct conflicts *c)
{
	bool any = false;

	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];
		const struct part *p = &f->part;

		if (!f->fail) {
			continue;
		}
		any = true;
		if (p->node >= 0) {
			add_conflict(c, p->node, p->peer_node >= 0 ?
						 p->peer_node : p->node);
		} else if (f->n_members == 0) {
			return false;
		}
		for (size_t k = 0; p->node < 0 && k < f->n_members; k++) {
			add_conflict(c, f->members[k], f->members[k]);
		}
	}
	return any;
}

/** Count edges; a node that quarrels with itself, or never came, is out. */
static void start(const struct run *run, struct conflicts *c)
{
	for (int a = 0; a < c->n; a++) {
		for (int b = 0; b < c->n; b++) {
			c->nodes[a].degree += a != b && quarrels(c, a, b);
		}
	}
	for (int a = 0; a < c->n; a++) {
		if (quarrels(c, a, a)) {
			c->edge[(size_t)a * (size_t)c->n + (size_t)a] = 0;
			take_out(c, a);
		} else if (run->n_ranks > 0 && run->nodes[a].gpus == 0) {
			take_out(c, a);
		}
	}
}

/** The node with the most edges, and how many edges there are. */
static int find_worst(struct conflicts *c, long *edges)
{
	int worst = 0;

	*edges = 0;
	for (int a = 0; a < c->n; a++) {
		*edges += c->nodes[a].degree;
		worst = c->nodes[a].degree > c->nodes[worst].degree ? a : worst;
	}
	*edges /= 2;
	c->work += c->n;
	return worst;
}

/** Is what is out the least so far? */
static void take_best(struct conflicts *c)
{
	for (int a = 0; a < c->n && c->n_out < c->n_best; a++) {
		c->best[a] = c->nodes[a].out;
	}
	c->n_best = c->n_out < c->n_best ? c->n_out : c->n_best;
}

/**
 * Branch and bound: the worst node goes, or stays and all others go that it
 * quarrels with.  No node takes more edges with it than the worst one.
 */
static void search(struct conflicts *c)
{
	long edges;
	int a = find_worst(c, &edges), n_out = c->n_out;
	int most = c->nodes[a].degree;
	size_t size = (size_t)c->n * sizeof(*c->nodes);
	struct conflict_node *before = NULL;

	if (most == 0) {
		take_best(c);
		return;
	}
	if (c->n_out + (edges + most - 1) / most >= c->n_best) {
		return;
	}
	/* of two that quarrel with nobody else either may go */
	if (most > 1 && c->work < MAX_WORK) {
		before = malloc(size);
	}
	if (before) {
		memcpy(before, c->nodes, size);
	}
	take_out(c, a);
	search(c);
	if (before && c->work < MAX_WORK) {
		memcpy(c->nodes, before, size);
		c->n_out = n_out;
		for (int b = 0; b < c->n; b++) {
			if (quarrels(c, a, b)) {
				take_out(c, b);
			}
		}
		search(c);
	}
	free(before);
}

static int keep(const struct run *run, const struct conflicts *c,
		struct verdict *v)
{
	size_t n = (size_t)(c->n - c->n_best);

	if (n < 2) {
		return 0;
	}
	v->good = calloc(n, sizeof(*v->good));
	if (!v->good) {
		return -1;
	}
	for (int i = 0; i < c->n; i++) {
		if (!c->best[i]) {
			STR_COPY(v->good[v->n_good++], run->nodes[i].name);
		}
	}
	return 0;
}

int next_good(const struct run *run, struct verdict *v)
{
	size_t n = (size_t)run->n_nodes;
	struct conflicts c = { .n = run->n_nodes, .n_best = run->n_nodes };
	int rc = -1;

	c.edge = calloc(n * n + 1, 1);
	c.nodes = calloc(n + 1, sizeof(*c.nodes));
	c.best = calloc(n + 1, sizeof(*c.best));
	if (c.edge && c.nodes && c.best) {
		rc = 0;
		if (find_bad_cells(run, v, &c) || find_failures(v, &c)) {
			start(run, &c);
			search(&c);
			rc = keep(run, &c, v);
		}
	}
	free(c.edge);
	free(c.nodes);
	free(c.best);
	return rc;
}

/** Failures that are named; the rest is counted. */
#define MAX_STAY 3

/** Does @f go when the nodes @out are left out: is none of its cells without
 *  them? */
static bool goes_with(const struct run *run, const struct finding *f,
		      const uint8_t *out)
{
	const struct part *p = &f->part;

	if ((p->node >= 0 && out[p->node]) ||
	    (p->peer_node >= 0 && out[p->peer_node])) {
		return true;
	}
	/* without cells it is by its nodes */
	for (int i = 0; run->n_ranks == 0 && i < run->n_nodes; i++) {
		if (!out[i] && (f->n_members == 0 || finding_sits_in(f, i))) {
			return false;
		}
	}
	for (size_t at = 0; at < run_n_cells(run); at++) {
		if (run->cells[at].class < CELL_CLASSES &&
		    !out[run->ranks[run_src(run, at)].node] &&
		    !out[run->ranks[run_dst(run, at)].node] &&
		    part_touches_at(run, p, at)) {
			return false;
		}
	}
	return true;
}

static void add_stay(const struct run *run, const struct verdict *v,
		     const uint8_t *out, struct str *text)
{
	char name[PART_NAME_SIZE];
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct finding *f = &v->findings[i];

		if (!f->fail || goes_with(run, f, out) || ++n > MAX_STAY) {
			continue;
		}
		str_addf(text, "%s%s",
			 n == 1 ? "\nthese faults remain: " : ", ",
			 part_name(run, &f->part, name, sizeof(name)));
	}
	if (n > MAX_STAY) {
		str_addf(text, " and %zu more", n - MAX_STAY);
	}
}

/** The run's own command with @names in @option in place of its own; nodes left
 *  out before stay out.  A drill's file counts all nodes: it does not fit. */
static void add_command(const struct run *run, const char *option,
			char (*names)[64], size_t n, struct str *out)
{
	const bool skip = strcmp(option, "-x") == 0;
	/* of a retest its pairs, too: they are of these nodes */
	const char *const nodes[] = {
		"faults", "exclude", "nodes",
		skip ? "exclude" : "nodelist",
		json_object_get(run->json, "retest") ? "pairs" : NULL, NULL
	};
	const char *before = json_string_value(run_option(run, "exclude"));
	/* there may be no other node to take the place of these */
	const json_int_t left = json_integer_value(run_option(run, "nodes")) -
				(json_int_t)n;
	struct str list = STR_INIT;

	str_add(out, "\n" TELL_COMMAND);
	tell_again(run, nodes, out);
	if (skip && left > 0) {
		str_addf(out, " -N %lld", (long long)left);
	}
	if (skip && before) {
		str_addf(&list, "%s,", before);
	}
	hostlist_add(&list, names[0], sizeof(*names), n);
	str_addf(out, " %s ", option);
	str_add_quoted(out, str_text(&list));
	tell_passed_on(run, out);
	str_release(&list);
}

static void add_exclude(const struct run *run, const struct verdict *v,
			struct str *out)
{
	uint8_t *without = calloc((size_t)run->n_nodes + 1, 1);
	struct str stay = STR_INIT;

	if (!without || v->n_exclude == 0 ||
	    v->n_exclude >= (size_t)run->n_nodes) {
		free(without);
		return;
	}
	for (size_t i = 0; i < v->n_exclude; i++) {
		without[run_find_node(run, v->exclude[i], -1)] = 1;
	}
	add_stay(run, v, without, &stay);
	str_addf(out, "%sto skip %s:", out->len ? "\n" : "",
		 stay.len > 0	   ? "some of these nodes" :
		 v->n_exclude == 1 ? "this node" :
				     "these nodes");
	add_command(run, "-x", v->exclude, v->n_exclude, out);
	str_add(out, str_text(&stay));
	str_release(&stay);
	free(without);
}

void next_words(const struct run *run, const struct verdict *v,
		struct str *out)
{
	struct str line = STR_INIT;
	bool drained = false;

	retest_words(run, v, out);
	add_exclude(run, v, out);
	for (size_t i = 0; i < v->n_exclude; i++) {
		if (next_drain(run, v, i, &line)) {
			str_addf(out, "%s\n" TELL_COMMAND "%s", drained ? "" :
				 "\ndrain (needs Slurm operator rights):",
				 str_text(&line));
			drained = true;
		}
		str_reset(&line);
	}
	str_release(&line);
	if (v->n_good > 0) {
		str_addf(out, "%slargest set without a fault: %zu of %d nodes\n"
			 "to test only these:",
			 out->len ? "\n" : "", v->n_good, run->n_nodes);
		add_command(run, "--nodelist", v->good, v->n_good, out);
	}
}

/** The line for what sits in @node; false when a name is not one. */
static bool add_drain(const char *node, const char *kind, int index,
		      const char *code, struct str *out)
{
	/* a code is a word like a name */
	if (!hostlist_is_name(node) || !hostlist_is_name(code)) {
		return false;
	}
	str_addf(out, "scontrol -o show node %s | grep -q Reason= || "
		 "scontrol update nodename=%s state=drain reason='gpucheck: "
		 "%s", node, node, kind);
	if (index >= 0) {
		str_addf(out, " %d", index);
	}
	str_addf(out, " %s'", code);
	return true;
}

bool next_drain(const struct run *run, const struct verdict *v, size_t i,
		struct str *out)
{
	const char *node = v->exclude[i];
	int at = run_find_node(run, node, -1);
	bool may = spec_launcher_is(json_member(run->json, "launcher"),
				    LAUNCHER_SLURM) && !run->drill;

	for (size_t k = 0; k < v->n && may; k++) {
		const struct finding *f = &v->findings[k];

		if (f->drain && f->part.peer_node < 0 &&
		    finding_sits_in(f, at) &&
		    add_drain(node, part_kind_name(f->part.kind), f->part.index,
			      f->code, out)) {
			return true;
		}
	}
	return false;
}
