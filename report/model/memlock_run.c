/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/memlock_run.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/base/grow.h"
#include "report/model/run_read.h"

#define ROWS_MAX 1000000

int memlock_run_add(struct memlock_run *run, const struct memlock_row *row)
{
	struct memlock_row *rows = grow(run->rows, run->n, sizeof(*rows));

	if (!rows) {
		return -1;
	}
	run->rows = rows;
	rows[run->n++] = *row;
	return 0;
}

static int read_rows(struct memlock_run *run, FILE *f, struct err *e)
{
	struct record_reader reader;
	struct memlock_row row;
	int got;

	if (record_reader_open(&reader, &schema_memlock, f, e) < 0) {
		return 0;	/* stopped before its first line */
	}
	while ((got = record_reader_next(&reader, &row, e)) == 1) {
		if (run->n == ROWS_MAX || memlock_run_add(run, &row) < 0) {
			got = err_set(e, ENOMEM, "cannot hold so many rows");
			break;
		}
	}
	run->bad_rows = reader.bad_rows;
	STR_COPY(run->bad_why, reader.bad_why);
	record_reader_close(&reader);
	return got;
}

static int read_header(struct memlock_run *run, struct err *e)
{
	char ended[32] = "";

	if (json_opt_text(run->json, "ended_utc", ended, sizeof(ended), e) <
		    0 ||
	    json_opt_text(run->json, "started_utc", run->started_utc,
			  sizeof(run->started_utc), e) < 0 ||
	    json_opt_text(run->json, "stop_reason", run->stop_reason,
			  sizeof(run->stop_reason), e) < 0 ||
	    json_opt_bool(run->json, "strict", &run->strict, e) < 0 ||
	    json_opt_bool(run->json, "drill", &run->drill, e) < 0) {
		return err_hint(e, "run.json is damaged");
	}
	run->ended = ended[0] != '\0';
	return 0;
}

int memlock_run_read(const char *dir, struct memlock_run *run, struct err *e)
{
	FILE *f;
	int rc = 0;

	*run = (struct memlock_run){ 0 };
	run->json = rundir_read_json(dir, RUN_JSON, e);
	if (!run->json || read_header(run, e) < 0) {
		memlock_run_release(run);
		return -1;
	}
	f = run_open(dir, RUN_RESULTS, NULL);
	if (f) {
		rc = read_rows(run, f, e);
		fclose(f);
	}
	if (rc < 0) {
		memlock_run_release(run);
	}
	return rc;
}

void memlock_run_release(struct memlock_run *run)
{
	free(run->rows);
	json_decref(run->json);
	*run = (struct memlock_run){ 0 };
}
