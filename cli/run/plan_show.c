/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of "gpucheck plan" and --dry-run. */
#include "cli/run/probe_run.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/front/options.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "probes/ping/ping.h"
#include "report/base/wrap.h"
#include "report/history/history.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm_lanes.h"

/* ---- plan words ---------------------------------------------------------- */

#define WIDTH	    80
#define MORE	    20	/* of the last line, with what is before */
/** Rounds shown with -v; each further -v shows that many more. */
#define ROUNDS	    3
#define ROUND_LINES 2

/** A line of the table; @value "" is not known. */
static void add_row(struct str *out, const char *name, const char *value,
		    const char *note)
{
	str_addf(out, "  %-11s %14s%s%s\n", name, value[0] ? value : "-",
		 note[0] ? "  " : "", note);
}

/** The same of a number; 0 is not known. */
static void add_count(struct str *out, const char *name, int64_t n,
		      const char *note)
{
	add_row(out, name, n > 0 ? UNITS_COUNT(n) : "", note);
}

const char *plan_time_text(const struct forecast *f, char *buf, size_t size)
{
	char least[32], most[32];
	bool low = !isnan(f->least_s), high = !isnan(f->most_s);

	buf[0] = '\0';
	if (!isnan(f->time_s)) {
		return forecast_time(f->time_s, buf, size);
	}
	if (low) {
		forecast_time(f->least_s, least, sizeof(least));
	}
	if (high) {
		forecast_time(f->most_s, most, sizeof(most));
	}
	if (low && high) {
		snprintf(buf, size, "%s to %s", least, most);
	} else if (low || high) {
		snprintf(buf, size, "%s", low ? least : most);
	}
	return buf;
}

/** Returns a note on the time: how to read it, or why there is none. */
static const char *time_note(const struct forecast *f)
{
	if (f->paced) {
		return "what --rate-limit allows, if nothing is broken";
	}
	if (!isnan(f->time_s)) {
		return f->here ? "estimate, if nothing is broken" :
				 "estimate, once started and if nothing is "
				 "broken";
	}
	if (!isnan(f->least_s) || !isnan(f->most_s)) {
		return !isnan(f->least_s) && !isnan(f->most_s) ?
			       "all nodes at the same time" :
		       isnan(f->least_s) ?
			       "at most, all nodes at the same time" :
			       "at least; nodes that do not respond take "
			       "longer";
	}
	return "";
}

static void add_hours_row(const char *name, double hours, struct str *out)
{
	char buf[32];

	snprintf(buf, sizeof(buf), hours < 1 ? "%.2g" : hours < 100 ? "%.1f" :
					       "%.0f", hours);
	add_row(out, name, buf, "");
}

/** Add the rows of nodes, ranks and sizes, with the options to type for those
 *  that are unknown. */
static void add_shape(const struct forecast *f, struct str *out)
{
	char note[64];

	add_count(out, "nodes", f->nodes,
		  f->nodes ? "" : "not known here: use -N");
	if (f->probe->kind == PROBE_NODES) {
		return;
	}
	if (f->assumed) {
		snprintf(note, sizeof(note),
			 "if a node has %" PRId64 " %s; otherwise use -G",
			 f->spec.gpus_per_node,
			 f->probe->ports ? "HCA ports" : "GPUs");
	} else {
		snprintf(note, sizeof(note), "%" PRId64 " per node",
			 f->nodes ? f->ranks / f->nodes : 0);
	}
	add_count(out, "ranks", f->ranks, note);
	if (f->probe->kind == PROBE_COLLECTIVE) {
		add_count(out, "sizes", f->sizes,
			  f->cells ? "each out of place and in place" : "");
		add_count(out, "variants", f->variants,
			  f->variants > 1 ? "each variant measures every size" :
					    "");
	}
}

