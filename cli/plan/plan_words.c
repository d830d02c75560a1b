/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/front/option_words.h"
#include "cli/plan/tiers.h"
#include "lib/base/units.h"
#include "lib/data/pinglist.h"
#include "probes/ping/ping.h"
#include "sbatch/args.h"

#define WIDTH	    80
#define MORE	    20	/* of the last line, with what is before */
/** Of -v; each more shows so many again. */
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
	char text[32] = "";

	if (n > 0) {
		snprintf(text, sizeof(text), "%" PRId64, n);
	}
	add_row(out, name, text, note);
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

/** Beside the time: how it is meant, or why there is none. */
static const char *time_note(const struct forecast *f)
{
	if (f->paced) {
		return "what --gentle allows, if nothing is broken";
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

/** What to type where it is not known how many there are. */
static void add_shape(const struct forecast *f, struct str *out)
{
	const char *part = f->probe->ports ? "HCA ports" : "GPUs";
	char note[64];

	add_count(out, "nodes", f->nodes,
		  f->nodes ? "" : "not known here: use -N");
	if (f->probe->kind == PROBE_NODES) {
		return;
	}
	if (f->assumed) {
		snprintf(note, sizeof(note),
			 "if a node has %" PRId64 " %s; otherwise use -G",
			 f->spec.gpus_per_node, part);
	} else {
		snprintf(note, sizeof(note), "%" PRId64 " per node",
			 f->nodes ? f->ranks / f->nodes : 0);
	}
	add_count(out, "ranks", f->ranks, note);
}

static void add_hours_row(const char *name, double hours, struct str *out)
{
	char buf[32];

	snprintf(buf, sizeof(buf), hours < 1 ? "%.2g" : hours < 100 ? "%.1f" :
					       "%.0f", hours);
	add_row(out, name, buf, "");
}

static void add_hours(const struct forecast *f, struct str *out)
{
	double hours = f->time_s / 3600;

	if (isnan(hours)) {
		return;
	}
	add_hours_row("node-hours", hours * (double)f->nodes, out);
	if (xport_is(f->ops, XPORT_GPU)) {
		add_hours_row("GPU-hours", hours * (double)f->ranks, out);
	}
}

static const char *cells_note(const struct forecast *f)
{
	if (f->cells == 0) {
		return f->ranks > PLAN_RANKS ?
			       "not counted for more than 8192 ranks" :
			       "known when the nodes have started";
	}
	return f->probe->kind == PROBE_PAIRS ?
		       "two per pair, one in each direction" :
	       f->nodes > PINGLIST_GROUP && !f->spec.all_pairs ?
		       "groups of 32 nodes, two pairs between groups" :
		       "one per path from address to address";
}

static void add_pairs(const struct forecast *f, struct str *out)
{
	add_count(out, "tests", (int64_t)f->cells, cells_note(f));
	if (f->probe->meets) {
		add_count(out, "probes/s", PING_FLEET_RATE,
			  "at most, of all nodes together");
		if (f->neighbours > 0) {
			add_count(out, "neighbours", f->neighbours,
				  "at most, of each interface");
		}
	}
	if (f->probe->kind == PROBE_PAIRS) {
		add_count(out, "rounds", (int64_t)f->turns,
			  f->turns ? "pairs that must run one after the other" :
				     "");
	}
}

static void add_group(const struct forecast *f, struct str *out)
{
	add_count(out, "sizes", f->sizes,
		  f->cells ? "each out of place and in place" : "");
	add_count(out, "variants", f->variants,
		  f->variants > 1 ? "each variant measures every size" : "");
	add_count(out, "tests", (int64_t)f->cells,
		  f->cells ? "one per row of results.csv" : "");
	if (f->spec.verify > 0) {
		add_count(out, "verified", f->spec.verify,
			  "operations of each test");
	}
}

static void add_table(const struct forecast *f, struct str *out)
{
	char text[80];

	add_shape(f, out);
	if (f->probe->kind == PROBE_COLLECTIVE) {
		add_group(f, out);
	} else if (f->probe->kind == PROBE_PAIRS || f->probe->meets) {
		add_pairs(f, out);
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
	add_hours(f, out);
}

void plan_command(const struct session *s, int k, struct str *out)
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

static void add_cheaper(const struct session *s, const struct forecast *f,
			struct str *out)
{
	char text[32];
	double time_s;
	int k = forecast_sample(f, &time_s);

	if (k) {
		str_addf(out, "\nShorter, about %s, with %d partners of "
			 "each rank:\n  ",
			 forecast_time(time_s, text, sizeof(text)), k);
		plan_command(s, k, out);
	} else if (f->time_s > FORECAST_LONG_S) {
		str_add(out, "\nNo sample takes less than ten minutes: measure "
			"fewer sizes (-b, -e, -f).\n");
	}
}

/** So many rails have nodes whose interfaces nobody has counted yet. */
#define USUAL_RAILS 8

/** What a kernel has no room for, and what makes it: below the first number it
 *  forgets nobody, above the last it takes nobody in. */
static void add_room(const struct forecast *f, struct str *out)
{
	const int64_t all = USUAL_RAILS * f->neighbours;
	int64_t room = 1024;

	if (all <= f->kept) {
		return;
	}
	while (room < all) {
		room *= 2;
	}
	str_addf(out, "\nOf %d interfaces a node has up to %" PRId64
		 " neighbours, and a kernel that is\nset as here keeps %" PRId64
		 " (gc_thresh3): tests may fail for want of room. To\n"
		 "make room, on each node as root:\n"
		 "  sysctl -w net.ipv4.neigh.default.gc_thresh{3=%" PRId64
		 ",2=%" PRId64 ",1=%" PRId64 "}\n",
		 USUAL_RAILS, all, f->kept, 4 * room, 2 * room, room);
}

/* ---- who talks with whom ----------------------------------------------- */

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

static void add_schedule(const struct forecast *f, struct str *out)
{
	size_t i = 0;

	str_addf(out, "\nThe first rounds, as pairs of ranks (%d per node). A "
		 "pair starts when both\nranks are free; it does not wait for "
		 "others of its round:\n", f->layout.nodes[0].gpus);
	for (int64_t n = 0; n < ROUNDS * f->spec.verbose && i < f->plan.n;
	     n++) {
		str_addf(out, "  %2d:", (int)n + 1);
		i = add_round(f, i, out);
	}
}

void plan_words(const struct session *s, const struct forecast *f,
		struct str *out)
{
	add_table(f, out);
	tiers_words(f, out);
	add_cheaper(s, f, out);
	add_room(f, out);
	if (s->spec.verbose && f->plan.n) {
		add_schedule(f, out);
	}
}
