/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to type next: exclude, drain, test good nodes, tell parts apart. */
#include "report/judge/tell.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/hosts.h"
#include "report/judge/findings.h"
#include "report/judge/retest.h"
#include "report/judge/diagnose.h"
#include "report/symptoms/symptom.h"

#define TELL_PROGRAM(run) (tell_legend(run)[0] ? TELL_BY_OTHERS : "gpucheck")

/* ---- next ---------------------------------------------------------------- */

/** Nodes looked at in the exact search: well below a second. */
#define MAX_WORK 20000000

#define OUT (-1)

/** Nodes that cannot stay together: a graph, of which as few nodes as possible
 *  are taken out until no edge is left. */
struct conflicts {
	int n;
	uint8_t *edge;		/* n x n */
	int *degree;		/* of each node in the try under way: edges to
				 * others that are still in; OUT: taken out */
	bool *best;		/* taken out, in the best try so far */
	int n_out, n_best;
	long work;
};

static bool conflict(const struct conflicts *c, int a, int b)
{
	return c->edge[(size_t)a * (size_t)c->n + (size_t)b];
}

static void take_out(struct conflicts *c, int a)
{
	if (c->degree[a] == OUT) {
		return;
	}
	for (int b = 0; b < c->n; b++) {
		c->degree[b] -= conflict(c, a, b) && c->degree[b] != OUT;
	}
	c->degree[a] = OUT;
	c->n_out++;
}

static void add_conflict(struct conflicts *c, int a, int b)
{
	c->edge[(size_t)a * (size_t)c->n + (size_t)b] = 1;
	c->edge[(size_t)b * (size_t)c->n + (size_t)a] = 1;
}

/** Find the pairs of nodes with bad cells; lost agents count only if the
 *  verdict is a failure.  If no cell is bad, take the nodes of findings that
 *  fail.  Returns false if there are none, or if one of these names no node. */
static bool find_conflicts(const struct run *run, const struct verdict *v,
			   struct conflicts *c)
{
	bool any = false;

