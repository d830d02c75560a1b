/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/ladder_run.h"

#include <math.h>
#include <string.h>

#include "lib/data/json.h"
#include "report/judge/next.h"
#include "report/base/wrap.h"

#define MAX_FINDINGS 10
#define MIN_WIDTH    40
/** "  allreduce  fail     " */
#define TABLE_INDENT 22

static size_t count(const struct ladder_run *run, enum outcome outcome)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n; i++) {
		n += run->rungs[i].row.outcome == outcome;
	}
	return n;
}

static void add_count(struct str *out, size_t n, const char *what)
{
	if (n > 0) {
		str_addf(out, ", %zu %s", n, what);
	}
}

static void add_head(const struct ladder_run *run, const struct wrap *w)
{
	struct str text = STR_INIT;
	double wall_s = 0;

	for (size_t i = 0; i < run->n; i++) {
		double s = run->rungs[i].row.wall_s;

		wall_s += isfinite(s) ? s : 0;
	}
	str_addf(&text, "all on %zu node%s: %zu of %zu probes measured",
		 run->n_nodes, run->n_nodes == 1 ? "" : "s",
		 count(run, OUTCOME_OK), run->n);
	add_count(&text, count(run, OUTCOME_SKIPPED), "skipped");
	add_count(&text, count(run, OUTCOME_ERROR), "could not");
	add_count(&text, count(run, OUTCOME_NOT_RUN), "not run");
	str_addf(&text, ", %.1f s", wall_s);
	wrap_status(w, json_member(run->verdict, "status"));
	wrap_text(w, 6, str_text(&text));
	str_release(&text);
	if (run->drill) {
		wrap_line(w, 0, "DRILL: faults were injected on purpose; this "
			  "says nothing about the machines");
	}
	if (run->note) {
		wrap_line(w, 0, run->note);
	}
	if (!run->ended || run->stop_reason[0]) {
		wrap_line(w, 0, "the run did not go to its end: what is "
			  "missing is not run, not good");
	}
}

const char *ladder_rung_text(const struct ladder_rung *r, char *buf,
			     size_t size)
{
	const json_t *cells = json_object_get(r->verdict, "cells"), *n;
	size_t len = 0;
	const char *name;

	buf[0] = '\0';
	if (r->row.outcome != OUTCOME_OK) {
		snprintf(buf, size, "%s", r->row.detail);
		return buf;
	}
	json_object_foreach((json_t *)cells, name, n) {
		if (json_integer_value(n) > 0 && len + 1 < size) {
			len += (size_t)snprintf(buf + len, size - len,
						"%s%lld %s", len ? ", " : "",
						(long long)
						json_integer_value(n), name);
		}
	}
	if (isfinite(r->row.wall_s) && len + 1 < size) {
		snprintf(buf + len, size - len, "%s%.1f s", len ? ", " : "",
			 r->row.wall_s);
	}
	return buf;
}

static void add_rungs(const struct ladder_run *run, const struct wrap *w)
{
	str_addch(w->out, '\n');
	for (size_t i = 0; i < run->n; i++) {
		const struct ladder_rung *r = &run->rungs[i];
		const char *status = json_member(r->verdict, "status");
		char text[sizeof(r->row.detail)];

		str_addf(w->out, "  %-10s %-8s ", r->row.rung,
			 r->row.outcome == OUTCOME_OK ?
				 status : outcome_name(r->row.outcome));
		wrap_text(w, TABLE_INDENT,
			  ladder_rung_text(r, text, sizeof(text)));
	}
}

/** "found by ping, ib and p2p". */
static void add_finders(const json_t *finding, const struct wrap *w)
{
	const json_t *rungs = json_object_get(finding, "rungs"), *name;
	size_t n = json_array_size(rungs), i;
	struct str text = STR_INIT;

	if (n < 2) {
		return;		/* its evidence names it */
	}
	str_add(&text, "found by");
	json_array_foreach(rungs, i, name) {
		str_addf(&text, "%s %s", i == 0 ? "" :
			 i + 1 < n ? "," : " and", json_string_value(name));
	}
	wrap_line(w, 0, str_text(&text));
	str_release(&text);
}

/** The first line of evidence of each rung. */
static void add_evidence(const json_t *finding, const struct wrap *w)
{
	const json_t *list = json_object_get(finding, "evidence"), *line;
	const char *last = "";
	size_t i;

	json_array_foreach(list, i, line) {
		const char *text = json_string_value(line);
		size_t rung = text ? strcspn(text, ":") : 0;

		if (rung == 0 || strncmp(text, last, rung + 1) == 0) {
			continue;
		}
		last = text;
		wrap_line(w, 2, text);
	}
}