/** Add the rows of the tests. */
static void add_tests(const struct forecast *f, struct str *out)
{
	const bool pairs = f->probe->kind == PROBE_PAIRS;
	const char *note;

	if (f->probe->kind == PROBE_COLLECTIVE) {
		note = f->cells ? "one per row of results.csv" : "";
	} else if (f->cells == 0) {
		note = f->ranks > PLAN_RANKS ?
			       "not counted for more than 8192 ranks" :
			       "known when the nodes have started";
	} else if (pairs) {
		note = "two per pair, one in each direction";
	} else {
		note = f->nodes > PINGLIST_GROUP && !f->spec.all_pairs ?
			       "groups of 32 nodes, two pairs between groups" :
			       "one per path from address to address";
	}
	add_count(out, "tests", (int64_t)f->cells, note);
	if (f->probe->kind == PROBE_COLLECTIVE && f->spec.verify > 0) {
		add_count(out, "verified", f->spec.verify,
			  "operations of each test");
	}
	if (f->probe->meets) {
		add_count(out, "probes/s", PING_FLEET_RATE,
			  "at most, of all nodes together");
		if (f->neighbours > 0) {
			add_count(out, "neighbours", f->neighbours,
				  "at most, of each interface");
		}
	}
	if (pairs) {
		add_count(out, "rounds", (int64_t)f->turns,
			  f->turns ? "pairs that must run one after the other" :
				     "");
	}
}

static void add_table(const struct forecast *f, struct str *out)
{
	char text[80];
	double hours;

	add_shape(f, out);
	if (f->probe->kind != PROBE_NODES || f->probe->meets) {
		add_tests(f, out);
	}
	add_row(out, "time", plan_time_text(f, text, sizeof(text)),
		time_note(f));
	if (f->bytes > 0) {
		units_size_text((uint64_t)f->bytes, text, sizeof(text));
		add_row(out, "bytes", text, "from node to node, about");
	}
	if (!isnan(f->retry_s)) {
		forecast_time(f->retry_s, text, sizeof(text));
		add_row(out, "retries", text, "at most, for tests that fail the "
			"first time");
	}
	if (!isnan(f->follow_s)) {
		forecast_time(f->follow_s, text, sizeof(text));
		add_row(out, "follow-up", text, "at most, if the verdict "
			"leaves something open");
	}
	if (!isnan(f->diagnose_s)) {
		char note[80];

		snprintf(note, sizeof(note), "at most, for up to %" PRId64
			 " failed or slow pairs", f->diagnosed);
		forecast_time(f->diagnose_s, text, sizeof(text));
		add_row(out, "diagnosis", text, note);
	}
	hours = f->time_s / 3600;
	if (isnan(hours)) {
		return;
	}
	add_hours_row("node-hours", hours * (double)f->nodes, out);
	if (xport_is(f->ops, XPORT_GPU)) {
		add_hours_row("GPU-hours", hours * (double)f->ranks, out);
	}
}

/* Add the typed command with --sample=@k, quoted for a shell. */
static void plan_command(const struct session *s, int k, struct str *out)
{
	struct args a = { 0 };
	int i = 1, end = s->argc - (int)(&s->argv[s->argc] - s->extra);

	end -= end < s->argc;	/* the "--" */
	args_add(&a, "gpucheck");
	for (; i < end; i++) {
		const struct spec_option *o;

		option_word(s->spec.commands, s->argv[i], &o, NULL);
		if (!o || strcmp(o->name, "sample") != 0) {
			args_add(&a, s->argv[i]);
		} else {
			i += !strchr(s->argv[i], '=');
		}
	}
	args_addf(&a, "--sample=%d", k);
	for (; i < s->argc; i++) {
		args_add(&a, s->argv[i]);
	}
	args_line(&a, out);
	args_release(&a);
}

/** Rails assumed for nodes whose interfaces are not known yet. */
#define USUAL_RAILS 8

/* ---- partners ------------------------------------------------------------ */

