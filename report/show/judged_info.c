/* SPDX-License-Identifier: BSD-3-Clause */
/* A run that only asked its nodes, as one of the kinds that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/record_info.h"
#include "lib/data/rundir.h"
#include "report/show/details.h"
#include "report/show/info_table.h"
#include "report/model/run_read.h"
#include "report/show/show.h"
#include "report/judge/pairs.h"

/** Sets of nodes that the words show; the details have the others. */
#define SETS_SHOWN 12

struct info_state {
	struct run run;		/* its nodes and facts; there are no ranks */
	struct verdict verdict;
};

static void info_free(void *state)
{
	struct info_state *s = state;

	verdict_release(&s->verdict);
	run_release(&s->run);
	free(s);
}

/** A node is a cell: it answered, or why not. */
static int count_nodes(const char *dir, struct info_state *s, struct err *e)
{
	struct record_reader reader;
	struct info_row row;
	FILE *f = run_open(dir, RUN_RESULTS, NULL);
	int got = 0;

	if (f && record_reader_open(&reader, &schema_info, f, NULL) == 0) {
		while ((got = record_reader_next(&reader, &row, e)) == 1) {
			s->verdict.cells[cells_class_of(row.outcome)]++;
			s->run.rows++;
		}
		s->run.bad_rows = reader.bad_rows;
		STR_COPY(s->run.bad_why, reader.bad_why);
		record_reader_close(&reader);
	}
	if (f) {
		fclose(f);
	}
	return got;
}

static int judge(const char *dir, struct info_state *s, struct err *e)
{
	struct verdict *v = &s->verdict;

	s->run.schema = &schema_info;
	s->run.json = rundir_read_json(dir, RUN_JSON, e);
	if (!s->run.json || run_read_header(&s->run, e) < 0 ||
	    run_make_cells(&s->run, e) < 0 ||
	    run_read_sides(dir, &s->run, e) < 0) {
		return -1;
	}
	if (verdict_compute(&s->run, v) < 0) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	if (count_nodes(dir, s, e) < 0) {
		return -1;
	}
	if (v->status == VERDICT_UNKNOWN && v->cells[CELL_PASS] > 0) {
		v->status = v->n > 0 ? VERDICT_WARN : VERDICT_PASS;
	}
	return 0;
}

/** 0; 1 with @e when DIR may only be read; 2. */
static int write_verdict(const char *dir, const struct info_state *s,
			 struct err *e)
{
	json_t *json = verdict_json(&s->run, &s->verdict);
	int rc = json ? rundir_write_json(dir, RUN_VERDICT, json, e) :
			err_set(e, ENOMEM, "cannot write the verdict");

	json_decref(json);
	if (rc < 0) {
		rc = e->code == EACCES || e->code == EPERM ||
				     e->code == EROFS ? 1 : 2;
	}
	return rc;
}

static int info_make(const char *dir, void **state, struct err *e)
{
	struct info_state *s = calloc(1, sizeof(*s));

	if (!s) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	if (judge(dir, s, e) < 0) {
		info_free(s);
		return -1;
	}
	*state = s;
	return write_verdict(dir, s, e);
}

static int info_exit(const void *state)
{
	const struct info_state *s = state;

	return verdict_exit(&s->run, &s->verdict);
}

static size_t info_rows(const void *state)
{
	return ((const struct info_state *)state)->run.rows;
}

static int info_words(const void *state, int width, bool color,
		      enum term_style style, struct str *out)
{
	const struct info_state *s = state;

	(void)style;	/* a table has no picture */
	words_of_info(&s->run, &s->verdict,
		      width > 0 ? width : JUDGED_FILE_WIDTH, color, out);
	return info_table(&s->run, width, 0, SETS_SHOWN, out);
}

static void info_details(const void *state, int width, struct str *out)
{
	const struct info_state *s = state;

	info_table(&s->run, width, SETS_SHOWN, SIZE_MAX, out);
	details_render(&s->run, &s->verdict, width, out);
}

/** Lines of @schema, from memory. */
static json_t *facts_json(const struct run *run)
{
	json_t *list = json_array();

	for (size_t i = 0; i < run->n_facts; i++) {
		json_array_append_new(list, record_json(&schema_facts,
							&run->facts[i]));
	}
	return list;
}

static json_t *rows_json(const char *dir, struct err *e)
{
	struct record_reader reader;
	json_t *list = json_array();
	struct info_row row;
	FILE *f = run_open(dir, RUN_RESULTS, NULL);

	if (f && record_reader_open(&reader, &schema_info, f, NULL) == 0) {
		while (record_reader_next(&reader, &row, e) == 1) {
			json_array_append_new(list, record_json(&schema_info,
								&row));
		}
		record_reader_close(&reader);
	}
	if (f) {
		fclose(f);
	}
	return list;
}

static int info_json(const void *state, const char *dir, FILE *out,
		     struct err *e)
{
	const struct info_state *s = state;
	json_t *all = json_pack("{s:O, s:o, s:o, s:o}", "run", s->run.json,
				"verdict", verdict_json(&s->run, &s->verdict),
				"rows", rows_json(dir, e), "facts",
				facts_json(&s->run));
	int rc = all ? json_dumpf(all, out, JSON_COMPACT) : -1;

	fputc('\n', out);
	json_decref(all);
	return rc < 0 ? err_set(e, errno, "cannot write JSON") : 0;
}

const struct judged_kind judged_info = {
	.probe = "info",
	.make = info_make,
	.free = info_free,
	.code = info_exit,
	.rows = info_rows,
	.words = info_words,
	.tables = true,
	.csv = RUN_FACTS,
	.details = info_details,
	.json = info_json,
};
