/* SPDX-License-Identifier: BSD-3-Clause */
/* What a group leaves behind: rows, and its part of run.json. */
#include "probes/engine/coord/group.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/base/str.h"

static void row_init(struct coord *c, struct allreduce_row *row)
{
	struct group *g = c->group;
	const struct variant *v = &g->variants[g->variant];
	int ranks = g->n_members > 0 ? g->n_members : c->layout.n_ranks;
	struct coll_shape s;

	record_init(&schema_allreduce, row);
	STR_COPY(row->op, collective_name(g->op));
	STR_COPY(row->variant, v->name);
	STR_COPY(row->lib, c->ops->caps & XPORT_MODEL ? c->ops->name :
			   v->lib[0] != '\0'	      ? v->lib :
							g->lib);
	STR_COPY(row->algo, g->algo);
	STR_COPY(row->proto, g->proto);
	row->ranks = ranks;
	row->nodes = g->n_members > 0 ? group_nodes(c) : c->layout.n_nodes;
	STR_COPY(row->dtype, g->dtype->name);
	STR_COPY(row->redop, coll_reduces(g->op) ? g->redop->name : "none");
	row->root = coll_has_root(g->op) ? 0 : -1;
	coll_shape(g->op, g->dtype, ranks, g->sizes[g->size], &s);
	row->size_B = s.size_B;
	row->count = s.count;
	row->inplace = g->inplace;
	STR_COPY(row->start_utc, g->start_utc);
	if (s.size_B != g->sizes[g->size]) {
		group_note(c, "sizes are rounded down to a multiple of %d "
			   "bytes for each of %d ranks, as nccl-tests does",
			   16, ranks);
	}
}

static void write_row(struct coord *c, struct allreduce_row *row)
{
	struct err e = { 0 };

	if (rundir_table_add(&c->results, row, &e) < 0 &&
	    c->error.text[0] == '\0') {
		c->error = e;
		c->error_exit = 3;
		coord_stop(c, "write_error");
	}
}

/** NCCL took something else than it was asked for, and said nothing. */
static void compare_choice(struct coord *c, struct allreduce_row *row)
{
	const struct variant *v = &c->group->variants[c->group->variant];
	bool algo = v->algo[0] != '\0' && row->algo[0] != '\0' &&
		    strcasecmp(v->algo, row->algo) != 0;
	bool proto = v->proto[0] != '\0' && row->proto[0] != '\0' &&
		     strcasecmp(v->proto, row->proto) != 0;

	if (algo || proto) {
		STR_COPY(row->code, "not_as_asked");
		snprintf(row->detail, sizeof(row->detail),
			 "asked for %s%s%s, the library took %s%s%s", v->algo,
			 v->algo[0] && v->proto[0] ? " " : "", v->proto,
			 row->algo, row->proto[0] ? " " : "", row->proto);
	}
}

void group_write_row(struct coord *c, const struct group_end *end)
{
	struct group *g = c->group;
	struct allreduce_row row;

	row_init(c, &row);
	if (end != NULL) {
		row.outcome = end->outcome;
		STR_COPY(row.code, end->code);
		STR_COPY(row.detail, end->detail);
		write_row(c, &row);
		return;
	}
	row.outcome = OUTCOME_OK;
	row.wrong = g->wrong;
	coll_samples_result(&g->samples, &row);
	compare_choice(c, &row);
	if (g->wrong != RECORD_NONE && g->wrong > 0) {
		row.outcome = OUTCOME_CORRUPT;
		STR_COPY(row.code, "data_corrupt");
		snprintf(row.detail, sizeof(row.detail),
			 "%lld elements came out wrong",
			 (long long)g->wrong);
	}
	write_row(c, &row);
}

void group_write_rest(struct coord *c, enum outcome o, const char *code,
		      const char *detail)
{
	struct group *g = c->group;
	struct allreduce_row row;

	while (g->size < g->n_sizes) {
		row_init(c, &row);
		row.algo[0] = row.proto[0] = '\0';
		row.outcome = o;
		STR_COPY(row.code, code);
		STR_COPY(row.detail, detail);
		if (row.count > 0) {
			write_row(c, &row);
		}
		g->size += g->inplace;
		g->inplace = !g->inplace;
	}
}

/** Ranks that the group went on without. */
static json_t *dropped_json(struct coord *c)
{
	json_t *list = json_array();
	int unusable = 0;

	/* what nobody could open is no rank's fault: the rows say it */
	for (int r = 0; r < c->layout.n_ranks; r++) {
		unusable += c->ranks[r].state == RANK_UNUSABLE;
	}
	for (int r = 0; r < c->layout.n_ranks; r++) {
		const struct coord_rank *k = &c->ranks[r];

		if (k->state > RANK_READY &&
		    (k->state != RANK_UNUSABLE ||
		     unusable < c->layout.n_ranks)) {
			json_array_append_new(
				list,
				json_pack("{s:i,s:s,s:i,s:s,s:o}", "rank", r,
					  "node", coord_node(c, r), "gpu",
					  c->layout.ranks[r].gpu, "code",
					  k->code, "detail",
					  json_text(k->detail)));
		}
	}
	return list;
}

void group_put_plan(struct coord *c)
{
	struct group *g = c->group;
	json_t *sizes, *variants;

	if (c->ops == NULL || g == NULL || g->n_variants == 0) {
		return;		/* stopped before there was one */
	}
	sizes = json_array();
	variants = json_array();
	for (int i = 0; i < g->n_sizes; i++) {
		json_array_append_new(sizes, json_integer(g->sizes[i]));
	}
	for (int i = 0; i < g->n_variants; i++) {
		json_array_append_new(
			variants, json_pack("{s:s,s:O}", "name",
					    g->variants[i].name, "env",
					    g->variants[i].env));
	}
	json_object_set_new(c->run, "transport", json_string(c->ops->name));
	json_object_set_new(c->run, "nodes", coord_nodes_json(c));
	json_object_set_new(c->run, "sizes", sizes);
	json_object_set_new(c->run, "variants", variants);
	json_object_set_new(c->run, "planned",
			    json_pack("{s:s,s:s,s:I}", "kind", "sweep", "op",
				      collective_name(g->op), "cells",
				      (json_int_t)group_rows(c)));
	json_object_set_new(c->run, "settings", coord_settings(c));
	json_object_set(c->run, "notes", g->notes);
	json_object_set_new(c->run, "dropped", dropped_json(c));
	if (g->found != NULL) {
		json_object_set(c->run, "bisect", g->found);
	}
}
