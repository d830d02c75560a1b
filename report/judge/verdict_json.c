/* SPDX-License-Identifier: BSD-3-Clause */
/* Write and read verdict.json. */
#include "report/judge/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "report/judge/caption.h"
#include "report/judge/findings.h"
#include "report/judge/retest.h"
#include "report/model/run.h"

#define VERDICT_SCHEMA 1

json_t *verdict_node_json(const struct run *run, int node)
{
	return node >= 0 ? json_text(run->nodes[node].name) : json_null();
}

static json_t *leaf_json(const struct run *run, int leaf)
{
	json_t *list;

	if (leaf < 0) {
		return NULL;
	}
	list = json_array();
	for (int i = 0; i < run->n_nodes; i++) {
		if (run->nodes[i].leaf == leaf + 1) {
			json_array_append_new(list, verdict_node_json(run, i));
		}
	}
	return list;
}

static json_t *part_json(const struct run *run, const struct part *p)
{
	const unsigned leaves = PART_OF_LEAVES;
	int leaf = part_leaf(p), peer = part_peer_leaf(p);
	const char *name = leaf >= 0 ? run->leaves[leaf].name :
			   p->kind == PART_NIC ? part_nic_name(run, p) : "";
	/* a switch has no number */
	bool number = !part_is(p, leaves & ~KIND(RAIL_LEAF));

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:o*, s:o*, s:o*, "
			 "s:o*, s:o*, s:o*}",
			 "kind", part_kind_name(p->kind),
			 "node", verdict_node_json(run, p->node),
			 "index", json_int_or_null(number ? p->index : -1),
			 "peer_node", verdict_node_json(run, p->peer_node),
			 "peer_index", json_int_or_null(part_is(p, leaves) ?
						  -1 : p->peer_index),
			 "direction", part_direction_name(p->direction),
			 "name", !part_is(p, KIND(NIC) | leaves) ? NULL :
				 name[0] ? json_text(name) : json_null(),
			 "uplinks", p->kind != PART_SWITCH ? NULL :
				 json_boolean(p->peer_index == PART_UPLINKS),
			 "members", leaf_json(run, leaf),
			 "peer_name", peer < 0 ? NULL :
				 json_text(run->leaves[peer].name),
			 "peer_members", leaf_json(run, peer),
			 "inferred", leaf < 0 ? NULL :
				 json_boolean(run->leaves_inferred));
}

/** @n texts, @size bytes apart. */
static json_t *texts_json(const void *texts, size_t size, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_array_append_new(
			list, json_text((const char *)texts + i * size));
	}
	return list;
}

static json_t *finding_json(const struct run *run, const struct finding *f)
{
	json_t *json = part_json(run, &f->part), *rest;
	json_t *others = json_array(), *members = json_array();

	for (size_t i = 0; i < f->n_or; i++) {
		json_array_append_new(others, part_json(run, &f->or_parts[i]));
	}
	for (size_t i = 0; i < f->n_members; i++) {
		json_array_append_new(members,
				      verdict_node_json(run, f->members[i]));
	}
	if (part_leaf(&f->part) >= 0) {	/* the part has them */
		json_decref(members);
		members = NULL;
	}
	/* two digits of the score; more are of no use */
	rest = json_pack("{s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:o, "
			 "s:o*, s:b, s:o, s:o*, s:o*}",
			 "severity", f->fail ? "fail" : "warn",
			 "code", json_text(f->code),
			 "cells", (json_int_t)f->cells,
			 "explained", (json_int_t)f->explained,
			 "or", others,
			 "says", json_text(f->says),
			 "do", json_text(f->act),
			 "evidence",
			 texts_json(f->evidence, sizeof(*f->evidence),
				    f->n_evidence),
			 "members", members,
			 "drain", f->drain,
			 "score", isnan(f->score) ? json_null() :
			 json_real(round(f->score * 100) / 100),
			 "rungs", f->n_probes == 0 ? NULL :
			 texts_json(f->probes, sizeof(*f->probes),
				    f->n_probes),
			 "judged", f->judged == 0 || f->judged == f->cells ?
					   NULL :
			 json_integer((json_int_t)f->judged));
	if (json_object_update(json, rest) < 0) {
		json_decref(json);
		json = NULL;
	}
	json_decref(rest);
	return json;
}

