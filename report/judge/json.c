/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/json.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "report/model/part.h"
#include "report/model/report.h"
#include "report/model/run_read.h"

#define VERDICT_SCHEMA 1
/** As many digits as the rows have. */
#define ROW_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

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
	const char *name = p->kind == PART_NIC ?
				   part_nic_name(run, p->node, p->index) : "";

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

json_t *verdict_json(const struct run *run, const struct verdict *v)
{
	json_t *findings = json_array(), *exclude = json_array();
	json_t *good = json_array();

	for (size_t i = 0; i < v->n; i++) {
		if (json_array_append_new(findings,
					  finding_json(run, &v->findings[i])) <
		    0) {
			json_decref(findings);
			json_decref(exclude);
			json_decref(good);
			return NULL;
		}
	}
	for (size_t i = 0; i < v->n_good; i++) {
		json_array_append_new(good, json_text(v->good[i]));
	}
	for (size_t i = 0; i < v->n_exclude; i++) {
		json_array_append_new(exclude, json_text(v->exclude[i]));
	}
	return json_pack("{s:i, s:s, s:s, s:b, s:o, s:o, s:o, s:o}",
			 "schema", VERDICT_SCHEMA, "probe", run->probe,
			 "status", verdict_status_name(v->status),
			 "drill", run->drill, "cells", cells_json(v),
			 "findings", findings, "exclude", exclude,
			 "good", good);
}

static int dump_row(const struct schema *schema, const void *row,
		    const char *before, FILE *out, struct err *e)
{
	json_t *json = record_json(schema, row);
	int rc;

	if (!json) {
		return err_set(e, ENOMEM, "cannot write a row as JSON");
	}
	fputs(before, out);
	rc = json_dumpf(json, out, ROW_FLAGS);
	json_decref(json);
	return rc < 0 ? err_set(e, errno, "cannot write JSON") : 0;
}

static int dump_rows(const char *dir, const struct schema *schema, FILE *out,
		     struct err *e)
{
	struct record_reader reader;
	const char *before = "\n";
	void *row = malloc(schema->row_size);
	FILE *f = run_open(dir, RUN_RESULTS, NULL);
	int got = row ? 0 : err_set(e, ENOMEM, "no memory for a row");

	/* no file, no rows */
	if (f && row && record_reader_open(&reader, schema, f, NULL) == 0) {
		while ((got = record_reader_next(&reader, row, e)) == 1) {
			if (dump_row(schema, row, before, out, e) < 0) {
				got = -1;
				break;
			}
			before = ",\n";
		}
		record_reader_close(&reader);
	}
	if (f) {
		fclose(f);
	}
	free(row);
	return got;
}

/** The ladder of failed pairs, where there is one. */
static int dump_diagnose(const struct run *run, FILE *out, struct err *e)
{
	fputs(",\n\"diagnose\": [", out);
	for (size_t i = 0; i < run->n_diagnose; i++) {
		if (dump_row(&schema_diagnose, &run->diagnose[i],
			     i ? ",\n" : "\n", out, e) < 0) {
			return -1;
		}
	}
	fputc(']', out);
	return 0;
}

int report_json(const char *dir, const struct run *run,
		const struct verdict *v, FILE *out, struct err *e)
{
	json_t *verdict = verdict_json(run, v);
	int rc = -1;

	if (!verdict) {
		return err_set(e, ENOMEM, "cannot write the verdict as JSON");
	}
	fputs("{\"run\": ", out);
	if (json_dumpf(run->json, out, JSON_COMPACT) < 0) {
		goto failed;
	}
	fputs(",\n\"verdict\": ", out);
	if (json_dumpf(verdict, out, ROW_FLAGS) < 0) {
		goto failed;
	}
	json_decref(verdict);
	if (run->n_diagnose > 0 && dump_diagnose(run, out, e) < 0) {
		return -1;
	}
	fputs(",\n\"rows\": [", out);
	rc = dump_rows(dir, run->schema, out, e);
	fputs("]}\n", out);
	return rc;
failed:
	json_decref(verdict);
	return err_set(e, errno, "cannot write JSON");
}

int report_json_write(json_t *run, json_t *verdict, json_t *rows, FILE *out,
		      struct err *e)
{
	json_t *all = json_pack("{s:O?, s:o, s:o}", "run", run, "verdict",
				verdict, "rows", rows);
	int rc;

	if (!all) {
		return err_set(e, ENOMEM, "cannot write the run as JSON");
	}
	rc = json_dumpf(all, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(all);
	return rc < 0 ? err_set(e, errno, "cannot write JSON") : 0;
}
