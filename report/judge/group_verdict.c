/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/group_verdict.h"

#include <inttypes.h>
#include <string.h>

#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "lib/base/units.h"
#include "report/judge/gone.h"
#include "report/judge/group_again.h"
#include "report/model/part.h"

#define VERDICT_SCHEMA 1

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_text(text) : json_null();
}

static bool is_model(const json_t *run)
{
	return spec_transport_is(json_member(run, "transport"), XPORT_MODEL);
}

/** Where a finding points: a node, and a GPU of it; -1 = none. */
struct place {
	const char *kind, *node, *peer;
	json_int_t gpu, peer_gpu;
};

static json_t *number_or_null(json_int_t n)
{
	return n >= 0 ? json_integer(n) : json_null();
}

static void add_finding(json_t *findings, const struct place *p, bool fail,
			const char *code, size_t cells, const char *says,
			const char *act, const char *evidence)
{
	json_t *list = json_array();

	if (evidence[0]) {
		json_array_append_new(list, json_text(evidence));
	}
	json_array_append_new(
		findings,
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:s, s:I, s:I, "
			  "s:[], s:o, s:s, s:o, s:[], s:n}",
			  "kind", p->kind, "node", text_or_null(p->node),
			  "index", number_or_null(p->gpu), "peer_node",
			  text_or_null(p->peer), "peer_index",
			  number_or_null(p->peer_gpu), "direction", "both",
			  "severity", fail ? "fail" : "warn", "code", code,
			  "cells", (json_int_t)cells, "explained",
			  (json_int_t)cells, "or", "says", json_text(says),
			  "do", act, "evidence", list, "members", "score"));
}

/** Rows of @code, and the first one's detail. */
static size_t rows_of(const struct allreduce_row *rows, size_t n,
		      const char *code, const char **detail)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].code, code) == 0) {
			*detail = found++ == 0 ? rows[i].detail : *detail;
		}
	}
	return found;
}

/* ---- ranks that are to blame -------------------------------------------- */

/** Ranks of @node that are out. */
static size_t dropped_of(const json_t *run, const char *node)
{
	json_t *d;
	size_t n = 0, i;

	json_array_foreach(json_object_get(run, "dropped"), i, d) {
		n += strcmp(json_member(d, "node"), node) == 0;
	}
	return n;
}

/** Has @node several GPUs, and are all of them out? */
static bool whole_node(const json_t *run, const char *node)
{
	json_t *n;
	size_t i;

	json_array_foreach(json_object_get(run, "nodes"), i, n) {
		json_int_t gpus =
			json_integer_value(json_object_get(n, "gpus"));

		if (strcmp(json_member(n, "name"), node) == 0) {
			return gpus > 1 &&
			       (size_t)gpus == dropped_of(run, node);
		}
	}
	return false;
}

static void add_dropped_one(json_t *findings, const json_t *d, bool whole,
			    bool model, const struct allreduce_row *rows, size_t n)
{
	const char *code = json_member(d, "code"), *detail = "";
	struct place p = {
		.kind = whole ? "node" : "gpu", .node = json_member(d, "node"),
		.gpu = whole ? -1 :
			       json_integer_value(json_object_get(d, "gpu")),
		.peer = "", .peer_gpu = -1,
	};
	size_t cells = rows_of(rows, n, "rank_absent", &detail) +
		       rows_of(rows, n, code, &detail);
	struct str says = STR_INIT;

	if (whole) {
		str_addf(&says, "%s is out with all its GPUs: %s", p.node,
			 json_member(d, "detail"));
	} else {
		str_addf(&says, "%s:%d (rank %d) is out: %s", p.node,
			 (int)p.gpu,
			 (int)json_integer_value(json_object_get(d, "rank")),
			 json_member(d, "detail"));
	}
	add_finding(findings, &p, true, code, cells, str_text(&says),
		    model ? "nothing to repair: the cluster is a model" :
		    gone_is_set_up(code) ?
			    "how was it started, and where? gpucheck explain "
			    "with the code says what to look at; the others "
			    "went on without it" :
		    whole ? "look at this node: is it up, and what do its "
			    "dmesg and its Slurm log say; the others went on "
			    "without it" :
			    "look at this GPU and its processes on the node: "
			    "nvidia-smi -q, dmesg for Xid; the other ranks "
			    "went on without it", detail);
	str_release(&says);
}