static json_t *cells_json(const size_t count[CELL_CLASSES])
{
	json_t *cells = json_object();

	for (unsigned i = 1; i <= CELL_CLASSES; i++) {
		unsigned c = i % CELL_CLASSES;	/* not run: the last one */

		json_object_set_new(cells, cell_class_name(c),
				    json_integer((json_int_t)count[c]));
	}
	return cells;
}

/** Returns the comparison with the accepted run; NULL without one. */
static json_t *accepted_json(const struct accepted *a)
{
	return !a->dir[0] ? NULL :
		json_pack("{s:o, s:o, s:o, s:o}", "dir", json_text(a->dir),
			  "started_utc", a->started_utc[0] ?
			  json_text(a->started_utc) : json_null(),
			  "refused", a->why_not[0] ? json_text(a->why_not) :
						     json_null(),
			  "accepted", texts_json(a->says, sizeof(*a->says),
						 a->n));
}

/** Returns what no finding has; NULL without notes. */
static json_t *notes_json(const struct verdict *v)
{
	json_t *list = v->n_notes > 0 ? json_array() : NULL;

	for (size_t i = 0; i < v->n_notes; i++) {
		json_int_t tests = (json_int_t)v->notes[i].tests;
		json_t *note = json_object();

		json_object_set_new(note, "kind", json_text(v->notes[i].kind));
		json_object_set_new(note, "tests", json_integer(tests));
		json_object_set_new(note, "says", json_text(v->notes[i].says));
		json_object_set_new(note, "known",
				    json_text(v->notes[i].known));
		if (v->notes[i].act[0]) {
			json_object_set_new(note, "do",
					    json_text(v->notes[i].act));
		}
		json_array_append_new(list, note);
	}
	return list;
}

/** Returns the tests of --accept; NULL without any. */
static json_t *tests_json(const struct verdict *v)
{
	static const char *const results[] = {
		[TEST_MET] = "met", [TEST_MISSED] = "missed",
		[TEST_NOT_MEASURED] = "not_measured",
		[TEST_OTHER] = "other_probe",
	};
	json_t *list = v->n_tests > 0 ? json_array() : NULL;

	for (size_t i = 0; i < v->n_tests; i++) {
		const struct verdict_test *t = &v->tests[i];

		json_array_append_new(list, json_pack(
			"{s:o, s:s, s:o}", "test", json_text(t->name),
			"result", results[t->how], "says", json_text(t->says)));
	}
	return list;
}

json_t *verdict_json(const struct run *run, const struct verdict *v)
{
	json_t *findings = json_array();
	size_t follow_up[CELL_CLASSES];
	struct sampled sample;
	bool sampled = sampled_read(run_file(run->json).planned.sample,
				    &sample);
	char reason[2 * CAPTION_SIZE];
	bool cut = caption_partial(run, v, reason, sizeof(reason));
	size_t said = strlen(reason);

	if (cut && v->hint) {
		snprintf(reason + said, sizeof(reason) - said, "; %s", v->hint);
	}
	follow_count(run, follow_up);
	for (size_t i = 0; i < v->n; i++) {
		if (json_array_append_new(findings,
					  finding_json(run, &v->findings[i])) <
		    0) {
			json_decref(findings);
			return NULL;
		}
	}
	return json_pack("{s:i, s:s, s:s, s:b, s:b, s:o, s:o*, s:o*, s:o, s:o, "
			 "s:o, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}",
			 "schema", VERDICT_SCHEMA, "probe", run->probe,
			 "status", verdict_status_name(v->status),
			 "drill", run->drill, "simulated", run_is_model(run),
			 "cells", cells_json(v->cells),
			 "follow_up", run->n_follow > 0 ?
			 cells_json(follow_up) : NULL,
			 "notes", notes_json(v),
			 "findings", findings,
			 "exclude", texts_json(v->exclude, sizeof(*v->exclude),
					       v->n_exclude),
			 "good", texts_json(v->good, sizeof(*v->good),
					    v->n_good),
			 "reason", cut ? json_text(reason) : NULL,
			 "unwritten", v->unsaved ? json_text(v->unsaved) : NULL,
			 "slow_percent", run->slow_percent > 0 ?
			 json_integer(run->slow_percent) : NULL,
			 "sample", sampled ? sampled_json(&sample) : NULL,
			 "retest", retest_json(run, v),
			 "reference", accepted_json(&v->accepted),
			 "accept", tests_json(v));
}

