/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of a retest say of each of its parts. */
#include "report/judge/retest_look.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/record_collective.h"

/** A part that was slow is slow still below this share of its controls; by the
 *  same 3 % a slow part is found.  Latency is late from 30 % more on. */
#define LEAST_SHARE 0.97
#define MOST_LATER  1.3

int retest_gpus(const struct run *run, int node)
{
	const json_t *nodes = json_object_get(run->json, "nodes"), *at;
	const char *name = node >= 0 ? run->nodes[node].name : "";
	size_t i;

	if (node >= 0 && run->n_ranks > 0) {
		return run->nodes[node].gpus;
	}
	/* of a collective */
	json_array_foreach(nodes, i, at) {
		if (name[0] && strcmp(json_member(at, "name"), name) == 0) {
			return (int)json_integer_value(
				json_object_get(at, "gpus"));
		}
	}
	return 0;
}

static struct part part_now(const struct run *run, const json_t *json)
{
	struct part p = part_of_kind(0);

	while (p.kind < PART_CONFIG && strcmp(part_kind_name(p.kind),
					      json_member(json, "kind"))) {
		p.kind++;
	}
	p.node = look_node(run, json_member(json, "node"));
	p.peer_node = look_node(run, json_member(json, "peer_node"));
	p.index = look_number(json, "index");
	p.peer_index = look_number(json, "peer_index");
	return p;
}

/* ---- is it found again? -------------------------------------------------- */

static bool is_speed(const char *code)
{
	return strncmp(code, "slow", 4) == 0 || strcmp(code, "still_slow") == 0;
}

static bool is_late(const char *code)
{
	return strcmp(code, "latency") == 0;
}

static bool is_same(const struct look *l, const struct retested *r,
		    const struct part *p)
{
	char name[PART_NAME_SIZE];

	return strcmp(part_name(l->run, p, name, sizeof(name)), r->name) == 0 ||
	       (l->part.node >= 0 && part_same_place(p, &l->part));
}

/** Is it on the node of the part, or on one of the two? */
static bool is_here(const struct look *l, const struct finding *f)
{
	return (l->part.node >= 0 && finding_sits_in(f, l->part.node)) ||
	       (l->part.peer_node >= 0 &&
		finding_sits_in(f, l->part.peer_node)) ||
	       (l->part.node >= 0 && f->part.peer_node == l->part.node);
}

static bool names(const struct look *l, const struct retested *r,
		  const struct finding *f)
{
	const bool same_code = strcmp(f->code, r->code) == 0;
	const bool measured = f->fail || f->cells > 0 || f->explained > 0;
	/* how a node is set up is no part of what was broken */
	bool same = (measured || same_code ||
		     part_is(&f->part, ON_ONE_NODE & ~KIND(NODE))) &&
		    is_same(l, r, &f->part);

	for (size_t i = 0; i < f->n_or; i++) {
		same = same || is_same(l, r, &f->or_parts[i]);
	}
	if (same || l->part.node < 0) {
		return same || (r->node[0] ? false : f->fail || same_code ||
				(measured && f->part.node < 0));
	}
	if (!is_here(l, f)) {
		return false;
	}
	/* without cells the node is all that there is to go by */
	return r->tests == 0 || l->run->n_ranks == 0 ||
			       !part_is(&l->part, WITH_CELLS) ?
		       f->fail || same_code :
		       (measured && look_covers(l, &f->part)) ||
			       (f->fail && !part_is(&f->part, WITH_CELLS));
}

/** Says @f nothing of what was found: is it a retest's own, or how fast ranks
 *  are that share cores, of a part that was not found by that? */
static bool is_idle(const struct look *l, const struct retested *r,
		    const struct finding *f)
{
	return strncmp(f->code, RETEST_OWN, strlen(RETEST_OWN)) == 0 ||
	       (l->run->shared_cores && !f->fail &&
		(is_speed(f->code) || is_late(f->code)) &&
		!is_speed(r->code) && !is_late(r->code));
}

static const struct finding *find_again(const struct look *l,
					const struct retested *r)
{
	const struct finding *found = NULL;

	for (size_t i = 0; i < l->v->n; i++) {
		const struct finding *f = &l->v->findings[i];

		if ((!found || (f->fail && !found->fail)) &&
		    !is_idle(l, r, f) && names(l, r, f)) {
			found = f;
		}
	}
	return found;
}

/* ---- one part ------------------------------------------------------------ */

/** Of a collective: its nodes took part, or not. */
static void look_at_nodes(const struct look *l, struct retested *r)
{
	const json_t *nodes = json_object_get(l->run->json, "nodes"), *node;
	bool there = !r->node[0];
	size_t i;

	json_array_foreach(nodes, i, node) {
		there = there || strcmp(json_member(node, "name"),
					r->node) == 0;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		r->tests += run_measured(c) && there ? l->v->cells[c] : 0;
		r->bad += run_bad(c) && there ? l->v->cells[c] : 0;
	}
}

/** A fault by its bandwidth, whatever it was found for. */
static double fault_share(const struct run *run)
{
	return 1 - (double)(run->slow_percent ? run->slow_percent :
			    RUN_SLOW_PERCENT) / 100;
}

