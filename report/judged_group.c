/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a collective, as one of the kinds of run that can be judged. */
#include "report/judged.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/rundir.h"
#include "report/group_verdict.h"
#include "report/grow.h"
#include "report/run.h"

#define ROWS_MAX 1000000

struct group_state {
	json_t *run, *verdict;
	struct allreduce_row *rows;
	size_t n;
};

static void group_free(void *state)
{
	struct group_state *s = state;

	json_decref(s->run);
	json_decref(s->verdict);
	free(s->rows);
	free(s);
}

static int read_rows(struct group_state *s, FILE *f, struct err *e)
{
	struct record_reader reader;
	struct allreduce_row row;
	int got;

	if (record_reader_open(&reader, &schema_allreduce, f, e) < 0) {
		return 0;	/* stopped before its first line */
	}
	while ((got = record_reader_next(&reader, &row, e)) == 1) {
		struct allreduce_row *rows = grow(s->rows, s->n,
						  sizeof(*rows));

		if (!rows || s->n == ROWS_MAX) {
			got = err_set(e, ENOMEM, "cannot hold so many rows");
			break;
		}
		s->rows = rows;
		rows[s->n++] = row;
	}
	record_reader_close(&reader);
	return got;
}

/** 0, 1 when DIR may only be read, -1. */
static int write_verdict(const char *dir, const struct group_state *s,
			 struct err *e)
{
	if (rundir_write_json(dir, RUN_VERDICT, s->verdict, e) == 0) {
		return 0;
	}
	return e->code == EACCES || e->code == EPERM || e->code == EROFS ? 1 :
									   -1;
}

static int group_make(const char *dir, void **state, struct err *e)
{
	struct group_state *s = calloc(1, sizeof(*s));
	FILE *f = run_open(dir, RUN_RESULTS, NULL);
	int rc = -1;

	if (s) {
		s->run = rundir_read_json(dir, RUN_JSON, e);
		rc = s->run && (!f || read_rows(s, f, e) == 0) ? 0 : -1;
	} else {
		err_set(e, ENOMEM, "cannot judge the run");
	}
	if (f) {
		fclose(f);
	}
	if (rc == 0) {
		s->verdict = group_verdict(s->run, s->rows, s->n);
		rc = s->verdict ? write_verdict(dir, s, e) :
				  err_set(e, ENOMEM, "cannot judge the run");
	}
	if (rc < 0) {
		if (s) {
			group_free(s);
		}
		return -1;
	}
	*state = s;
	return rc;
}

static int group_code(const void *state)
{
	const struct group_state *s = state;

	return group_exit(s->run, s->verdict);
}

static size_t group_rows(const void *state)
{
	return ((const struct group_state *)state)->n;
}

static int group_state_words(const void *state, int width, bool color,
			     enum term_style style, struct str *out)
{
	const struct group_state *s = state;

	(void)style;
	group_words(s->run, s->verdict, width, color, out);
	str_addch(out, '\n');
	record_add_header(&schema_allreduce, out);
	for (size_t i = 0; i < s->n; i++) {
		record_add_csv(&schema_allreduce, &s->rows[i], out);
	}
	return out->failed ? -1 : 0;
}

static int group_json(const void *state, const char *dir, FILE *out,
		      struct err *e)
{
	const struct group_state *s = state;
	json_t *rows = json_array(), *all;
	int rc;

	(void)dir;
	for (size_t i = 0; i < s->n; i++) {
		json_array_append_new(rows, record_json(&schema_allreduce,
							&s->rows[i]));
	}
	all = json_pack("{s:O, s:O, s:o}", "run", s->run, "verdict",
			s->verdict, "rows", rows);
	if (!all) {
		return err_set(e, ENOMEM, "cannot write the run as JSON");
	}
	rc = json_dumpf(all, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(all);
	return rc < 0 ? err_set(e, errno, "cannot write JSON") : 0;
}

static bool group_takes(const char *probe)
{
	return collective_parse(probe) != COLLECTIVES;
}

const struct judged_kind judged_group = {
	.takes = group_takes,
	.make = group_make,
	.free = group_free,
	.code = group_code,
	.rows = group_rows,
	.words = group_state_words,
	.json = group_json,
};
