/* SPDX-License-Identifier: BSD-3-Clause */
/* What became of the parts that a retest is about. */
#include "report/judge/retest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/hostlist.h"
#include "lib/data/json.h"
#include "report/judge/tell.h"

/** Latency that is so many times that of the controls is a fault. */
#define FAIL_LATER 2.0

static const json_t *parts_of(const struct run *run)
{
	return json_object_get(json_object_get(run->json, "retest"), "parts");
}

/** Where a finding that no other one is about belongs: at the part, but where
 *  it is not there any more, or on no node, it has no number. */
static struct part place_of(const struct run *run, const json_t *json,
			    const struct retested *r)
{
	const json_t *index = json_object_get(json, "index");
	struct part p = part_of_kind(0);

	while (p.kind < PART_CONFIG && strcmp(part_kind_name(p.kind),
					      json_member(json, "kind"))) {
		p.kind++;
	}
	p.node = r->node[0] ? run_find_node(run, r->node, -1) : -1;
	if (p.node < 0) {
		return part_of_kind(PART_CONFIG);
	}
	if (r->state == RETEST_MISSING ||
	    part_is(&p, KIND(PAIR) | KIND(NODE_PAIR))) {
		p.kind = PART_NODE;
	} else if (json_is_integer(index)) {
		p.index = (int)json_integer_value(index);
	}
	return p;
}

/** Is it as slow as a fault is, now that it is confirmed? */
static bool is_beyond(const struct run *run, const struct retested *r)
{
	const double line = (double)(run->slow_percent ? run->slow_percent :
				     RUN_SLOW_PERCENT) / 100;

	return r->slow && (r->late >= FAIL_LATER || r->share <= 1 - line);
}

static void add_missing(const struct run *run, const json_t *json,
			const struct retested *r, struct verdict *v)
{
	const struct part p = place_of(run, json, r);
	struct finding *f = finding_add(v, &p, "still_missing");

	f->fail = r->failed;
	finding_say(f, "%s cannot be tested: %s", r->name, r->why);
}

static void add_slow(const struct run *run, const json_t *json,
		     const struct retested *r, struct verdict *v)
{
	const struct part p = place_of(run, json, r);
	struct finding *f = finding_add(v, &p, "still_slow");

	f->fail = r->failed || (is_beyond(run, r) && !run->shared_cores);
	f->drain = r->drain;	/* that it is its node was proved then */
	f->cells = f->explained = r->tests;
	if (r->late > 1) {
		finding_say(f, "%s: latency is still %.1f times that of its "
			    "controls in %zu tests", r->name, r->late,
			    r->tests);
	} else {
		finding_say(f, "%s is still slower than its controls: %.0f %% "
			    "of their bandwidth in %zu tests", r->name,
			    100 * r->share, r->tests);
	}
}

/** What names @r is a fault now. */
static void confirm(const struct run *run, const struct retested *r,
		    struct verdict *v)
{
	struct finding *f = &v->findings[r->again - v->findings];

	/* of ranks that share cores nothing is a fault by its speed */
	if (!f->fail && !run->shared_cores &&
	    (r->failed || is_beyond(run, r))) {
		f->fail = true;
		finding_add_evidence(f, "the run before has found %s, and this "
				     "one, at another time, finds it again",
				     r->name);
	}
}

void retest_findings(const struct run *run, struct verdict *v)
{
	struct retested r;

	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		const json_t *json = json_array_get(parts_of(run), i);

		if (r.state == RETEST_MISSING) {
			add_missing(run, json, &r, v);
		} else if (r.again) {
			confirm(run, &r, v);
		} else if (r.slow && r.bad == 0) {
			add_slow(run, json, &r, v);
		}
	}
}

void retest_weigh(const struct run *run, struct verdict *v)
{
	struct retested r;

	v->still = v->open = false;
	for (size_t i = 0; retest_part(run, v, i, &r); i++) {
		v->still |= r.state == RETEST_FAILS ||
			    r.state == RETEST_MISSING;
		v->open |= r.state == RETEST_OPEN;
	}
}

/* ---- words --------------------------------------------------------------- */

/** All parts, each looked at once; free() frees.  NULL: there are none, or no
 *  memory. */
static struct retested *all_parts(const struct run *run,
				  const struct verdict *v, size_t *n)
{
	struct retested *list = calloc(json_array_size(parts_of(run)) + 1,
				       sizeof(*list));

	*n = 0;
	while (list && retest_part(run, v, *n, &list[*n])) {
		(*n)++;
	}
	return list;
}

static bool is_of(const struct retested *r, const char *node)
{
	return strcmp(r->node, node) == 0 || strcmp(r->peer, node) == 0;
}

/** Is a fault found on @node, whatever it is? */
static bool has_fault(const struct run *run, const struct verdict *v,
		      const char *node)
{
	const int at = run_find_node(run, node, -1);
	bool has = false;

	for (size_t i = 0; at >= 0 && i < v->n; i++) {
		const struct finding *f = &v->findings[i];

		has = has || (f->fail && (finding_sits_in(f, at) ||
					  f->part.peer_node == at));
	}
	return has;
}

/** Did Slurm have it drained at the end of the run, for a reason that a drain
 *  line of ours gave? */