/** Pairs of a round from task @i on, as far as lines go; the next round. */
static size_t add_round(const struct forecast *f, size_t i, struct str *out)
{
	const struct plan *p = &f->plan;
	int round = p->tasks[i].round;
	int column = 0, line = 0;
	size_t left = 0;

	for (; i < p->n && p->tasks[i].round == round; i++) {
		char pair[32];
		int n = snprintf(pair, sizeof(pair), " %d-%d", p->tasks[i].a,
				 p->tasks[i].b);

		if (column + n > WIDTH - MORE) {
			line++;
			column = 0;
		}
		if (line == ROUND_LINES) {
			left++;
			continue;
		}
		str_addf(out, "%s%s", column || !line ? "" : "\n   ", pair);
		column += n;
	}
	if (left) {
		str_addf(out, " and %zu more", left);
	}
	str_addch(out, '\n');
	return i;
}

void plan_words(const struct session *s, const struct forecast *f,
		struct str *out)
{
	const int64_t all = USUAL_RAILS * f->neighbours;
	int64_t room = 1024;
	size_t task = 0;
	char text[32];
	double time_s;
	int k;

	add_table(f, out);
	tiers_words(f, out);
	k = forecast_sample(f, &time_s);
	if (k) {
		str_addf(out, "\nShorter, about %s, with %d partners of "
			 "each rank:\n  ",
			 forecast_time(time_s, text, sizeof(text)), k);
		plan_command(s, k, out);
	} else if (f->time_s > FORECAST_LONG_S) {
		str_add(out, "\nNo sample takes less than ten minutes: measure "
			"fewer sizes (-b, -e, -f).\n");
	}
	if (all > f->kept) {
		/* limits of a kernel's neighbour table: below the first number
		 * it forgets no neighbour, above the last it accepts none */
		while (room < all) {
			room *= 2;
		}
		str_addf(out, "\nWith %d interfaces, a node has up to %" PRId64
			 " neighbours, but a kernel with\nthe settings of this "
			 "machine keeps %" PRId64 " (gc_thresh3): tests may\n"
			 "fail because the table is full. To enlarge it, on "
			 "each node as root:\n"
			 "  sysctl -w net.ipv4.neigh.default.gc_thresh{3=%"
			 PRId64 ",2=%" PRId64 ",1=%" PRId64 "}\n",
			 USUAL_RAILS, all, f->kept, 4 * room, 2 * room, room);
	}
	if (!s->spec.verbose || !f->plan.n) {
		return;
	}
	str_addf(out, "\nThe first rounds, as pairs of ranks (%d per node). A "
		 "pair starts when both\nranks are free; it does not wait for "
		 "others of its round:\n", f->layout.nodes[0].gpus);
	for (int64_t n = 0; n < ROUNDS * f->spec.verbose && task < f->plan.n;
	     n++) {
		str_addf(out, "  %2d:", (int)n + 1);
		task = add_round(f, task, out);
	}
}

/* ---- plan show ----------------------------------------------------------- */

/* ---- JSON -------------------------------------------------------------- */

static json_t *cheaper_json(const struct session *s, const struct forecast *f)
{
	struct str line = STR_INIT;
	double time_s;
	int k = forecast_sample(f, &time_s);
	json_t *json;

	if (!k) {
		return json_null();
	}
	plan_command(s, k, &line);
	json = json_pack("{s:i, s:f, s:o}", "sample", k, "time_s", time_s,
			 "command", json_text(str_text(&line)));
	str_release(&line);
	return json;
}

/* 0 and NAN are not known */
#define COUNT(member, key) \
	FIELD(forecast, member, key, INT, 1, INT64_MAX, "", \
	      .optional = FIELD_NULL)
#define REAL(member, key) \
	FIELD(forecast, member, key, REAL, 0, 0, "", .optional = FIELD_NULL)

static const struct field shape_fields[] = {
	FIELD_NAME(forecast, probe, "probe", ""),
	FIELD_NAME(forecast, ops, "transport", "", .optional = FIELD_NULL),
	COUNT(nodes, "nodes"), COUNT(ranks, "ranks"), { 0 }
};

