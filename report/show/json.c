/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/show/show.h"
#include "report/model/run_read.h"

/** As many digits as the rows have. */
#define ROW_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

struct dump {
	const struct schema *schema;
	const char *before;	/* the next row */
	FILE *out;
};

static int dump_row(void *user, const void *row)
{
	struct dump *d = user;
	json_t *json = record_json(d->schema, row);
	int rc;

	fputs(d->before, d->out);
	rc = json_print(json, d->out, ROW_FLAGS);
	json_decref(json);
	d->before = ",\n";
	return rc;
}

/** DIR/@file as a member @name of the object; no file, no rows. */
static int dump_table(const char *name, const char *dir, const char *file,
		      const struct schema *schema, FILE *out, struct err *e)
{
	struct dump d = { .schema = schema, .before = "\n", .out = out };
	const struct run_rows rows = { .schema = schema, .take = dump_row,
				       .user = &d };
	int rc;

	fprintf(out, ",\n\"%s\": [", name);
	rc = run_take_rows(rundir_open(dir, file, NULL), &rows, e);
	fputc(']', out);
	return rc < 0 ? -1 : 0;
}

/** What judged_json() has besides run and verdict. */
static int dump_tables(const struct judged *j, FILE *out, struct err *e)
{
	if ((j->run.n_diagnose > 0 &&
	     dump_table("diagnose", j->dir, RUN_DIAGNOSE, &schema_diagnose, out,
			e) < 0) ||
	    (j->kind->csv && dump_table("facts", j->dir, j->kind->csv,
					&schema_facts, out, e) < 0)) {
		return -1;
	}
	return dump_table("rows", j->dir, RUN_RESULTS, j->run.schema, out, e);
}

int judged_json(const struct judged *j, bool rows, FILE *out, struct err *e)
{
	json_t *verdict = verdict_json(&j->run, &j->verdict);
	int rc;

	fputs("{\"run\": ", out);
	rc = json_print(j->run.json, out, JSON_COMPACT);
	fputs(",\n\"verdict\": ", out);
	rc |= json_print(verdict, out, ROW_FLAGS);
	json_decref(verdict);
	if (rc < 0) {
		return err_set(e, errno, "cannot write JSON");
	}
	if (rows && dump_tables(j, out, e) < 0) {
		return -1;
	}
	fputs("}\n", out);
	return 0;
}