static void add_dropped(json_t *findings, const json_t *run,
			const struct allreduce_row *rows, size_t n)
{
	json_t *list = json_object_get(run, "dropped"), *d, *seen;
	size_t i;

	seen = json_object();
	json_array_foreach(list, i, d) {
		const char *node = json_member(d, "node");
		bool whole = whole_node(run, node);

		if (!whole || !json_object_get(seen, node)) {
			add_dropped_one(findings, d, whole, is_model(run),
					rows, n);
			json_object_set_new(seen, node, json_true());
		}
	}
	json_decref(seen);
}

/* ---- the smallest bad set ----------------------------------------------- */

/** "n0, n1 and n2". */
static void add_part_names(const json_t *parts, struct str *out)
{
	size_t n = json_array_size(parts);

	for (size_t i = 0; i < n; i++) {
		str_add(out, i == 0 ? "" : i + 1 == n ? " and " : ", ");
		group_part_name(json_array_get(parts, i), out);
	}
}

static void add_bisect(json_t *findings, const json_t *run, size_t bad)
{
	json_t *found = json_object_get(run, "bisect");
	json_t *parts = json_object_get(found, "parts");
	const json_t *a = json_array_get(parts, 0);
	const json_t *b = json_array_get(parts, 1);
	bool slow = strcmp(json_member(found, "kind"), "slow") == 0;
	size_t n = json_array_size(parts);
	struct place p = { .kind = "config", .node = "", .peer = "",
			   .gpu = -1, .peer_gpu = -1 };
	struct str says = STR_INIT, act = STR_INIT;

	if (n == 0) {
		return;
	}
	if (n <= 2) {
		bool gpus = group_part_gpu(a) >= 0;

		p.kind = n == 1 ? (gpus ? "gpu" : "node") :
				  (gpus ? "pair" : "node_pair");
		p.node = json_member(a, "node");
		p.gpu = group_part_gpu(a);
		p.peer = json_member(b, "node");
		p.peer_gpu = b ? group_part_gpu(b) : -1;
	}
	add_part_names(parts, &says);
	str_addf(&says, " %s the smallest set that is %s, after %d tests",
		 n == 1 ? "is" : "are", slow ? "slow" : "bad",
		 (int)json_integer_value(json_object_get(found, "tests")));
	str_add(&act, is_model(run) ?
			      "nothing to repair: the cluster is a model; " :
		      n == 1 ? "run again without it; then test it: " :
			       "test the ways between them: ");
	group_again(run, parts, &act);
	add_finding(findings, &p, true, slow ? "bisect_slow" : "bisect_bad",
		    bad, str_text(&says), str_text(&act), "");
	str_release(&act);
	str_release(&says);
}

/* ---- rows that nobody is to blame for ----------------------------------- */

static bool is_bad(const struct allreduce_row *r)
{
	return r->outcome == OUTCOME_ERROR || r->outcome == OUTCOME_TIMEOUT ||
	       r->outcome == OUTCOME_CRASHED || r->outcome == OUTCOME_CORRUPT;
}

static void add_first_bad(json_t *findings, const struct allreduce_row *rows,
			  size_t n, size_t bad, bool explained)
{
	const struct place p = { .kind = "config", .node = "", .peer = "",
				 .gpu = -1, .peer_gpu = -1 };
	struct str says = STR_INIT;
	char size[32];

	for (size_t i = 0; !explained && i < n; i++) {
		const struct allreduce_row *r = &rows[i];

		if (!is_bad(r)) {
			continue;
		}
		units_size_text((uint64_t)r->size_B, size, sizeof(size));
		str_addf(&says, "%s of %s%s%s%s: %s", r->op, size,
			 r->variant[0] ? " (" : "", r->variant,
			 r->variant[0] ? ")" : "",
			 r->outcome == OUTCOME_CORRUPT ?
				 "the result is wrong" :
				 r->outcome == OUTCOME_TIMEOUT ?
				 "no end before the deadline" :
				 "it failed");
		add_finding(findings, &p, true, r->code, bad, str_text(&says),
			    "run again with --bisect: it names the smallest "
			    "set of nodes that is bad", r->detail);
		break;
	}
	str_release(&says);
}