	run_foreach_cell(run, at) {
		if ((witness_is_bad(run, ABOUT_FAULTS, at) ||
		     (!run->shared_cores &&
		      witness_is_bad(run, ABOUT_SLOW, at))) &&
		    (v->status == VERDICT_FAIL ||
		     strcmp(run_cell_code(run, at), "agent_lost") != 0)) {
			any = true;
			add_conflict(c, run->ranks[run_src(run, at)].node,
				     run->ranks[run_dst(run, at)].node);
		}
	}
	if (any) {
		return true;
	}
	verdict_foreach(v, f) {
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

/**
 * Branch and bound: the worst node goes, or stays and all others go that it
 * conflicts with.  No node takes more edges with it than the worst one.
 */
static void search(struct conflicts *c)
{
	long edges = 0;
	int a = 0, n_out = c->n_out, most;
	size_t size = (size_t)c->n * sizeof(*c->degree);
	int *before = NULL;

	for (int k = 0; k < c->n; k++) {
		edges += c->degree[k] != OUT ? c->degree[k] : 0;
		a = c->degree[k] > c->degree[a] ? k : a;
	}
	edges /= 2;
	c->work += c->n;
	most = c->degree[a];
	if (most <= 0) {
		for (int k = 0; k < c->n && c->n_out < c->n_best; k++) {
			c->best[k] = c->degree[k] == OUT;
		}
		c->n_best = c->n_out < c->n_best ? c->n_out : c->n_best;
		return;
	}
	if (c->n_out + (edges + most - 1) / most >= c->n_best) {
		return;
	}
	/* of two nodes that conflict only with each other either may go */
	if (most > 1 && c->work < MAX_WORK) {
		before = malloc(size);
	}
	if (before) {
		memcpy(before, c->degree, size);
	}
	take_out(c, a);
	search(c);
	if (before && c->work < MAX_WORK) {
		memcpy(c->degree, before, size);
		c->n_out = n_out;
		for (int b = 0; b < c->n; b++) {
			if (conflict(c, a, b)) {
				take_out(c, b);
			}
		}
		search(c);
	}
	free(before);
}

int next_good(const struct run *run, struct verdict *v)
{
	size_t n = (size_t)run->n_nodes, left = 0;
	struct conflicts c = { .n = run->n_nodes, .n_best = run->n_nodes };
	int rc = -1;

	c.edge = calloc(n * n + 1, 1);
	c.degree = calloc(n + 1, sizeof(*c.degree));
	c.best = calloc(n + 1, sizeof(*c.best));
	if (c.edge && c.degree && c.best) {
		rc = 0;
	}
	if (rc == 0 && find_conflicts(run, v, &c)) {
		for (size_t i = 0; i < n * n; i++) {
			c.degree[i / n] += i / n != i % n && c.edge[i];
		}
		/* a node that conflicts with itself, or has no agent, is out */
		for (int a = 0; a < c.n; a++) {
			if (conflict(&c, a, a)) {
				c.edge[(size_t)a * (n + 1)] = 0;
				take_out(&c, a);
			} else if (run->n_ranks && !run->nodes[a].gpus) {
				take_out(&c, a);
			}
		}
		search(&c);
		left = (size_t)(c.n - c.n_best);
	}
	if (left >= 2) {
		v->good = calloc(left, sizeof(*v->good));
		rc = v->good ? 0 : -1;
	}
	for (int i = 0; v->good && i < c.n; i++) {
		if (!c.best[i]) {
			STR_COPY(v->good[v->n_good++], run->nodes[i].name);
		}
	}
	free(c.edge);
	free(c.degree);
	free(c.best);
	return rc;
}

const char *tell_legend(const struct run *run)
{
	return spec_launcher_is(run_file(run->json).launcher, LAUNCHER_ONCE) ?
		       TELL_LEGEND : "";
}

/** Returns true if a command can name the nodes of @run: gpucheck starts their
 *  agents, and not by a list of hosts that has other names, such as
 *  addresses. */
static bool names_nodes(const struct run *run)
{
	const char *hosts = json_string_value(run_option(run, "ssh"));

	return !tell_is_local(run) && !tell_legend(run)[0] &&
	       !(hosts && strpbrk(hosts, "[,") && run->n_nodes > 0 &&
		 !hostlist_has(hosts, run->nodes[0].name));
}

/** Failures that are named; the rest is counted. */
#define MAX_STAY 3

/** Returns true if @f disappears when the nodes @out are excluded: all its
 *  cells are on them. */
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

/** The run's own command with the @n nodes of @list in @option in place of its
 *  own; nodes left out before stay out.  A drill's file counts all nodes: it
 *  does not fit. */
static void add_command(const struct run *run, const char *option,
			const char *list, size_t n, struct str *out)
{
	const bool skip = strcmp(option, "-x") == 0;
	/* of a retest its pairs, too: they are of these nodes */
	const char *nodes[] = {
		"inject", "exclude", "nodes",
		skip ? "exclude" : "nodelist",
		run_file(run->json).retest.given ? "pairs" : NULL, NULL
	};
	const char *before = json_string_value(run_option(run, "exclude"));
	const char *named = json_string_value(run_option(run, "nodelist"));
	/* there may be no other node to take the place of these */
	const json_int_t left = json_integer_value(run_option(run, "nodes")) -
				(json_int_t)n;
	struct str names = STR_INIT, others = STR_INIT;
	struct spec without = { 0 };

	str_addf(&names, "%s%s%s", skip && before ? before : "",
		 skip && before ? "," : "", list);
	STR_COPY(without.exclude, str_text(&names));
	if (skip && named && spec_nodes_left(&without, named, &others) > 0) {
		/* the shorter list instead of two that overlap */
		nodes[3] = "nodelist";
		option = "--nodelist";
		str_reset(&names);
		hostlist_shorten(&names, str_text(&others));
	}
	tell_again(run, nodes, out);
	if (skip && left > 0) {
		tell_nodes(run, (int)left, out);
	}
	str_addf(out, " %s ", option);
	str_add_quoted(out, str_text(&names));
	tell_passed_on(run, out);
	str_release(&others);
	str_release(&names);
}

/** The same of @names, on a line of its own; where the user starts the agents,
 *  that. */
static void add_line(const struct run *run, const char *option,
		     char (*names)[64], size_t n, struct str *out)
{
	struct str list = STR_INIT;

	hostlist_add(&list, names[0], sizeof(*names), n);
	if (names_nodes(run) || tell_is_local(run)) {
		str_add(out, "\n" TELL_COMMAND);
		add_command(run, option, str_text(&list), n, out);
	} else {
		str_addf(out, " start %s on %s", strcmp(option, "-x") == 0 ?
			 "no agents" : "agents only", str_text(&list));
	}
	str_release(&list);
}

void next_without(json_t *json, const char *list, size_t n, struct str *out)
{
	struct run run = { .json = json };

	STR_COPY(run.probe, run_file(json).probe);
	add_command(&run, "-x", list, n, out);
}

static void add_exclude(const struct run *run, const struct verdict *v,
			struct str *out)
{
	uint8_t *without = calloc((size_t)run->n_nodes + 1, 1);
	const char *pairs = json_string_value(run_option(run, "pairs"));
	/* what is left has to have a pair */
	size_t least = pairs && (strcmp(pairs, "inter") == 0 ||
				 strcmp(pairs, "rail") == 0) ? 2 : 1;
	struct str stay = STR_INIT;
	size_t n = 0;

	if (!without || v->n_exclude == 0 ||
	    v->n_exclude + least > (size_t)run->n_nodes) {
		free(without);
		return;
	}
	for (size_t i = 0; i < v->n_exclude; i++) {
		without[run_find_node(run, v->exclude[i], -1)] = 1;
	}
	verdict_foreach(v, f) {
		if (f->fail && !goes_with(run, f, without) &&
		    ++n <= MAX_STAY) {
			str_addf(&stay, "%s%s",
				 n == 1 ? "\nthese faults would remain: " : ", ",
				 PART_NAME(run, &f->part));
		}
	}
	if (n > MAX_STAY) {
		str_addf(&stay, " and %zu more", n - MAX_STAY);
	}
	str_addf(out, "%sto skip %s:", out->len ? "\n" : "",
		 stay.len > 0	   ? "some of these nodes" :
		 v->n_exclude == 1 ? "this node" :
				     "these nodes");
	add_line(run, "-x", v->exclude, v->n_exclude, out);
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
			str_addf(out, "%s%s\n" TELL_COMMAND "%s",
				 drained || !out->len ? "" : "\n",
				 drained ? "" :
				 "drain (needs Slurm operator rights):",
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
		add_line(run, "--nodelist", v->good, v->n_good, out);
	}
}

bool next_drain(const struct run *run, const struct verdict *v, size_t i,
		struct str *out)
{
	const char *node = v->exclude[i];
	int at = run_find_node(run, node, -1);

	if (!spec_launcher_is(run_file(run->json).launcher, LAUNCHER_SLURM) ||
	    run->drill) {
		return false;
	}
	verdict_foreach(v, f) {
		struct str why = STR_INIT;

		/* a code is a word like a name */
		if (!f->drain || !finding_sits_in(f, at) ||
		    !hostlist_is_name(node) || !hostlist_is_name(f->code)) {
			continue;
		}
		str_add(&why, part_kind_name(f->part.kind));
		if (f->part.index >= 0) {
			str_addf(&why, " %d", f->part.index);
		}
		str_addf(&why, " %s", f->code);
		symptom_drain_line(node, str_text(&why), out);
		str_release(&why);
		return true;
	}
	return false;
}

/* ---- tell ---------------------------------------------------------------- */

struct tell_case {
	const struct run *run;
	const struct part *a, *b;
	int src, dst;		/* a bad cell */
	struct str *out;
};

bool tell_is_local(const struct run *run)
{
	return spec_launcher_is(run_file(run->json).launcher,
				LAUNCHER_PRETENDS);
}

/** Options that are of one run alone, or of its output. */
static const char *const of_this_run[] = {
	"out", "resume", "retest", "progress", "quiet", "verbose", "color",
	"json", "csv", "map", "open", "dry-run", "no-wait", "history",
	"metrics", NULL
};
/** Options that do not apply to a single pair. */
#define OF_ALL_PAIRS "transport", "nodes", "pairs", "sample", "quick", \
	"nodelist", "exclude", "diagnose", "jobs", "max-jobs", "deadline"
static const char *const of_all_pairs[] = { OF_ALL_PAIRS, NULL };
/** ... or that apply to NCCL, where another transport takes its place. */
static const char *const of_nccl[] = {
	OF_ALL_PAIRS, "compare", "force-net", "pxn", "production-settings",
	"nccl-lib", NULL
};
/** Those that say how to start and on what, whatever the probe. */
static const char *const of_start[] = {
	"local", "launcher", "hosts", "ssh", "ssh-path", "gpus-per-node",
	"port-range", "srun-args", "sysroot", "inject", NULL
};

/** Options that the larger run sets for its steps, whatever the user typed. */
static const char *const of_a_step[] = {
	"launcher", "agent-timeout", "start-timeout", "time-limit",
	"time-budget", NULL
};

/** Returns which options @probe takes; 0: it is not a probe. */
static unsigned takes(const char *probe)
{
	static const struct {
		const char *name;
		unsigned commands;
	} probes[] = {
		{ "p2p", SPEC_CMD_P2P }, { "ib", SPEC_CMD_IB },
		{ "ping", SPEC_CMD_PING }, { "memlock", SPEC_CMD_MEMLOCK },
		{ "gpu", SPEC_CMD_GPU }, { "info", SPEC_CMD_INFO },
		{ "all", SPEC_CMD_ALL },
	};

	for (size_t i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		if (strcmp(probes[i].name, probe) == 0) {
			return probes[i].commands;
		}
	}
	return collective_parse(probe) < COLLECTIVES ? SPEC_CMD_COLLECTIVE : 0;
}

/** Append the run's own options that @probe takes, but those of @without; only
 *  those of @only unless it is NULL. */
static void add_options(const struct run *run, const char *probe,
			const char *const *only, const char *const *without,
			struct str *out)
{
	const struct run_file f = run_file(run->json);
	const struct spec_option *o;
	const char *key, *name;
	json_t *own;

	json_object_foreach(f.options, key, own) {
		const json_t *value = own;

		o = spec_find(key);
		name = o ? o->name : key;	/* may be an earlier name */
		if (f.whole.given && str_index(of_a_step, name) >= 0) {
			/* as the user chose it */
			value = spec_json_get(f.whole.options, o);
		}
		const char *text = json_string_value(value);
		/* A step of "all" was told to use srun.  Where it is typed
		 * again may be out of the job; gpucheck sees by itself how
		 * Slurm is asked there.  every-rank sets its launcher. */
		bool seen = text && strcmp(name, "launcher") == 0 &&
			    (tell_legend(run)[0] ||
			     (spec_launcher_is(text, LAUNCHER_SLURM) &&
			      !spec_launcher_is(text, LAUNCHER_JOB)));

		if ((run->foreign && !(o && o->harmless)) || !value || seen ||
		    (o && takes(probe) && !(o->commands & takes(probe))) ||
		    str_index(of_this_run, name) >= 0 ||
		    (without && str_index(without, name) >= 0) ||
		    (only && str_index(only, name) < 0)) {
			continue;
		}
		str_add(out, " --");
		str_add_quoted(out, name);
		if (text) {
			str_addch(out, '=');
			str_add_quoted(out, text);
		} else if (json_is_integer(value)) {
			str_addf(out, "=%" JSON_INTEGER_FORMAT,
				 json_integer_value(value));
		} else if (json_is_false(value)) {
			str_add(out, "=0");
		}
	}
}

static void add_start(const struct run *run, const char *probe,
		      const char *const *only, const char *const *without,
		      struct str *out)
{
	str_addf(out, "%s %s", TELL_PROGRAM(run), probe);
	if (tell_is_local(run) && run->n_nodes > 0 &&
	    (run->foreign || (!run_option(run, "local") &&
			      !run_option(run, "launcher")))) {
		str_add(out, " --local");
		if (run->n_nodes > 1 || run->nodes[0].gpus > 0) {
			str_addf(out, "=%dx%d", run->n_nodes,
				 run->nodes[0].gpus > 0 ? run->nodes[0].gpus :
							  1);
		}
	}
	add_options(run, probe, only, without, out);
}

void tell_probe(const struct run *run, const char *probe, struct str *out)
{
	static const char *const local[] = { "local", NULL };
	/* gpu tests the GPUs of this machine once, whatever its nodes are; hang
	 * counts processes of a job, not GPUs */
	const bool once = (strcmp(probe, "gpu") == 0 ||
			   strcmp(run->probe, "hang") == 0) &&
			  tell_is_local(run) && !run_is_model(run);

	if (once) {
		str_addf(out, "gpucheck %s --local", probe);
		add_options(run, probe, of_start, local, out);
	} else {
		add_start(run, probe, of_start, NULL, out);
	}
}

bool tell_there(const struct run *run, const char *command, struct str *out)
{
	const char *probe, *rest = command + strlen("gpucheck ");
	struct str name = STR_INIT, nodes = STR_INIT;
	bool known;

	if (!str_starts(command, "gpucheck ")) {
		return false;
	}
	str_addmem(&name, rest, strcspn(rest, " "));
	probe = str_text(&name);
	rest += name.len;
	known = takes(probe) && !strstr(rest, " --resume") &&
		run_file(run->json).options && run->n_nodes > 0;
	if (known) {
		tell_probe(run, probe, out);
		if (names_nodes(run) && !strstr(rest, "--nodelist=")) {
			hostlist_add(&nodes, run->nodes[0].name,
				     sizeof(*run->nodes), (size_t)run->n_nodes);
			tell_nodes(run, run->n_nodes, out);
			str_add(out, " --nodelist=");
			str_add_quoted(out, str_text(&nodes));
		}
		str_add(out, rest);
		tell_passed_on(run, out);
	}
	str_release(&name);
	str_release(&nodes);
	return known;
}

void tell_again(const struct run *run, const char *const *without,
		struct str *out)
{
	add_start(run, run->probe, NULL, without, out);
}

const char *const tell_retest_options[] = {
	"inject", "ssh", "hosts", "ssh-path", "gpus-per-node", NULL
};

bool tell_retest(const struct run *run, struct str *out)
{
	const char *dir = run_file(run->json).retest.dir;

	if (!dir[0]) {
		return false;
	}
	str_addf(out, "%s %s --retest=", TELL_PROGRAM(run), run->probe);
	str_add_quoted(out, dir);
	/* all others are those of the run that it is about */
	add_options(run, run->probe, tell_retest_options, NULL, out);
	return true;
}

void tell_passed_on(const struct run *run, struct str *out)
{
	const struct run_file f = run_file(run->json);
	const json_t *argv = f.whole.given ? f.whole.argv : f.argv, *word;
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

void tell_nodes(const struct run *run, int n, struct str *out)
{
	if (!run_option(run, "ssh")) {
		str_addf(out, " -N %d", n);
	}
}

static void add_nodelist(const struct run *run, int src, int dst,
			 struct str *out)
{
	int a = run->ranks[src].node, b = run->ranks[dst].node;

	if (names_nodes(run)) {
		str_add(out, " --nodelist=");
		str_add_quoted(out, run->nodes[a].name);
		if (a != b) {
			str_addch(out, ',');
			str_add_quoted(out, run->nodes[b].name);
		}
	}
}

/** Return true if any test was made. */
static bool was_tested(const struct run *run)
{
	const size_t n = run_n_cells(run);	/* of a sample few */
	size_t i = 0;

	while (i < n && !run_measured(run->cells[i].class)) {
		i++;
	}
	return i < n;
}

void tell_command(const struct run *run, const char *transport, int src,
		  int dst, struct str *out)
{
	char a[80], b[80];

	add_start(run, run->probe, NULL,
		  strcmp(transport, run->transport) == 0 ? of_all_pairs :
							   of_nccl, out);
	if (names_nodes(run) &&
	    run->ranks[src].node == run->ranks[dst].node) {
		tell_nodes(run, 1, out);	/* two are the default */
	}
	/* ib has but one that is real, and a log may have one of its own; where
	 * nobody came the node has chosen none */
	if (spec_transport_is(transport, run->ports ? XPORT_MODEL : ~0U) &&
	    (run_option(run, "transport") || was_tested(run))) {
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

/** Adds what a failure of the test means, and the start of the command
 *  below. */
static void add_test(const struct tell_case *c, const struct part *part,
		     const char *note)
{
	str_addf(c->out, "To tell them apart (if this fails too, it is "
		 "%s%s):\n" TELL_COMMAND, PART_NAME(c->run, part), note);
}

/* ---- cells that only one part touches ------------------------------------ */

/** Returns true if the path, or unless @one_way the way back, touches @p. */
static bool goes(const struct tell_case *c, const struct part *p, int src,
		 int dst, bool one_way)
{
	return part_touches(&c->run->cluster, p, src, dst) ||
	       (!one_way && part_touches(&c->run->cluster, p, dst, src));
}

/** Find a test that was not made and touches only one of the two parts, from a
 *  rank on a node of @p, or any rank if @p is not on one node; add its command.
 *  Returns false if there is none. */
static bool test_cell(const struct tell_case *c, const struct part *p,
		      bool one_way)
{
	const struct run *run = c->run;

	for (int src = 0; src < run->n_ranks; src++) {
		int node = run->ranks[src].node;
		bool in = p->node < 0 || p->node == node ||
			  p->peer_node == node;

		for (int dst = 0; in && dst < run->n_ranks; dst++) {
			unsigned class = run_cell(run, src, dst)->class;
			bool a, b;

			if (src == dst || (class != CELL_UNPLANNED &&
					   class != CELL_NOT_RUN)) {
				continue;
			}
			a = goes(c, c->a, src, dst, one_way);
			b = goes(c, c->b, src, dst, one_way);
			if (a != b) {
				add_test(c, a ? c->a : c->b, "");
				tell_command(run, run->transport, src, dst,
					     c->out);
				return true;
			}
		}
	}
	return false;
}

/* ---- tests without such a cell ------------------------------------------- */

/** The NICs without the GPUs.  Ranks of ib are the ports that are up, not the
 *  NICs of a plan. */
static bool test_ports(const struct tell_case *c, const char *unused)
{
	static const struct diagnose_step ib = { .ports = true };
	const struct cluster_rank *s = &c->run->ranks[c->src];
	const struct cluster_rank *d = &c->run->ranks[c->dst];

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

#define ANY_OTHER "; NODE: any other node"

/** One of them with a node that is not in this run, @which. */
static bool test_other(const struct tell_case *c, const char *which)
{
	static const char *const without[] = { "local", NULL };
	const struct part *p = c->a;
	const struct cluster_node *n = NULL;
	char note[96];

	/* the node at the end of the bad cell that belongs to the part */
	for (int i = 0; i < 2 && !n; i++) {
		int node = c->run->ranks[i ? c->dst : c->src].node;

		if (p->kind == PART_SWITCH ?
			    c->run->nodes[node].leaf == p->index + 1 :
			    p->node < 0 || p->node == node) {
			n = &c->run->nodes[node];
		}
	}
	if (!n || (!tell_is_local(c->run) && !names_nodes(c->run))) {
		return false;
	}
	if (tell_is_local(c->run)) {
		snprintf(note, sizeof(note), "; check %s and the new node",
			 n->name);
		add_test(c, c->a, note);
		str_addf(c->out, "gpucheck %s --local=%dx%d", c->run->probe,
			 c->run->n_nodes + 1, c->run->nodes[0].gpus);
		add_options(c->run, c->run->probe, NULL, without, c->out);
	} else {
		add_test(c, c->a, which);
		add_start(c->run, c->run->probe, NULL, of_all_pairs + 1,
			  c->out);
		tell_nodes(c->run, 2, c->out);
		str_add(c->out, " --nodelist=");
		str_add_quoted(c->out, n->name);
		str_add(c->out, ",NODE");
		tell_passed_on(c->run, c->out);
	}
	return true;
}

/**
 * Tests for two parts if no cell of this cluster touches only one of them: for
 * each kind the first row that fits and is possible here.  If the test fails,
 * it is @a.
 */
static const struct {
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

bool tell_apart(const struct run *run, const struct part *a,
		const struct part *b, int src, int dst, struct str *out)
{
	const struct tell_case c = {
		.run = run, .a = a, .b = b, .src = src, .dst = dst,
		.out = out,
	}, turned = {
		.run = run, .a = b, .b = a, .src = src, .dst = dst,
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
		unsigned x = tellings[i].a, y = tellings[i].b;

		if ((part_is(a, x) && part_is(b, y) &&
		     tellings[i].test(&c, tellings[i].which)) ||
		    (part_is(b, x) && part_is(a, y) &&
		     tellings[i].test(&turned, tellings[i].which))) {
			return true;
		}
	}
	return false;
}
