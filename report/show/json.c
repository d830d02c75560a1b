/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "report/show/show.h"
#include "report/model/run_read.h"

/** As many digits as the rows have. */
#define ROW_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

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

/** DIR/@file as a member @name of the object; no file, no rows. */
static int dump_table(const char *name, const char *dir, const char *file,
		      const struct schema *schema, FILE *out, struct err *e)
{
	struct record_reader reader;
	const char *before = "\n";
	void *row = malloc(schema->row_size);
	FILE *f = run_open(dir, file, NULL);
	int got = row ? 0 : err_set(e, ENOMEM, "no memory for a row");

	fprintf(out, ",\n\"%s\": [", name);
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
	fputc(']', out);
	if (f) {
		fclose(f);
	}
	free(row);
	return got;
}

int show_json(const struct judged *j, const char *dir, FILE *out,
	      struct err *e)
{
	json_t *verdict = verdict_json(&j->run, &j->verdict);
	int rc = -1;

	if (!verdict) {
		return err_set(e, ENOMEM, "cannot write the verdict as JSON");
	}
	fputs("{\"run\": ", out);
	if (json_dumpf(j->run.json, out, JSON_COMPACT) < 0) {
		goto failed;
	}
	fputs(",\n\"verdict\": ", out);
	if (json_dumpf(verdict, out, ROW_FLAGS) < 0) {
		goto failed;
	}
	json_decref(verdict);
	if (j->run.n_diagnose > 0 &&
	    dump_table("diagnose", dir, RUN_DIAGNOSE, &schema_diagnose, out,
		       e) < 0) {
		return -1;
	}
	if (j->kind->csv && dump_table("facts", dir, j->kind->csv,
				       &schema_facts, out, e) < 0) {
		return -1;
	}
	rc = dump_table("rows", dir, RUN_RESULTS, j->run.schema, out, e);
	fputs("}\n", out);
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
