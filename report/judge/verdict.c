/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/verdict.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/exit_code.h"
#include "lib/data/json.h"
#include "report/base/grow.h"
#include "report/judge/gone.h"
#include "report/judge/next.h"
#include "report/model/run_read.h"

#define VERDICT_SCHEMA 1

const char *verdict_status_name(enum verdict_status s)
{
	static const char *const names[] = {
		[VERDICT_PASS]	  = "pass",
		[VERDICT_WARN]	  = "warn",
		[VERDICT_FAIL]	  = "fail",
		[VERDICT_UNKNOWN] = "unknown",
	};

	return names[s];
}

/* ---- findings ----------------------------------------------------------- */

struct finding *finding_add(struct verdict *v, const struct part *p)
{
	struct finding *list = grow(v->findings, v->n, sizeof(*list));

	if (!list) {
		return NULL;
	}
	v->findings = list;
	list[v->n] = (struct finding){ .part = *p, .score = NAN };
	return &list[v->n++];
}

void finding_set_act(struct finding *f, const char *text)
{
	size_t len = strlen(text);

	while (len >= sizeof(f->act)) {	/* half a command is none */
		len--;
		while (len > 0 && text[len] != '\n') {
			len--;
		}
	}
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		f->act[i] = (c < 0x20 && c != '\n') || c == 0x7f ? '?' :
								     text[i];
	}
	f->act[len] = '\0';
}

int finding_add_evidence(struct finding *f, const char *text)
{
	void *lines = realloc(f->evidence,
			      (f->n_evidence + 1) * sizeof(*f->evidence));

	if (!lines) {
		return -1;
	}
	f->evidence = lines;
	STR_COPY(f->evidence[f->n_evidence++], text);
	return 0;
}

int finding_add_member(struct finding *f, int node)
{
	int *members;

	for (size_t i = f->n_members; i > 0; i--) {
		if (f->members[i - 1] == node) {
			return 0;
		}
	}
	members = grow(f->members, f->n_members, sizeof(*members));
	if (!members) {
		return -1;
	}
	f->members = members;
	members[f->n_members++] = node;
	return 0;
}

int finding_add_probe(struct finding *f, const char *probe)
{
	char (*probes)[16];

	for (size_t i = 0; i < f->n_probes; i++) {
		if (strcmp(f->probes[i], probe) == 0) {
			return 0;
		}
	}
	probes = grow(f->probes, f->n_probes, sizeof(*probes));
	if (!probes) {
		return -1;
	}
	f->probes = probes;
	STR_COPY(probes[f->n_probes++], probe);
	return 0;
}

/* ---- what they come to -------------------------------------------------- */

size_t verdict_measured(const struct verdict *v)
{
	size_t n = 0;

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		n += run_measured(c) ? v->cells[c] : 0;
	}
	return n;
}

/** Fails first, then what explains more, then the order of the kinds. */
static int finding_compare(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int parts = part_compare(&x->part, &y->part);

	if (x->fail != y->fail) {
		return x->fail ? -1 : 1;
	}
	if (x->explained != y->explained) {
		return x->explained > y->explained ? -1 : 1;
	}
	return parts ? parts : strcmp(x->code, y->code);
}

/** Leaving out a node helps against what sits in one node only. */
static bool sits_in_nodes(const struct finding *f)
{
	switch (f->part.kind) {
	case PART_NODE:
	case PART_INTRA_NODE:
	case PART_NIC:
	case PART_GPU:
	case PART_LIMIT:
		return f->fail && !f->set_up;
	default:
		return false;
	}
}

static int list_excluded(const struct run *run, struct verdict *v)
{
	v->exclude = calloc((size_t)run->n_nodes + 1, sizeof(*v->exclude));
	if (!v->exclude) {
		return -1;
	}
	for (int i = 0; i < run->n_nodes; i++) {
		for (size_t k = 0; k < v->n; k++) {
			if (sits_in_nodes(&v->findings[k]) &&
			    finding_sits_in(&v->findings[k], i)) {
				STR_COPY(v->exclude[v->n_exclude++],
					 run->nodes[i].name);
				break;
			}
		}
	}
	return 0;
}