static const struct field forecast_fields[] = {
	COUNT(cells, "cells"), COUNT(turns, "rounds"), COUNT(sizes, "sizes"),
	COUNT(variants, "variants"), REAL(time_s, "time_s"),
	REAL(least_s, "time_least_s"), REAL(most_s, "time_most_s"),
	REAL(bytes, "bytes"), REAL(retry_s, "retry_s"),
	REAL(follow_s, "follow_up_s"), REAL(diagnose_s, "diagnose_s"),
	COUNT(diagnosed, "diagnose_pairs"), COUNT(neighbours, "neighbours"),
	COUNT(kept, "neighbours_kept"), { 0 }
};

static json_t *forecast_json(const struct forecast *f)
{
	const bool gpu = f->ops && xport_is(f->ops, XPORT_GPU);
	const double hours = f->time_s / 3600;
	json_t *json = schema_json(shape_fields, f), *assumed = json_array();

	if (f->assumed && f->probe->kind != PROBE_NODES) {
		json_array_append_new(assumed, json_string("gpus-per-node"));
	}
	json_object_set_new(json, "assumed", assumed);
	json_object_update_new(json, schema_json(forecast_fields, f));
	json_object_set_new(json, "node_hours",
			    json_real_or_null(hours * (double)f->nodes));
	json_object_set_new(json, "gpu_hours", json_real_or_null(
		gpu ? hours * (double)f->ranks : NAN));
	return json;
}

/* ---- one probe, or several --------------------------------------------- */

static int print_json(json_t *json)
{
	struct err e;
	int rc = json ? json_print(json, stdout,
				   JSON_INDENT(2) | JSON_REAL_PRECISION(6)) :
			-1;

	json_decref(json);
	putchar('\n');
	if (rc < 0 && !ferror(stdout)) {
		err_set(&e, 0, "no memory for the plan");
		talk_err(&e);
		return CODE_UNABLE;
	}
	return CODE_HEALTHY;
}

/** State for each() of a conductor; its JSON. */
struct several {
	const struct command *const *commands;
	const char *launcher;
	struct str text;
	json_t *list;
	double least_s, most_s;	/* of all together, as far as known */
	double bytes;		/* from node to node */
};

#define ALL(member, key, type) FIELD(several, member, key, type, 0, 0, "")

static const struct field head_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	ALL(launcher, "launcher", LINK), { 0 }
};

static const struct field several_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	ALL(launcher, "launcher", LINK), ALL(list, "probes", ARRAY),
	ALL(least_s, "time_least_s", REAL), ALL(most_s, "time_most_s", REAL),
	ALL(bytes, "bytes", REAL), { 0 }
};

static int show_one(struct session *s, const struct probe *probe,
		    const char *launcher, const char *why)
{
	struct str out = STR_INIT, left_out = STR_INIT;
	struct forecast f;
	json_t *json, *more;
	int code = CODE_HEALTHY;

	budget_fit(&s->spec, probe, launcher, &left_out);
	forecast_make(&s->spec, probe, launcher, PLAN_RANKS, &f);
	if (s->spec.json) {
		more = forecast_json(&f);
		json = schema_json(head_fields, &(struct several){
			.launcher = launcher });
		json_object_update(json, more);
		json_object_set_new(json, "cheaper", cheaper_json(s, &f));
		json_object_set_new(json, "tiers", tiers_json(&f));
		json_object_set_new(json, "left_out",
				    json_text(str_text(&left_out)));
		json_decref(more);
		code = print_json(json);
	} else {
		str_addf(&out, "%s%s%s, %s\n\n", probe->name,
			 f.ops ? " by " : "", f.ops ? f.ops->name : "", why);
		plan_words(s, &f, &out);
		if (left_out.len > 0) {
			str_add(&out, "\n--time-budget: ");
			wrap_text(&(struct wrap){ .out = &out, .width = 80 }, 2,
				  str_text(&left_out));
		}
		if (!s->spec.quiet) {
			screen_print(&out, stdout);
		}
	}
	str_release(&out);
	str_release(&left_out);
	forecast_release(&f);
	return code;
}