/** Variants of which nothing could be measured, each once. */
static void add_skipped(json_t *findings, const struct allreduce_row *rows,
			size_t n, size_t ok)
{
	const struct place p = { .kind = "config", .node = "", .peer = "",
				 .gpu = -1, .peer_gpu = -1 };

	for (size_t i = 0; i < n; i++) {
		const struct allreduce_row *r = &rows[i];
		struct str says = STR_INIT;
		size_t cells = 1;

		if (r->outcome != OUTCOME_SKIPPED ||
		    (i > 0 && rows[i - 1].outcome == OUTCOME_SKIPPED &&
		     strcmp(rows[i - 1].variant, r->variant) == 0)) {
			continue;
		}
		while (i + cells < n &&
		       strcmp(rows[i + cells].variant, r->variant) == 0) {
			cells++;
		}
		str_addf(&says, "%s%s%s could not be measured: %s", r->op,
			 r->variant[0] ? " by " : "", r->variant, r->detail);
		add_finding(findings, &p, ok > 0, r->code, cells,
			    str_text(&says),
			    "see to what the message names, on the nodes; "
			    "gpucheck version lists what is found there", "");
		str_release(&says);
	}
}

/** Variants that did not get what they asked for, each once. */
static void add_ignored(json_t *findings, const struct allreduce_row *rows,
			size_t n)
{
	const struct place p = { .kind = "config", .node = "", .peer = "",
				 .gpu = -1, .peer_gpu = -1 };
	json_t *list, *f;
	const char *detail = "", *last = NULL;
	size_t cells = rows_of(rows, n, "not_as_asked", &detail);
	struct str says = STR_INIT;

	if (cells == 0) {
		return;
	}
	str_addf(&says, "%zu row%s not what was asked for", cells,
		 cells == 1 ? " is" : "s are");
	add_finding(findings, &p, false, "not_as_asked", cells,
		    str_text(&says),
		    "compare by the columns algo and proto, not by the name "
		    "of the variant", "");
	f = json_array_get(findings, json_array_size(findings) - 1);
	list = json_object_get(f, "evidence");
	for (size_t i = 0; i < n; i++) {
		const struct allreduce_row *r = &rows[i];

		if (strcmp(r->code, "not_as_asked") == 0 &&
		    (!last || strcmp(last, r->variant) != 0)) {
			last = r->variant;
			str_reset(&says);
			str_addf(&says, "%s: %s", r->variant, r->detail);
			json_array_append_new(list,
					      json_text(str_text(&says)));
		}
	}
	str_release(&says);
}

/* ---- the verdict -------------------------------------------------------- */

static json_t *cells_json(const struct allreduce_row *rows, size_t n)
{
	size_t cells[CELL_CLASSES] = { 0 };
	json_t *json = json_object();

	for (size_t i = 0; i < n; i++) {
		cells[cells_class_of(rows[i].outcome)]++;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		json_object_set_new(json,
				    cell_class_name((enum cell_class)c),
				    json_integer((json_int_t)cells[c]));
	}
	return json;
}

static const char *status_of(const json_t *findings, size_t ok)
{
	json_t *f;
	size_t i;

	json_array_foreach(findings, i, f) {
		if (strcmp(json_member(f, "severity"), "fail") == 0) {
			return "fail";
		}
	}
	return ok == 0		      ? "unknown" :
	       json_array_size(findings) > 0 ? "warn" :
					 "pass";
}

/** Nodes with something that is to blame. */
static json_t *exclude_json(const json_t *findings)
{
	json_t *list = json_array(), *set = json_object(), *f;
	size_t i;

	json_array_foreach(findings, i, f) {
		const char *kind = json_member(f, "kind");

		if ((strcmp(kind, "gpu") == 0 || strcmp(kind, "node") == 0) &&
		    !gone_is_set_up(json_member(f, "code")) &&
		    !json_object_get(set, json_member(f, "node"))) {
			json_object_set_new(set, json_member(f, "node"),
					    json_true());
			json_array_append_new(
				list, json_text(json_member(f, "node")));
		}
	}
	json_decref(set);
	return list;
}

json_t *group_verdict(const json_t *run, const struct allreduce_row *rows,
		      size_t n)
{
	json_t *findings = json_array();
	size_t bad = 0, ok = 0;

	for (size_t i = 0; i < n; i++) {
		bad += is_bad(&rows[i]);
		ok += rows[i].outcome == OUTCOME_OK;
	}
	add_dropped(findings, run, rows, n);
	add_bisect(findings, run, bad);
	add_first_bad(findings, rows, n, bad, json_array_size(findings) > 0);
	add_skipped(findings, rows, n, ok);
	add_ignored(findings, rows, n);
	return json_pack("{s:i, s:s, s:s, s:b, s:o, s:o, s:o}", "schema",
			 VERDICT_SCHEMA, "probe", json_member(run, "probe"),
			 "status", status_of(findings, ok), "drill",
			 json_is_true(json_object_get(run, "drill")), "cells",
			 cells_json(rows, n), "findings", findings, "exclude",
			 exclude_json(findings));
}