static bool is_drained_by_us(const struct run *run, const char *node)
{
	const char *last = "";

	for (size_t i = 0; i < run->n_events; i++) {
		const struct event_row *e = &run->events[i];

		if (strcmp(e->event, "slurm_state") == 0 &&
		    strcmp(e->node, node) == 0) {
			last = e->detail;
		}
	}
	return strstr(last, " drain") && strstr(last, ": gpucheck");
}

/** The line that has Slurm use @node again: it was proved to be at fault, all
 *  that was found there passes, and it still is drained for that; else
 *  false. */
static bool undrain(const struct run *run, const struct verdict *v,
		    const struct retested *list, size_t n, const char *node,
		    struct str *out)
{
	bool drained = false;

	for (size_t i = 0; i < n; i++) {
		if (is_of(&list[i], node) && list[i].state != RETEST_PASSES) {
			return false;
		}
		drained = drained || (strcmp(list[i].node, node) == 0 &&
				      list[i].drain);
	}
	if (!drained || run->drill || !is_drained_by_us(run, node) ||
	    has_fault(run, v, node) || !hostlist_is_name(node)) {
		return false;
	}
	str_addf(out, "scontrol update nodename=%s state=resume", node);
	return true;
}

/** Has part @i a node that one before it has, too? */
static bool is_repeated(const struct retested *list, size_t i)
{
	size_t k = 0;

	while (k < i && strcmp(list[k].node, list[i].node) != 0) {
		k++;
	}
	return k < i;
}

static void say_state(const struct retested *r, struct str *out)
{
	const char *many = r->tests == 1 ? "" : "s";

	if (r->state == RETEST_MISSING) {
		str_addf(out, "still missing: %s", r->why);
	} else if (r->state == RETEST_OPEN && r->why[0]) {
		str_addf(out, "open: %s", r->why);
	} else if (r->state == RETEST_OPEN && r->tests > 0) {
		str_addf(out, "open: %zu good test%s, fewer than it takes",
			 r->tests, many);
	} else if (r->state == RETEST_OPEN) {
		str_add(out, "was not tested");
	} else if (r->bad > 0) {
		str_addf(out, "still there: %zu of %zu tests fail", r->bad,
			 r->tests);
	} else if (r->state == RETEST_PASSES) {
		str_addf(out, "%zu test%s pass%s", r->tests, many,
			 r->tests == 1 ? "es" : "");
	} else {
		str_addf(out, "still there: %zu test%s, of which none fails",
			 r->tests, many);
	}
}

static void say_part(const struct retested *r, struct str *out)
{
	str_addf(out, "\n%s (%s): ", r->name, r->code);
	say_state(r, out);
	if (r->state == RETEST_FAILS && r->again) {
		str_addf(out, ", is found again (%s)", r->again->code);
	}
	if (r->state != RETEST_PASSES && r->state != RETEST_FAILS) {
		return;
	}
	if (r->late > 0) {
		str_addf(out, ", at %.1f times the latency of the controls",
			 r->late);
	}
	if (r->share > 0) {
		str_addf(out, ", at %.0f %% of the bandwidth of the controls",
			 100 * r->share);
	}
}

void retest_words(const struct run *run, const struct verdict *v,
		  struct str *out)
{
	const json_t *retest = json_object_get(run->json, "retest");
	size_t n;
	struct retested *list = all_parts(run, v, &n);
	int lines = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == 0) {
			str_addf(out, "%sretest of what '%s' has found:",
				 out->len ? "\n" : "",
				 json_member(retest, "dir"));
		}
		say_part(&list[i], out);
	}
	for (size_t i = 0; i < n; i++) {
		struct str line = STR_INIT;

		if (!is_repeated(list, i) &&
		    undrain(run, v, list, n, list[i].node, &line)) {
			str_addf(out, "%s\n" TELL_COMMAND "%s", lines++ ? "" :
				 "\nundrain (needs Slurm operator rights; "
				 "sinfo -R shows other reasons):",
				 str_text(&line));
		}
		str_release(&line);
	}
	free(list);
}

static json_t *part_json(const struct retested *r, bool undrains,
			 const char *line)
{
	static const char *const states[] = {
		[RETEST_OPEN] = "open", [RETEST_PASSES] = "passes",
		[RETEST_FAILS] = "fails", [RETEST_MISSING] = "missing",
	};

	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:s}",
			 "name", r->name, "node", r->node,
			 "state", states[r->state],
			 "tests", (json_int_t)r->tests,
			 "bad", (json_int_t)r->bad,
			 "share", isnan(r->share) ? json_null() :
				  json_real(round(r->share * 1000) / 1000),
			 "undrain", undrains ? json_text(line) : json_null(),
			 "why", r->why[0] ? json_text(r->why) : json_null(),
			 "code", r->code);
}

json_t *retest_json(const struct run *run, const struct verdict *v)
{
	json_t *json = parts_of(run) ? json_array() : NULL;
	size_t n;
	struct retested *list = all_parts(run, v, &n);

	for (size_t i = 0; json && i < n; i++) {
		struct str line = STR_INIT;
		bool undrains = undrain(run, v, list, n, list[i].node, &line);

		json_array_append_new(json, part_json(&list[i], undrains,
						      str_text(&line)));
		str_release(&line);
	}
	free(list);
	return json;
}
