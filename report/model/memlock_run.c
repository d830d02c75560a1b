/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/memlock_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/rundir.h"
#include "report/base/grow.h"
#include "report/model/run_read.h"

#define ROWS_MAX 1000000

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

int memlock_run_add(struct run *run, struct memlock_rows *m,
		    const struct memlock_row *row)
{
	bool login = memlock_context_parse(row->context) == MEMLOCK_LOGIN;
	struct memlock_row *rows = grow(m->rows, m->n, sizeof(*rows));

	if (!rows) {
		return -1;
	}
	m->rows = rows;
	rows[m->n++] = *row;
	run->rows = m->n;
	if (row->hca[0] && run_add_name(run, row->hca) == 0) {
		return -1;
	}
	return !login && row->node[0] && run->n_nodes < RUN_MAX_NODES &&
			       run_add_node(run, row->node) < 0 ? -1 : 0;
}

static int read_rows(struct run *run, struct memlock_rows *m, FILE *f,
		     struct err *e)
{
	struct record_reader reader;
	struct memlock_row row;
	int got;

	if (record_reader_open(&reader, &schema_memlock, f, e) < 0) {
		return 0;	/* stopped before its first line */
	}
	while ((got = record_reader_next(&reader, &row, e)) == 1) {
		if (m->n == ROWS_MAX || memlock_run_add(run, m, &row) < 0) {
			got = err_set(e, ENOMEM, "cannot hold so many rows");
			break;
		}
	}
	run->bad_rows = reader.bad_rows;
	STR_COPY(run->bad_why, reader.bad_why);
	record_reader_close(&reader);
	return got;
}

int memlock_run_read(const char *dir, struct run *run, struct memlock_rows *m,
		     struct err *e)
{
	FILE *f;
	int rc = 0;

	*m = (struct memlock_rows){ 0 };
	*run = (struct run){ .schema = &schema_memlock };
	run->json = rundir_read_json(dir, RUN_JSON, e);
	if (!run->json || run_read_header(run, e) < 0) {
		return -1;
	}
	f = run_open(dir, RUN_RESULTS, NULL);
	if (f) {
		rc = read_rows(run, m, f, e);
		fclose(f);
	}
	return rc < 0 ? -1 : run_read_sides(dir, run, e);
}

void memlock_rows_release(struct memlock_rows *m)
{
	free(m->rows);
	*m = (struct memlock_rows){ 0 };
}
