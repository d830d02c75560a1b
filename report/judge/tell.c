/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/tell.h"

#include <string.h>

#include "lib/data/json.h"
#include "report/model/diagnose.h"

struct tell_case {
	const struct run *run;
	const struct part *a, *b;
	int src, dst;		/* a bad cell */
	struct str *out;
};

bool tell_is_local(const struct run *run)
{
	return spec_launcher_is(json_member(run->json, "launcher"),
				LAUNCHER_PRETENDS);
}

/** Options that are of one run alone, or of its output. */
static const char *const of_this_run[] = {
	"out", "resume", "retest", "progress", "quiet", "verbose", "color", "json", "csv",
	"map", "open", "dry-run", "no-wait", NULL
};
/** What a single pair does without. */
static const char *const of_all_pairs[] = {
	"transport", "nodes", "pairs", "sample", "nodelist", "exclude",
	"diagnose", "jobs", "lanes", NULL
};
/** Those that say how to start, whatever the probe. */
static const char *const of_start[] = {
	"local", "launcher", "hosts", "ssh", "ssh-path", NULL
};

/** What a step of a larger run is told by that, whatever was typed. */
static const char *const of_a_step[] = {
	"launcher", "boot-timeout", "start-timeout", "max-time", "budget", NULL
};

static bool is_among(const char *const *list, const char *name)
{
	while (list && *list && strcmp(*list, name) != 0) {
		list++;
	}
	return list && *list;
}

static void add_option(const char *name, const json_t *value, struct str *out)
{
	str_add(out, " --");
	str_add_quoted(out, name);
	if (json_is_string(value)) {
		str_addch(out, '=');
		str_add_quoted(out, json_string_value(value));
	} else if (json_is_integer(value)) {
		str_addf(out, "=%" JSON_INTEGER_FORMAT,
			 json_integer_value(value));
	} else if (json_is_false(value)) {
		str_add(out, "=0");
	}
}

/** A step of "all" was told to use srun.  Where it is typed again may be out of
 *  the job; gpucheck sees by itself how Slurm is asked there. */
static bool is_seen_there(const char *name, const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strcmp(name, "launcher") == 0 &&
	       spec_launcher_is(text, LAUNCHER_SLURM);
}

/** The value of the option @name that somebody chose, where the run has @value;
 *  NULL where nobody did. */
static const json_t *chosen(const struct run *run, const char *name,
			    const json_t *value)
{
	const json_t *whole = json_object_get(run->json, "whole");

	return whole && is_among(of_a_step, name) ?
		       json_object_get(json_object_get(whole, "options"),
				       name) : value;
}

/** The run's own, but those of @without; only those of @only unless NULL. */
static void add_options(const struct run *run, const char *const *only,
			const char *const *without, struct str *out)
{
	json_t *options = json_object_get(run->json, "options"), *own;
	const struct spec_option *o;
	const char *name;

	json_object_foreach(options, name, own) {
		const json_t *value = chosen(run, name, own);

		o = spec_find(name);
		if (run->foreign && !(o && o->harmless)) {
			continue;
		}
		if (value && !is_among(of_this_run, name) &&
		    !is_among(without, name) && !is_seen_there(name, value) &&
		    (!only || is_among(only, name))) {
			add_option(name, value, out);
		}
	}
}

static void add_start(const struct run *run, const char *probe,
		      const char *const *only, const char *const *without,
		      struct str *out)
{
	str_addf(out, "gpucheck %s", probe);
	if (tell_is_local(run) && run->n_nodes > 0 &&
	    (run->foreign || !run_option(run, "local"))) {
		str_addf(out, " --local=%dx%d", run->n_nodes,
			 run->nodes[0].gpus);
	}
	add_options(run, only, without, out);
}

void tell_again(const struct run *run, const char *const *without,
		struct str *out)
{
	add_start(run, run->probe, NULL, without, out);
}

bool tell_retest(const struct run *run, struct str *out)
{
	/* all others are those of the run that it is about */
	static const char *const anew[] = {
		"faults", "ssh", "hosts", "ssh-path", "gpus-per-node", NULL
	};
	const char *dir = json_member(json_object_get(run->json, "retest"),
				      "dir");

	if (!dir[0]) {
		return false;
	}
	str_addf(out, "gpucheck %s --retest=", run->probe);
	str_add_quoted(out, dir);
	add_options(run, anew, NULL, out);
	return true;
}