static void look_at_cells(struct look *l, struct retested *r)
{
	const struct run *run = l->run;

	look_at(l);
	for (size_t at = 0; at < run_n_cells(run); at++) {
		const struct cell *c = &run->cells[at];

		r->tests += l->marks[at] && run_measured(c->class);
		r->bad += l->marks[at] && run_bad(c->class);
		r->flaky += l->marks[at] && run_good(c->class) && c->flaky;
	}
	r->share = look_ratio(l, false);
	r->late = is_late(r->code) ? look_ratio(l, true) : NAN;
	r->slow = r->late > MOST_LATER ||
		  (!run->shared_cores && r->share < fault_share(run)) ||
		  (is_speed(r->code) && r->share < LEAST_SHARE);
}

/** Was all that was planned tested, and is known what was bad then? */
static bool is_enough(const struct look *l, const struct retested *r)
{
	return r->tests > 0 && !verdict_is_cut(l->run, l->v) &&
	       look_is_covered(l) &&
	       (l->run->n_ranks == 0 ||
		((!is_speed(r->code) || !isnan(r->share)) &&
		 (!is_late(r->code) || !isnan(r->late))));
}

/** Compare the GPUs of the node that is called @node in the part with those of
 *  then; RETEST_PASSES: there is nothing to say. */
static enum retest_state count_gpus(const struct look *l, const char *node,
				    const char *gpus, struct retested *r)
{
	const char *name = json_member(l->json, node);
	const char *what = l->run->ports ? "port" : "GPU";
	int then = look_number(l->json, gpus), at = look_node(l->run, name);
	int now = retest_gpus(l->run, at);

	if (then <= 0 || now == then ||
	    (now > then && !part_is(&l->part, NUMBERED))) {
		return RETEST_PASSES;
	}
	if (now < then && json_integer_value(run_option(
				  l->run, "gpus-per-node")) > 0) {
		snprintf(r->why, sizeof(r->why), "--gpus-per-node leaves %d of "
			 "the %d %ss of %.64s", now, then, what, name);
		return RETEST_OPEN;
	}
	snprintf(r->why, sizeof(r->why), "%.64s has %d %s%s now, and had %d%s",
		 name, now, what, now == 1 ? "" : "s", then, now < then ? "" :
		 ": which of them it was is not known");
	return now < then ? RETEST_MISSING : RETEST_OPEN;
}

/** Of a collective: has bisect compared nodes, and found none slower? */
static bool was_compared(const struct run *run)
{
	const json_t *notes = json_object_get(run->json, "notes"), *note;
	bool was = false;
	size_t i;

	json_array_foreach(notes, i, note) {
		const char *text = json_string_value(note);

		was = was || (text && str_starts(text, RECORD_ALIKE));
	}
	return was;
}

/** Nothing says that it is at fault. */
static enum retest_state weigh(const struct look *l, struct retested *r)
{
	enum retest_state gpus = count_gpus(l, "node", "gpus", r);

	if (gpus == RETEST_PASSES) {
		gpus = count_gpus(l, "peer_node", "peer_gpus", r);
	}
	if (gpus != RETEST_PASSES) {
		return gpus;
	}
	if (strcmp(r->code, "bisect_slow") == 0 && !was_compared(l->run)) {
		snprintf(r->why, sizeof(r->why), "its nodes were not compared "
			 "with each other");
		return RETEST_OPEN;
	}
	if (l->other_nic > 0 && !look_is_covered(l)) {
		snprintf(r->why, sizeof(r->why), "%zu of its tests went by "
			 "another NIC", l->other_nic);
		return RETEST_OPEN;
	}
	if (r->flaky > 0) {
		snprintf(r->why, sizeof(r->why), "%zu of %zu tests passed only "
			 "when they were tried again", r->flaky, r->tests);
		return RETEST_OPEN;
	}
	return is_enough(l, r) ? RETEST_PASSES : RETEST_OPEN;
}

bool retest_part(const struct run *run, const struct verdict *v, size_t i,
		 struct retested *r)
{
	const json_t *part = json_array_get(look_parts(run), i);
	struct look l = { .run = run, .v = v, .json = part };

	if (!json_is_object(part)) {
		return false;
	}
	l.part = part_now(run, part);
	*r = (struct retested){
		.name = json_member(part, "name"),
		.node = json_member(part, "node"),
		.code = json_member(part, "code"),
		.peer = json_member(part, "peer_node"),
		.failed = strcmp(json_member(part, "severity"), "fail") == 0,
		.drain = json_is_true(json_object_get(part, "drain")),
		.share = NAN, .late = NAN,
	};
	l.marks = calloc(run_n_cells(run) + 1, 1);
	l.all = calloc(run_n_cells(run) + 1, 1);
	if (l.marks && l.all) {
		if (run->n_ranks > 0 && run->cells) {
			look_at_cells(&l, r);
		} else {
			look_at_nodes(&l, r);
		}
		r->again = find_again(&l, r);
		r->state = r->bad > 0 || r->slow || r->again ? RETEST_FAILS :
			   weigh(&l, r);
	}
	free(l.marks);
	free(l.all);
	return true;
}