static void see_step(void *arg, const char *probe, const struct args *line,
		     const char *why_not)
{
	struct several *all = arg;
	struct str left_out = STR_INIT;
	struct session s = { .whole = true };
	char cells[32] = "-", time[80];
	struct forecast f;
	const char *bound;
	double least_s, most_s;

	if (!line) {
		str_addf(&all->text, "  %-11s %10s  not run: %s\n", probe, "-",
			 why_not);
		return;
	}
	s.argc = (int)line->n;
	s.argv = line->argv;
	if (options_parse(&s, command_find(all->commands, probe), NULL) != 0) {
		options_release(&s);
		return;
	}
	/* inside the job, a step uses this launcher */
	budget_fit(&s.spec, probe_find(probe), all->launcher, &left_out);
	forecast_make(&s.spec, probe_find(probe), all->launcher, PLAN_RANKS,
		      &f);
	if (!isnan(f.time_s)) {
		bound = "about ";
		least_s = most_s = f.time_s;
	} else {
		bound = isnan(f.least_s) ? "at most " :
			isnan(f.most_s)	 ? "at least " : "";
		least_s = isnan(f.least_s) ? 0 : f.least_s;
		most_s = isnan(f.most_s) ? least_s : f.most_s;
	}
	all->least_s += least_s;
	all->most_s += most_s;
	all->bytes += f.bytes > 0 ? f.bytes : 0;
	if (f.cells) {
		units_count_text(f.cells, cells);
	}
	plan_time_text(&f, time, sizeof(time));
	str_addf(&all->text, "  %-11s %10s  %s%s", f.probe->name, cells,
		 time[0] ? bound : "", time[0] ? time : "not known in advance");
	if (!isnan(f.diagnose_s)) {
		str_addf(&all->text, ", and at most %s for bad pairs",
			 forecast_time(f.diagnose_s, time, sizeof(time)));
	}
	str_addch(&all->text, '\n');
	json_array_append_new(all->list, forecast_json(&f));
	if (left_out.len > 0) {
		str_add(&all->text, "    ");
		wrap_text(&(struct wrap){ .out = &all->text, .width = 80 }, 6,
			  str_text(&left_out));
	}
	str_release(&left_out);
	forecast_release(&f);
	options_release(&s);
}

static int show_all(const struct session *s, const struct conductor *c,
		    const char *launcher, const char *why)
{
	const struct step_place place = {
		.self = "gpucheck", .dir = "", .whole = "", .spec = &s->spec,
		.commands = s->commands,
		.launcher = launcher, .takes = c->takes,
	};
	struct several all = { .commands = s->commands,
			       .launcher = launcher, .list = json_array() };
	char least[32], most[32], bytes[32];
	int code = CODE_HEALTHY;

	c->each(&place, see_step, &all);
	if (s->spec.json) {
		code = print_json(schema_json(several_fields, &all));
	} else {
		forecast_time(all.least_s, least, sizeof(least));
		forecast_time(all.most_s, most, sizeof(most));
		units_size_text((uint64_t)all.bytes, bytes, sizeof(bytes));
		printf("%s, one after the other, %s\n\n"
		       "  %-11s %10s  time\n%s  %-11s %10s  about %s%s%s, and "
		       "the start of each\n",
		       c->name, why, "probe", "tests", str_text(&all.text),
		       "total", "", least,
		       strcmp(least, most) == 0 ? "" : " to ",
		       strcmp(least, most) == 0 ? "" : most);
		if (all.bytes > 0) {
			printf("  %-11s %10s  from node to node, about\n",
			       "bytes", bytes);
		}
		printf("\n\"gpucheck plan p2p\" shows details of one.\n");
	}
	json_decref(all.list);
	str_release(&all.text);
	return code;
}

/* ---- --stale ------------------------------------------------------------- */

/** The nodes of a cluster, and those of its next small job. */
struct stale {
	struct store_runs runs;
	struct coverage c;
	struct slurm_lane_nodes slurm;
	char **names;		/* NULL: those of the history */
	bool *idle;		/* of each node of c, as Slurm says; without
				 * Slurm, all but those of --exclude */
	size_t n_names, n_idle, k;
	char dir[PATH_MAX];	/* of the history */
};