void tell_passed_on(const struct run *run, struct str *out)
{
	const json_t *whole = json_object_get(run->json, "whole"), *word;
	const json_t *argv = json_object_get(whole ? whole : run->json,
					     "argv");
	bool behind = false;
	size_t i;

	if (run->foreign) {
		return;
	}
	json_array_foreach(argv, i, word) {
		const char *text = json_string_value(word);

		behind = behind || (text && strcmp(text, "--") == 0);
		if (behind && text) {
			str_addch(out, ' ');
			str_add_quoted(out, text);
		}
	}
}

static void add_nodelist(const struct run *run, int src, int dst,
			 struct str *out)
{
	int a = run->ranks[src].node, b = run->ranks[dst].node;

	if (!tell_is_local(run)) {
		str_add(out, " --nodelist=");
		str_add_quoted(out, run->nodes[a].name);
		if (a != b) {
			str_addch(out, ',');
			str_add_quoted(out, run->nodes[b].name);
		}
	}
}

void tell_command(const struct run *run, const char *transport, int src,
		  int dst, struct str *out)
{
	char a[80], b[80];

	add_start(run, run->probe, NULL, of_all_pairs, out);
	if (!tell_is_local(run) &&
	    run->ranks[src].node == run->ranks[dst].node) {
		str_add(out, " -N 1");	/* two are the default */
	}
	/* ib has but one that is real */
	if (!run->ports || spec_transport_is(transport, XPORT_MODEL)) {
		str_add(out, " --transport=");
		str_add_quoted(out, transport);
	}
	str_add(out, " --pairs=");
	str_add_quoted(out, part_rank_name(run, src, a, sizeof(a)));
	str_addch(out, '-');
	str_add_quoted(out, part_rank_name(run, dst, b, sizeof(b)));
	add_nodelist(run, src, dst, out);
	tell_passed_on(run, out);
}

/** What its outcome means, and below it the command. */
static void add_test(const struct tell_case *c, const struct part *part,
		     const char *note)
{
	char name[PART_NAME_SIZE];

	str_addf(c->out,
		 "To tell them apart (if this fails too, it is %s%s):\n"
		 TELL_COMMAND,
		 part_name(c->run, part, name, sizeof(name)), note);
}

/* ---- a cell that only one of them touches -------------------------------- */

/** Does it go through @p, the way back too unless @one_way? */
static bool goes(const struct tell_case *c, const struct part *p, int src,
		 int dst, bool one_way)
{
	return part_touches(c->run, p, src, dst) ||
	       (!one_way && part_touches(c->run, p, dst, src));
}

/** Is there such a cell from rank @src that nobody tried?  Then try it. */
static bool test_from(const struct tell_case *c, int src, bool one_way)
{
	for (int dst = 0; dst < c->run->n_ranks; dst++) {
		unsigned class = run_cell(c->run, src, dst)->class;
		bool a, b;

		if (src == dst || (class != CELL_UNPLANNED &&
				   class != CELL_NOT_RUN)) {
			continue;
		}
		a = goes(c, c->a, src, dst, one_way);
		b = goes(c, c->b, src, dst, one_way);
		if (a != b) {
			add_test(c, a ? c->a : c->b, "");
			tell_command(c->run, c->run->transport, src, dst,
				     c->out);
			return true;
		}
	}
	return false;
}

/** From the ranks of a part, which are all where it is not of one node. */
static bool test_cell(const struct tell_case *c, const struct part *p,
		      bool one_way)
{
	for (int r = 0; r < c->run->n_ranks; r++) {
		int node = c->run->ranks[r].node;

		if ((p->node < 0 || p->node == node || p->peer_node == node) &&
		    test_from(c, r, one_way)) {
			return true;
		}
	}
	return false;
}

/* ---- what tells without one ---------------------------------------------- */

/** The NICs without the GPUs.  Ranks of ib are the ports that are up, not the
 *  NICs of a plan. */
static bool test_ports(const struct tell_case *c, const char *unused)
{
	static const struct diagnose_step ib = { .ports = true };
	const struct run_rank *s = &c->run->ranks[c->src];
	const struct run_rank *d = &c->run->ranks[c->dst];

	(void)unused;
	if (s->node == d->node || tell_is_local(c->run) || c->run->ports ||
	    run_is_model(c->run)) {
		return false;
	}
	add_test(c, c->a, "");
	add_start(c->run, "ib", of_start, NULL, c->out);
	str_add(c->out, " --pairs=");
	str_add_quoted(c->out, c->run->nodes[s->node].name);
	str_addf(c->out, ":%d-", diagnose_index(c->run, &ib, c->src));
	str_add_quoted(c->out, c->run->nodes[d->node].name);
	str_addf(c->out, ":%d", diagnose_index(c->run, &ib, c->dst));
	add_nodelist(c->run, c->src, c->dst, c->out);
	return true;
}

