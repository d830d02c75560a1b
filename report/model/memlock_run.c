/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "lib/base/units.h"
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

	if (!grow_add(&m->rows, &m->n, row, sizeof(*row)) ||
	    (row->hca[0] && run_add_name(run, row->hca) == 0)) {
		return -1;
	}
	run->rows = m->n;
	return login ? 0 : run_note_node(run, row->node);
}

struct memlock_run_reading {
	struct run *run;
	struct memlock_rows *m;
	char stranger[16];	/* a context that is none; "" */
};

static int take_row(void *user, const void *data)
{
	struct memlock_run_reading *g = user;
	const struct memlock_row *row = data;

	/* a node that has nothing to say has a row of no context */
	if (row->context[0] &&
	    memlock_context_parse(row->context) == MEMLOCK_CONTEXTS) {
		STR_COPY(g->stranger, row->context);
		return -1;
	}
	return g->m->n == ROWS_MAX ? -1 : memlock_run_add(g->run, g->m, row);
}

int memlock_run_read(const char *dir, struct run *run, struct memlock_rows *m,
		     struct err *e)
{
	struct memlock_run_reading g = { .run = run, .m = m };
	const struct run_rows rows = { .schema = &schema_memlock, .user = &g,
				       .take = take_row, .run = run };

	*m = (struct memlock_rows){ 0 };
	if (run_begin(run, dir, &schema_memlock, e) < 0) {
		return -1;
	}
	if (run_take_results(dir, &rows, e) < 0) {
		return !g.stranger[0] ? -1 :
		       err_set(e, 0, "'%s' has an unknown context '%s'",
			       schema_memlock.name, g.stranger);
	}
	return run_read_sides(dir, run, e);
}

void memlock_rows_release(struct memlock_rows *m)
{
	free(m->rows);
	*m = (struct memlock_rows){ 0 };
}