#define STALE(member, key, type) FIELD(stale, member, key, type, 0, 0, "")

static const struct field stale_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	STALE(c.n, "nodes", INT), STALE(n_idle, "idle", INT),
	STALE(c.pairs, "pairs", INT), STALE(c.never, "never", INT),
	FIELD(stale, c.oldest_utc, "oldest_utc", LINK, 0, 0, "",
	      .optional = FIELD_NULL),
	STALE(c.next.data, "nodelist", LINK),
	STALE(k, "nodes_of_job", INT), STALE(c.next_first, "first_tests", INT),
	FIELD(stale, c.nights, "nights", INT, 1, INT64_MAX, "",
	      .optional = FIELD_NULL),
	FIELD(stale, c.until_tested, "nights_until_tested", INT, 1,
	      INT64_MAX, "", .optional = FIELD_NULL),
	STALE(c.nights_least, "nights_least", INT), { 0 }
};

/** Read the nodes that Slurm has, or --nodelist without Slurm, and the history
 *  of their pairs; with @e: an exit code. */
static int stale_read(const struct session *s, struct stale *t, struct err *e)
{
	const char *list = s->spec.nodelist;
	const bool here = launch_child_need("sinfo", NULL) == 0;
	const bool slurm = here && slurm_lane_nodes(&s->spec, s->extra,
						    &t->slurm, e) == 0;

	if (slurm) {
		t->names = calloc(t->slurm.n + 1, sizeof(*t->names));
	} else if (list[0]) {
		*e = (struct err){ 0 };
		t->names = hostlist_expand(list, &t->n_names, e);
	} else if (here) {
		return CODE_UNABLE;
	}
	for (size_t i = 0; slurm && t->names && i < t->slurm.n; i++) {
		if (!slurm_lane_is_down(t->slurm.list[i].state)) {
			t->names[t->n_names++] =
				strdup(t->slurm.list[i].name);
		}
	}
	if (((slurm || list[0]) && !t->names) ||
	    history_dir(s->spec.history, !s->plan, t->dir, e) < 0 ||
	    (store_read(t->dir, STORE_RUNS, false, &t->runs, e) < 0 &&
	     e->code != ENOENT) ||
	    coverage_make(t->runs.runs, t->runs.n, t->names, t->n_names, &t->c,
			  e) < 0) {
		return CODE_UNABLE;
	}
	t->idle = calloc(t->c.n + 1, sizeof(*t->idle));
	for (size_t i = 0; t->idle && i < t->c.n; i++) {
		const char *name = t->c.names[i];

		t->idle[i] = !slurm && !spec_leaves_out(&s->spec, name);
		for (size_t k = 0; slurm && k < t->slurm.n && !t->idle[i];
		     k++) {
			t->idle[i] = str_starts(t->slurm.list[k].state,
						"idle") &&
				     strcmp(t->slurm.list[k].name, name) == 0;
		}
		t->n_idle += t->idle[i];
	}
	return CODE_HEALTHY;
}