/** The network of the nodes without RDMA of the NICs, and GPUs. */
static bool test_sockets(const struct tell_case *c, const char *unused)
{
	(void)unused;
	if (spec_transport_is(c->run->transport, XPORT_SOCKETS | XPORT_MODEL)) {
		return false;
	}
	add_test(c, c->a, "");
	if (c->run->ports) {	/* ib has but one transport */
		add_start(c->run, "ping", of_start, NULL, c->out);
		add_nodelist(c->run, c->src, c->dst, c->out);
		return true;
	}
	tell_command(c->run, "tcp", c->src, c->dst, c->out);
	return true;
}

/** An end of the bad cell that is of @p; -1 for none. */
static int end_of(const struct tell_case *c, const struct part *p)
{
	const int ends[] = { c->src, c->dst };

	for (int i = 0; i < 2; i++) {
		int node = c->run->ranks[ends[i]].node;

		if (p->kind == PART_SWITCH ?
			    c->run->nodes[node].leaf == p->index + 1 :
			    p->node < 0 || p->node == node) {
			return node;
		}
	}
	return -1;
}

#define ANY_OTHER "; NODE: any other node"

/** One of them with a node that is not in this run, @which. */
static bool test_other(const struct tell_case *c, const char *which)
{
	int node = end_of(c, c->a);

	if (node < 0) {
		return false;
	}
	if (tell_is_local(c->run)) {
		static const char *const without[] = { "local", NULL };
		char note[96];

		snprintf(note, sizeof(note), "; look at %s and the new node",
			 c->run->nodes[node].name);
		add_test(c, c->a, note);
		str_addf(c->out, "gpucheck %s --local=%dx%d", c->run->probe,
			 c->run->n_nodes + 1, c->run->nodes[0].gpus);
		add_options(c->run, NULL, without, c->out);
	} else {
		add_test(c, c->a, which);
		add_start(c->run, c->run->probe, NULL, of_all_pairs + 1,
			  c->out);
		str_add(c->out, " -N 2 --nodelist=");
		str_add_quoted(c->out, c->run->nodes[node].name);
		str_add(c->out, ",NODE");
		tell_passed_on(c->run, c->out);
	}
	return true;
}

/**
 * Where no cell of this cluster is left that only one of them touches: kind by
 * kind, the first row that fits and can be done here.  The test is bad too if
 * it is one of @a.
 */
static const struct telling {
	unsigned a, b;		/* kinds */
	bool (*test)(const struct tell_case *c, const char *which);
	const char *which;
} tellings[] = {
	{ KIND(NIC), KIND(GPU), test_ports, "" },
	{ KIND(NODE), KIND(NIC) | KIND(GPU), test_sockets, "" },
	{ KIND(INTER_NODE), KIND(RAIL), test_sockets, "" },
	{ KIND(NODE_PAIR), KIND(PAIR), test_sockets, "" },
	{ KIND(INTER_NODE) | KIND(SWITCH), KIND(SWITCH), test_other,
	  "; NODE: a node on another leaf switch" },
	{ KIND(NODE), ~0U, test_other, ANY_OTHER },
	{ KIND(NIC), ~0U, test_other, ANY_OTHER },
	{ KIND(GPU), ~0U, test_other, ANY_OTHER },
	{ KIND(SWITCH), ~0U, test_other, ANY_OTHER },
};

/** The row fits either way round. */
static bool try_row(const struct telling *t, const struct tell_case *c)
{
	struct tell_case turned = *c;

	turned.a = c->b;
	turned.b = c->a;
	return (part_is(c->a, t->a) && part_is(c->b, t->b) &&
		t->test(c, t->which)) ||
	       (part_is(c->b, t->a) && part_is(c->a, t->b) &&
		t->test(&turned, t->which));
}

bool tell_apart(const struct run *run, const struct part *a,
		const struct part *b, int src, int dst, struct str *out)
{
	const struct tell_case c = {
		.run = run, .a = a, .b = b, .src = src, .dst = dst,
		.out = out,
	};

	if (src < 0 || run->mesh) {
		return false;	/* addresses have no list of pairs */
	}
	if (test_cell(&c, a, false) || test_cell(&c, b, false) ||
	    test_cell(&c, a, true) || test_cell(&c, b, true)) {
		return true;
	}
	for (size_t i = 0; i < sizeof(tellings) / sizeof(tellings[0]); i++) {
		if (try_row(&tellings[i], &c)) {
			return true;
		}
	}
	return false;
}