/* ---- and back ----------------------------------------------------------- */

/** Returns the node @name of the run, which it gets if need be; -1: NULL is
 *  none. */
static int find_node(void *run, const char *name)
{
	return name ? run_add_node(run, name) : -1;
}

/** Returns the switch with that name and the nodes @members; -1 without a name
 *  or nodes. */
static int read_leaf(void *of, const char *name, const json_t *members)
{
	struct run *run = of;
	int leaf = -1;
	json_t *node;
	size_t i;

	json_array_foreach(members, i, node) {
		int at = find_node(run, json_string_value(node));

		if (name[0] && at >= 0) {
			leaf = run_join_leaf(run, at, name);
		}
	}
	return leaf >= 0 && run->leaves[leaf].n_nodes > 0 ? leaf : -1;
}

/** Reads a part.  Returns 0, or -1 if @json is not one, or lacks the nodes that
 *  its kind requires. */
static int read_part(const json_t *json, struct run *run, struct part *p)
{
	const unsigned two = KIND(NODE_PAIR) | KIND(PAIR);
	const unsigned one = two | KIND(NODE) | KIND(NODE_NETWORK) |
			     KIND(SOCKET) | KIND(CABLE_SWAP) | KIND(NIC) |
			     KIND(GPU) | KIND(GPU_NVLINK);
	const struct run_entry f = run_entry_of(json);

	if (part_kind_of(f.kind) == PART_KINDS) {
		return -1;
	}
	*p = part_read(json, find_node, read_leaf, run);
	if (part_is(p, PART_OF_LEAVES)) {
		return part_is_placed(p) ? 0 : -1;
	}
	p->name = run_add_name(run, f.name);
	return (p->node < 0 && part_is(p, one)) ||
			       (p->peer_node < 0 && part_is(p, two)) ?
		       -1 : 0;
}

static void read_finding(const json_t *json, struct run *run,
			 struct verdict *v)
{
	const struct run_entry said = run_entry_of(json);
	const json_t *item;
	struct finding *f;
	struct part p, other;
	size_t i;

	if (read_part(json, run, &p) < 0) {
		return;
	}
	f = finding_add(v, p, said.code);
	f->fail = said.fail;
	f->drain = said.drain;
	f->cells = (size_t)said.cells;
	f->explained = (size_t)said.explained;
	f->score = said.score;
	STR_COPY(f->says, said.says);
	finding_set_act(f, said.act);
	json_array_foreach(said.others, i, item) {
		if (read_part(item, run, &other) == 0) {
			finding_add_or(f, &other);
		}
	}
	json_array_foreach(said.evidence, i, item) {
		if (json_is_string(item)) {
			finding_add_evidence(f, "%s", json_string_value(item));
		}
	}
	json_array_foreach(said.members, i, item) {
		int node = find_node(run, json_string_value(item));

		if (node >= 0 && part_leaf(&p) < 0) {
			finding_add_member(f, node);
		}
	}
}

int verdict_read(const json_t *json, struct run *run, struct verdict *v)
{
	const struct verdict_file f = verdict_file(json);
	const json_t *finding;
	size_t i;

	v->status = VERDICT_PASS;
	while (v->status < VERDICT_UNKNOWN &&
	       strcmp(verdict_status_name(v->status), f.status) != 0) {
		v->status++;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		json_int_t count = json_integer_value(
			json_object_get(f.cells, cell_class_name(c)));

		v->cells[c] = count > 0 ? (size_t)count : 0;
	}
	json_array_foreach(f.findings, i, finding) {
		read_finding(finding, run, v);
	}
	return verdict_whole(v);
}