static enum verdict_status status_of(const struct verdict *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].fail) {
			return VERDICT_FAIL;
		}
	}
	if (verdict_measured(v) == 0) {
		return VERDICT_UNKNOWN;
	}
	return v->n > 0 ? VERDICT_WARN : VERDICT_PASS;
}

int verdict_close(const struct run *run, struct verdict *v)
{
	if (v->n > 0) {
		qsort(v->findings, v->n, sizeof(*v->findings),
		      finding_compare);
	}
	v->status = status_of(v);
	return list_excluded(run, v) < 0 ? -1 : next_good(run, v);
}

void verdict_release(struct verdict *v)
{
	if (!v) {
		return;
	}
	for (size_t i = 0; i < v->n; i++) {
		free(v->findings[i].or_parts);
		free(v->findings[i].evidence);
		free(v->findings[i].members);
		free(v->findings[i].probes);
	}
	free(v->findings);
	free(v->exclude);
	free(v->good);
	*v = (struct verdict){ 0 };
}

int verdict_exit(const struct run *run, const struct verdict *v)
{
	if (verdict_measured(v) == 0) {
		return CODE_UNABLE;
	}
	if (!run->ended || run->stop_reason[0] ||
	    v->cells[CELL_NOT_RUN] > v->given_up) {
		return CODE_PARTIAL;
	}
	if (v->status == VERDICT_FAIL ||
	    (v->status == VERDICT_WARN && run->strict)) {
		return CODE_FAULT;
	}
	return CODE_HEALTHY;
}

/* ---- verdict.json ------------------------------------------------------- */

static json_t *node_json(const struct run *run, int node)
{
	return node >= 0 ? json_text(run->nodes[node].name) : json_null();
}

static json_t *index_json(int index)
{
	return index >= 0 ? json_integer(index) : json_null();
}

static json_t *leaf_json(const struct run *run, const struct part *p)
{
	json_t *list = json_array();

	for (int i = 0; i < run->n_nodes; i++) {
		if (run->leaf_of[i] == p->index) {
			json_array_append_new(list, node_json(run, i));
		}
	}
	return list;
}

/** What the rows call it: mlx5_2, eth2. */
static json_t *name_json(const struct run *run, const struct part *p)
{
	const char *name = p->name > 0 ? run->names[p->name - 1] :
			   part_nic_name(run, p->node, p->index);

	return name[0] ? json_text(name) : json_null();
}

static json_t *part_json(const struct run *run, const struct part *p)
{
	bool leaf = p->kind == PART_SWITCH;
	json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o, s:s}",
				 "kind", part_kind_name(p->kind),
				 "node", node_json(run, p->node),
				 "index", index_json(leaf ? -1 : p->index),
				 "peer_node", node_json(run, p->peer_node),
				 "peer_index",
				 index_json(leaf ? -1 : p->peer_index),
				 "direction",
				 part_direction_name(p->direction));

	if (p->kind == PART_NIC) {
		json_object_set_new(json, "name", name_json(run, p));
	}
	if (leaf) {
		json_object_set_new(json, "name",
				    json_text(run->leaves[p->index].name));
		json_object_set_new(json, "uplinks",
				    json_boolean(p->peer_index ==
						 PART_UPLINKS));
		json_object_set_new(json, "members", leaf_json(run, p));
	}
	return json;
}

static json_t *or_json(const struct run *run, const struct finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_or; i++) {
		json_array_append_new(list, part_json(run, &f->or_parts[i]));
	}
	return list;
}

static json_t *evidence_json(const struct finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_evidence; i++) {
		json_array_append_new(list, json_text(f->evidence[i]));
	}
	return list;
}

static json_t *members_json(const struct run *run, const struct finding *f)
{
	json_t *list;

	if (f->part.kind == PART_SWITCH) {
		return leaf_json(run, &f->part);
	}
	list = json_array();
	for (size_t i = 0; i < f->n_members; i++) {
		json_array_append_new(list, node_json(run, f->members[i]));
	}
	return list;
}

