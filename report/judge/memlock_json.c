/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/memlock_verdict.h"

#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/units.h"
#include "report/judge/gone.h"
#include "report/show/show.h"
#include "report/symptoms/symptom.h"

#define VERDICT_SCHEMA 1

/** As many names as a line holds. */
#define NAMES_MAX 3

const char *memlock_bytes(int64_t bytes, char *buf, size_t size)
{
	if (bytes == RECORD_NONE) {
		snprintf(buf, size, "-");
	} else if (bytes == MEMLOCK_UNLIMITED) {
		snprintf(buf, size, "unlimited");
	} else {
		units_size_text((uint64_t)bytes, buf, size);
	}
	return buf;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
}

void memlock_sort_names(char (*nodes)[64], size_t n)
{
	qsort(nodes, n, sizeof(*nodes), by_name);
}

void memlock_names(char (*nodes)[64], size_t n, struct str *out)
{
	size_t shown = n <= NAMES_MAX ? n : NAMES_MAX - 1;

	for (size_t i = 0; i < shown; i++) {
		str_addf(out, "%s%s", i ? ", " : "", nodes[i]);
	}
	if (shown < n) {
		str_addf(out, " and %zu more", n - shown);
	}
}

void memlock_says(const struct memlock_finding *f, struct str *out)
{
	memlock_names(f->nodes, f->n_nodes, out);
	str_addf(out, ": %s", f->what);
}

const char *memlock_remedy(const struct memlock_finding *f)
{
	const struct symptom *s = symptom_find(symptoms_builtin(), f->code);

	return s ? str_text(&s->remedy) : "see the evidence";
}

/** The nodes that it is about. */
static json_t *members_json(const struct memlock_finding *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->n_nodes; i++) {
		json_array_append_new(list, json_text(f->nodes[i]));
	}
	return list;
}

static json_t *evidence_json(const struct memlock_finding *f)
{
	json_t *list = json_array();
	struct str nodes = STR_INIT;

	for (size_t i = 0; i < f->n_evidence; i++) {
		json_array_append_new(list, json_text(f->evidence[i]));
	}
	if (f->n_nodes > 1) {
		for (size_t i = 0; i < f->n_nodes; i++) {
			str_addf(&nodes, "%s%s", i ? "," : "nodes: ",
				 f->nodes[i]);
		}
		json_array_append_new(list, json_text(str_text(&nodes)));
	}
	str_release(&nodes);
	return list;
}

static json_t *finding_json(const struct memlock_finding *f)
{
	struct str says = STR_INIT;
	json_t *json;

	memlock_says(f, &says);
	json = json_pack("{s:s, s:o, s:n, s:n, s:n, s:s, s:s, s:s, s:I, s:I,"
			 " s:[], s:o, s:o, s:o, s:o, s:n}",
			 "kind", f->kind,
			 "node", f->n_nodes == 1 ? json_text(f->nodes[0]) :
						   json_null(),
			 "index", "peer_node", "peer_index",
			 "direction", "both",
			 "severity", f->fail ? "fail" : "warn",
			 "code", f->code,
			 "cells", (json_int_t)f->cells,
			 "explained", (json_int_t)f->cells,
			 "or", "says", json_text(str_text(&says)),
			 "do", json_text(memlock_remedy(f)),
			 "evidence", evidence_json(f),
			 "members", members_json(f), "score");
	str_release(&says);
	return json;
}

static json_t *cells_json(const struct memlock_verdict *v)
{
	json_t *cells = json_object();

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		json_object_set_new(cells,
				    cell_class_name((enum cell_class)c),
				    json_integer((json_int_t)v->cells[c]));
	}
	return cells;
}

/** Nodes to leave out: of what is wrong on some of them only. */
static json_t *exclude_json(const struct memlock_verdict *v)
{
	json_t *set = json_object(), *list = json_array();
	const char *name;
	json_t *unused;

	for (size_t i = 0; i < v->n; i++) {
		const struct memlock_finding *f = &v->findings[i];

		for (size_t k = 0; k < f->n_nodes && f->fail &&
				   strcmp(f->kind, "config") != 0 &&
				   !gone_is_set_up(f->code); k++) {
			json_object_set_new(set, f->nodes[k], json_true());
		}
	}
	json_object_foreach(set, name, unused) {
		json_array_append_new(list, json_string(name));
	}
	json_decref(set);
	return list;
}

json_t *memlock_verdict_json(const struct memlock_run *run,
			     const struct memlock_verdict *v)
{
	json_t *findings = json_array();

	for (size_t i = 0; i < v->n; i++) {
		if (json_array_append_new(findings,
					  finding_json(&v->findings[i])) < 0) {
			json_decref(findings);
			return NULL;
		}
	}
	return json_pack("{s:i, s:s, s:s, s:b, s:o, s:o, s:o}",
			 "schema", VERDICT_SCHEMA, "probe", "memlock",
			 "status", verdict_status_name(v->status),
			 "drill", run->drill, "cells", cells_json(v),
			 "findings", findings, "exclude", exclude_json(v));
}

int memlock_json(const struct memlock_run *run,
		 const struct memlock_verdict *v, FILE *out, struct err *e)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < run->n; i++) {
		json_array_append_new(rows, record_json(&schema_memlock,
							&run->rows[i]));
	}
	return report_json_write(run->json, memlock_verdict_json(run, v), rows,
				 out, e);
}