static void add_findings(const struct ladder_run *run, const struct wrap *w)
{
	const json_t *list = json_object_get(run->verdict, "findings"), *f;
	size_t i;

	json_array_foreach(list, i, f) {
		bool fail = strcmp(json_member(f, "severity"), "fail") == 0;

		if (i == MAX_FINDINGS) {
			str_addf(w->out, "\n      %zu more findings are in "
				 "verdict.json and report.html\n",
				 json_array_size(list) - i);
			break;
		}
		wrap_finding(w, fail, json_member(f, "says"));
		add_finders(f, w);
		add_evidence(f, w);
		wrap_act(w, json_member(f, "do"));
	}
}

/** The line that drains @node, for the first finding that sits in it. */
static bool add_drain(const struct ladder_run *run, const char *node,
		      struct str *out)
{
	const json_t *list = json_object_get(run->verdict, "findings"), *f;
	size_t i;

	json_array_foreach(list, i, f) {
		const json_t *index = json_object_get(f, "index");

		if (strcmp(json_member(f, "severity"), "fail") == 0 &&
		    strcmp(json_member(f, "node"), node) == 0 &&
		    !json_member(f, "peer_node")[0] &&
		    next_drain_line(node, json_member(f, "kind"),
				    json_is_integer(index) ?
					    (int)json_integer_value(index) : -1,
				    json_member(f, "code"), out)) {
			return true;
		}
	}
	return false;
}

static bool is_listed(const json_t *list, const char *node)
{
	const json_t *name;
	size_t i;

	json_array_foreach(list, i, name) {
		if (strcmp(json_string_value(name), node) == 0) {
			return true;
		}
	}
	return false;
}

/** Failures that sit in none of the nodes of @exclude. */
static size_t count_stay(const struct ladder_run *run, const json_t *exclude)
{
	const json_t *list = json_object_get(run->verdict, "findings"), *f;
	size_t i, n = 0;

	json_array_foreach(list, i, f) {
		n += strcmp(json_member(f, "severity"), "fail") == 0 &&
		     !is_listed(exclude, json_member(f, "node")) &&
		     !is_listed(exclude, json_member(f, "peer_node"));
	}
	return n;
}

static void add_exclude(const struct ladder_run *run, const json_t *list,
			const struct wrap *w)
{
	struct str text = STR_INIT;
	const json_t *name;
	size_t i, stay = count_stay(run, list);

	str_addf(&text, "to run without %s: --exclude=",
		 stay > 0 ? "some of them" : "them");
	json_array_foreach(list, i, name) {
		str_addf(&text, "%s%s", i ? "," : "", json_string_value(name));
	}
	if (stay > 0) {
		str_addf(&text, "; %zu other failure%s", stay,
			 stay == 1 ? " stays" : "s stay");
	}
	str_add(w->out, "\n      ");
	wrap_text(w, 6, str_text(&text));
	str_release(&text);
}

static void add_next(const struct ladder_run *run, const struct wrap *w)
{
	const json_t *list = json_object_get(run->verdict, "exclude"), *name;
	size_t n = json_array_size(list), i, drained = 0;
	struct str text = STR_INIT;

	if (n == 0) {
		return;
	}
	if (n < run->n_nodes) {
		add_exclude(run, list, w);	/* else none would be left */
	}
	json_array_foreach(list, i, name) {
		if (run->drill ||
		    !next_under_slurm(json_member(run->json, "launcher")) ||
		    !add_drain(run, json_string_value(name), &text)) {
			continue;
		}
		str_addf(w->out, "%s%s\n", drained++ ? "" :
			 "\n      to drain them, if they are yours to drain:\n",
			 str_text(&text));
		str_reset(&text);
	}
	str_release(&text);
}

void ladder_words(const struct ladder_run *run, int width, bool color,
		  struct str *out)
{
	const struct wrap w = {
		.out = out, .color = color,
		.width = width < MIN_WIDTH ? MIN_WIDTH : width,
	};

	add_head(run, &w);
	add_rungs(run, &w);
	add_findings(run, &w);
	add_next(run, &w);
	str_add(out, "\n      more of each: report.html, or \"gpucheck report "
		"DIR/PROBE\"\n");
}
