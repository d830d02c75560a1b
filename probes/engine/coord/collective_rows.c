/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collective leaves behind: rows, and its part of run.json. */
#include "probes/engine/coord/collective.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/data/json.h"
#include "lib/base/str.h"

bool collective_measures(const struct collective_work *w, int i, int ranks)
{
	struct collective_shape s;

	return collective_shape(w->op, w->dtype, ranks, w->sizes[i], &s) &&
	       (w->memory_B == 0 || w->sizes[i] <= w->memory_B);
}

/** How many rows all sizes will have. */
static size_t count_rows(const struct collective_work *w)
{
	size_t n = 0;

	for (int i = 0; i < w->n_sizes; i++) {
		n += collective_measures(w, i, w->ranks.layout.n_ranks) ? 2 : 0;
	}
	return n * (size_t)w->n_variants;
}

static void row_init(struct collective_work *w, struct collective_row *row)
{
	const struct variant *v = &w->variants[w->variant];
	const struct xport_ops *ops = w->ranks.ops;
	int ranks = w->n_members > 0 ? w->n_members : w->ranks.layout.n_ranks;
	struct collective_shape s;

	record_init(&schema_collective, row);
	STR_COPY(row->op, collective_name(w->op));
	STR_COPY(row->variant, v->name);
	STR_COPY(row->lib, xport_is(ops, XPORT_MODEL) ? ops->name :
			   v->lib[0] != '\0'	      ? v->lib :
							w->lib);
	STR_COPY(row->algo, w->algo);
	STR_COPY(row->proto, w->proto);
	row->ranks = ranks;
	row->nodes =
		w->n_members > 0 ? round_nodes(w) : w->ranks.layout.n_nodes;
	STR_COPY(row->dtype, w->dtype->name);
	STR_COPY(row->redop,
		 collective_kinds[w->op].reduces ? w->redop->name : "none");
	row->root = collective_kinds[w->op].has_root ? 0 : -1;
	collective_shape(w->op, w->dtype, ranks, w->sizes[w->size], &s);
	row->size_B = s.size_B;
	row->count = s.count;
	row->inplace = w->inplace;
	STR_COPY(row->start_utc, w->start_utc);
	if (s.size_B != w->sizes[w->size]) {
		collective_note(
			w,
			"sizes are rounded down to a multiple of %d bytes per "
			"rank (%d ranks), as nccl-tests does",
			16, ranks);
	}
}

/** NCCL took something else than it was asked for, and said nothing. */
static void compare_choice(struct collective_work *w,
			   struct collective_row *row)
{
	const struct variant *v = &w->variants[w->variant];
	bool algo = v->algo[0] != '\0' && row->algo[0] != '\0' &&
		    strcasecmp(v->algo, row->algo) != 0;
	bool proto = v->proto[0] != '\0' && row->proto[0] != '\0' &&
		     strcasecmp(v->proto, row->proto) != 0;

	if (algo || proto) {
		STR_COPY(row->code, "not_as_asked");
		snprintf(row->detail, sizeof(row->detail),
			 "requested %s%s%s, the library used %s%s%s", v->algo,
			 v->algo[0] && v->proto[0] ? " " : "", v->proto,
			 row->algo, row->proto[0] ? " " : "", row->proto);
	}
}

void collective_write_failed(struct collective_work *w, enum outcome o,
			     const char *code, const char *detail)
{
	struct collective_row row;

	row_init(w, &row);
	row.outcome = o;
	STR_COPY(row.code, code);
	STR_COPY(row.detail, detail);
	if (row.count > 0) {
		coord_write_row(w->c, &row);
	}
}

void collective_write_row(struct collective_work *w)
{
	struct collective_row row;

	row_init(w, &row);
	row.outcome = OUTCOME_OK;
	row.wrong = w->wrong;
	collective_samples_result(&w->samples, &row);
	compare_choice(w, &row);
	if (w->wrong > 0) {
		row.outcome = OUTCOME_CORRUPT;
		STR_COPY(row.code, "data_corrupt");
		snprintf(row.detail, sizeof(row.detail),
			 "%lld elements have a wrong result",
			 (long long)w->wrong);
	}
	verify_row(w, &row);
	coord_write_row(w->c, &row);
}

void collective_write_rest(struct collective_work *w, enum outcome o,
			   const char *code, const char *detail)
{
	w->algo[0] = w->proto[0] = '\0';
	while (w->size < w->n_sizes) {
		collective_write_failed(w, o, code, detail);
		w->size += w->inplace;
		w->inplace = !w->inplace;
	}
}

/** Ranks that it went on without. */
static json_t *dropped_json(struct collective_work *w)
{
	json_t *list = json_array();
	int unusable = 0;

	/* what nobody could open is no rank's fault: the rows say it */
	for (int r = 0; r < w->ranks.layout.n_ranks; r++) {
		unusable += w->ranks.all[r].state == RANK_UNUSABLE;
	}
	for (int r = 0; r < w->ranks.layout.n_ranks; r++) {
		const struct rank *k = &w->ranks.all[r];

		if (k->state > RANK_READY &&
		    (k->state != RANK_UNUSABLE ||
		     unusable < w->ranks.layout.n_ranks)) {
			json_array_append_new(
				list,
				json_pack("{s:i,s:s,s:i,s:s,s:o}", "rank", r,
					  "node", ranks_node(&w->ranks, r),
					  "gpu", w->ranks.layout.ranks[r].gpu,
					  "code", k->code, "detail",
					  json_text(k->detail)));
		}
	}
	return list;
}

void collective_put_plan(void *work, json_t *run)
{
	struct collective_work *w = work;
	json_t *variants;

	if (w->ranks.ops == NULL || w->n_variants == 0) {
		return;		/* stopped before there was one */
	}
	variants = json_array();
	for (int i = 0; i < w->n_variants; i++) {
		json_array_append_new(variants,
				      json_pack("{s:s,s:O}", "name",
						w->variants[i].name, "env",
						w->variants[i].env));
	}
	ranks_put_plan(&w->ranks, run, w->sizes, w->n_sizes, NULL);
	json_object_set_new(run, "variants", variants);
	json_object_set_new(run, "planned",
			    json_pack("{s:s,s:s,s:I}", "kind", "sweep", "op",
				      collective_name(w->op), "cells",
				      (json_int_t)count_rows(w)));
	json_object_set(run, "notes", w->notes);
	json_object_set_new(run, "dropped", dropped_json(w));
	json_object_set(run, "bisect", w->found); /* not when that is NULL */
}