/** Two digits are more than anybody can use. */
static json_t *score_json(double score)
{
	return isnan(score) ? json_null() :
			      json_real(round(score * 100) / 100);
}

static json_t *probes_json(const struct finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_probes; i++) {
		json_array_append_new(list, json_text(f->probes[i]));
	}
	return list;
}

static json_t *finding_json(const struct run *run, const struct finding *f)
{
	json_t *json = part_json(run, &f->part);
	json_t *rest = json_pack("{s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:o, "
				 "s:o, s:o}",
				 "severity", f->fail ? "fail" : "warn",
				 "code", json_text(f->code),
				 "cells", (json_int_t)f->cells,
				 "explained", (json_int_t)f->explained,
				 "or", or_json(run, f),
				 "says", json_text(f->says),
				 "do", json_text(f->act),
				 "evidence", evidence_json(f),
				 "members", members_json(run, f),
				 "score", score_json(f->score));

	if (f->n_probes > 0) {
		json_object_set_new(rest, "rungs", probes_json(f));
	}
	if (json_object_update(json, rest) < 0) {
		json_decref(json);
		json = NULL;
	}
	json_decref(rest);
	return json;
}

static json_t *cells_json(const struct verdict *v)
{
	static const enum cell_class order[] = {
		CELL_PASS, CELL_SLOW, CELL_FAIL, CELL_TIMEOUT, CELL_CORRUPT,
		CELL_SKIPPED, CELL_NOT_RUN,
	};
	json_t *cells = json_object();

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		json_object_set_new(cells, cell_class_name(order[i]),
				    json_integer((json_int_t)
						 v->cells[order[i]]));
	}
	return cells;
}

/** @names of @n nodes. */
static json_t *names_json(char (*names)[64], size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_array_append_new(list, json_text(names[i]));
	}
	return list;
}

json_t *verdict_json(const struct run *run, const struct verdict *v)
{
	json_t *findings = json_array();

	for (size_t i = 0; i < v->n; i++) {
		if (json_array_append_new(findings,
					  finding_json(run, &v->findings[i])) <
		    0) {
			json_decref(findings);
			return NULL;
		}
	}
	return json_pack("{s:i, s:s, s:s, s:b, s:o, s:o, s:o, s:o}",
			 "schema", VERDICT_SCHEMA, "probe", run->probe,
			 "status", verdict_status_name(v->status),
			 "drill", run->drill, "cells", cells_json(v),
			 "findings", findings,
			 "exclude", names_json(v->exclude, v->n_exclude),
			 "good", names_json(v->good, v->n_good));
}

/* ---- and back ----------------------------------------------------------- */

/** A number of @json that is no less than 0; -1: it is none. */
static json_int_t number_of(const json_t *json, const char *key)
{
	const json_t *n = json_object_get(json, key);

	return json_is_integer(n) && json_integer_value(n) >= 0 ?
		       json_integer_value(n) : -1;
}

static int index_of(const json_t *json, const char *key)
{
	json_int_t n = number_of(json, key);

	return n <= INT_MAX ? (int)n : -1;
}

/** The nodes that a switch joins; 0, or -1 where it has no name or no node. */
static int read_leaf(const json_t *json, struct run *run, struct part *p)
{
	const char *name = json_member(json, "name");
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(json, "members"), i, node) {
		int at = json_is_string(node) ?
				 run_add_node(run, json_string_value(node)) : -1;

		if (name[0] && at >= 0) {
			p->index = run_join_leaf(run, at, name);
		}
	}
	p->peer_index = json_is_true(json_object_get(json, "uplinks")) ?
				PART_UPLINKS : -1;
	return p->index >= 0 && run->leaves[p->index].n_nodes > 0 ? 0 : -1;
}