static void stale_words(const struct stale *t, int64_t now_s, struct str *out)
{
	struct str note = STR_INIT, nodes = STR_INIT;

	hostlist_shorten(&nodes, str_text(&t->c.next));
	str_addf(out, "--stale: nodes that have not been tested together for "
		 "the longest time\nhistory: %s\n\n", t->dir);
	str_addf(&note, "%s of them are idle", UNITS_COUNT(t->n_idle));
	add_count(out, "nodes", (int64_t)t->c.n,
		  t->slurm.n > 0 ? str_text(&note) :
				   "without Slurm, taken as idle");
	str_reset(&note);
	str_addf(&note, "%s never tested", UNITS_COUNT(t->c.never));
	if (t->c.oldest_utc) {
		str_addf(&note, ", the oldest test is %" PRId64 " days old",
			 (now_s - t->c.oldest_s) / (24 * 3600));
	}
	add_count(out, "node pairs", (int64_t)t->c.pairs, str_text(&note));
	str_reset(&note);
	str_addf(&note, "nodes, %s of their pairs never tested",
		 UNITS_COUNT(t->c.next_first));
	add_count(out, "next job", (int64_t)t->k, str_text(&note));
	str_reset(&note);
	str_addf(&note, "with a job of %zu nodes each test every pair again "
		 "(at least %zu)", t->k, t->c.nights_least);
	add_count(out, "nights", (int64_t)t->c.nights, str_text(&note));
	if (t->c.until_tested > 0) {
		add_count(out, "", (int64_t)t->c.until_tested,
			  "until no pair is untested");
	}
	str_add(out, "\n  --nodelist=");
	str_add_quoted(out, str_text(&nodes));
	str_add(out, "\n\nThe same command without \"plan\" tests these "
		"nodes, and adds to the history.\n");
	str_release(&note);
	str_release(&nodes);
}

int stale_choose(struct session *s)
{
	struct stale t = { .k = (size_t)s->spec.nodes };
	struct str out = STR_INIT;
	const int64_t now_s = time(NULL);
	struct err e = { 0 };
	int code = spec_check(&s->spec, &e) < 0 || s->spec.nodes < 2 ?
			   CODE_USAGE : stale_read(s, &t, &e);

	if (code == CODE_USAGE && !e.text[0]) {
		err_set(&e, 0, "--stale needs the number of nodes per job, at "
			"least -N 2");
	} else if (code == CODE_HEALTHY && t.n_idle < 2) {
		code = CODE_UNABLE;
		err_set(&e, 0, "--stale finds %zu idle nodes of %zu",
			t.n_idle, t.c.n);
		err_hint(&e, t.c.n > 0 ? "sinfo shows the state of the nodes" :
			 "--nodelist adds nodes that are not in the "
			 "history");
	}
	t.k = t.k < t.n_idle ? t.k : t.n_idle;
	if (code == CODE_HEALTHY &&
	    coverage_next(&t.c, t.idle, t.k, now_s, s->plan) < 0) {
		code = CODE_UNABLE;
		err_set(&e, 0, "no memory for the pairs of nodes");
	}
	if (code == CODE_HEALTHY && !s->plan) {
		hostlist_shorten(&out, str_text(&t.c.next));
		talk("--stale: %zu nodes, %s", t.k, str_text(&out));
		STR_COPY(s->spec.nodelist, str_text(&out));
		STR_COPY(s->spec.history, t.dir);
		s->spec.exclude[0] = '\0';
		s->spec.nodes = (int64_t)t.k;
	} else if (code == CODE_HEALTHY && s->spec.json) {
		code = print_json(schema_json(stale_fields, &t));
	} else if (code == CODE_HEALTHY && !s->spec.quiet) {
		stale_words(&t, now_s, &out);
		screen_print(&out, stdout);
	}
	hostlist_free(t.names, t.n_names);
	str_release(&out);
	coverage_release(&t.c);
	store_release(&t.runs);
	free(t.slurm.list);
	free(t.idle);
	return code != CODE_HEALTHY && e.text[0] ? talk_fail(&e, code) : code;
}

/* ---- the launcher -------------------------------------------------------- */

int plan_show(struct session *s, const char *probe,
	      const struct conductor *c)
{
	const struct launcher_ops *ops = &launcher_local;
	struct spec asked = s->spec;
	char why[320];

	/* the launcher that would start the run */
	if (asked.node) {
		snprintf(why, sizeof(why), "on this node (--node)");
	} else {
		asked.dry_run = true;	/* a look at what runs elsewhere */
		ops = launcher_choose(&asked, why, sizeof(why), NULL);
	}
	if (!ops) {
		ops = &launcher_sbatch;
		snprintf(why, sizeof(why),
			 "as a batch job, on a cluster with Slurm");
	}
	return c && c->each ? show_all(s, c, ops->name, why) :
			      show_one(s, probe_find(probe), ops->name, why);
}