/** Are the nodes there that a part of its kind has? */
static bool has_nodes(const struct part *p)
{
	switch (p->kind) {
	case PART_NODE_PAIR:
	case PART_PAIR:
		return p->node >= 0 && p->peer_node >= 0;
	case PART_NODE:
	case PART_NIC:
	case PART_GPU:
		return p->node >= 0;
	default:
		return true;
	}
}

/** 0, or -1 where @json is no part. */
static int read_part(const json_t *json, struct run *run, struct part *p)
{
	const char *kind = json_member(json, "kind");
	const char *direction = json_member(json, "direction");

	*p = part_of_kind(0);
	while (p->kind < PART_KINDS &&
	       strcmp(part_kind_name(p->kind), kind) != 0) {
		p->kind++;
	}
	if (p->kind == PART_KINDS) {
		return -1;
	}
	p->node = run_add_node(run, json_member(json, "node"));
	p->peer_node = run_add_node(run, json_member(json, "peer_node"));
	for (int d = PART_TX; d <= PART_RX; d++) {
		if (strcmp(part_direction_name(d), direction) == 0) {
			p->direction = d;
		}
	}
	if (p->kind == PART_SWITCH) {
		return read_leaf(json, run, p);
	}
	p->index = index_of(json, "index");
	p->peer_index = index_of(json, "peer_index");
	p->name = run_add_name(run, json_member(json, "name"));
	return has_nodes(p) ? 0 : -1;
}

static int read_or(const json_t *list, struct run *run, struct finding *f)
{
	json_t *part;
	size_t i;

	f->or_parts = calloc(json_array_size(list) + 1, sizeof(*f->or_parts));
	json_array_foreach(list, i, part) {
		if (f->or_parts &&
		    read_part(part, run, &f->or_parts[f->n_or]) == 0) {
			f->n_or++;
		}
	}
	return f->or_parts ? 0 : -1;
}

static int read_finding(const json_t *json, struct run *run, struct verdict *v)
{
	json_int_t cells = number_of(json, "cells");
	json_int_t explained = number_of(json, "explained");
	json_t *score = json_object_get(json, "score"), *text;
	struct finding *f;
	struct part p;
	int rc;
	size_t i;

	if (read_part(json, run, &p) < 0) {
		return 0;
	}
	f = finding_add(v, &p);
	if (!f) {
		return -1;
	}
	f->fail = strcmp(json_member(json, "severity"), "fail") == 0;
	f->cells = cells > 0 ? (size_t)cells : 0;
	f->explained = explained > 0 ? (size_t)explained : 0;
	f->score = json_is_number(score) ? json_number_value(score) : NAN;
	STR_COPY(f->code, json_member(json, "code"));
	STR_COPY(f->says, json_member(json, "says"));
	finding_set_act(f, json_member(json, "do"));
	f->set_up = gone_is_set_up(f->code);
	rc = read_or(json_object_get(json, "or"), run, f);
	json_array_foreach(json_object_get(json, "evidence"), i, text) {
		rc |= json_is_string(text) ?
			      finding_add_evidence(f, json_string_value(text)) :
			      0;
	}
	json_array_foreach(json_object_get(json, "members"), i, text) {
		int node = json_is_string(text) ?
				   run_add_node(run, json_string_value(text)) :
				   -1;

		rc |= node >= 0 && p.kind != PART_SWITCH ?
			      finding_add_member(f, node) : 0;
	}
	return rc;
}

int verdict_read(const json_t *json, struct run *run, struct verdict *v)
{
	const json_t *cells = json_object_get(json, "cells"), *finding;
	const char *status = json_member(json, "status");
	size_t i;

	v->status = VERDICT_PASS;
	while (v->status < VERDICT_UNKNOWN &&
	       strcmp(verdict_status_name(v->status), status) != 0) {
		v->status++;
	}
	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		json_int_t n = number_of(cells, cell_class_name(c));

		v->cells[c] = n > 0 ? (size_t)n : 0;
	}
	json_array_foreach(json_object_get(json, "findings"), i, finding) {
		if (read_finding(finding, run, v) < 0) {
			return -1;
		}
	}
	return 0;
}
