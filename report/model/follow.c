/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run_read.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/grow.h"

/** Rows of one test stand together: one a size and direction. */
#define LOOK_BACK (2 * (size_t)SPEC_MAX_SIZES)

int follow_take(struct run *run, const struct p2p_row *row)
{
	size_t at = run_at(run, (int)row->src_rank, (int)row->dst_rank);
	struct cell_say say = {
		.attempt = row->attempt == RECORD_NONE ? 1 : row->attempt,
		.outcome = row->outcome,
	};
	const struct run_follow none = { .at = at,
					 .attempt = (int32_t)say.attempt,
					 .outcome = OUTCOME_NOT_RUN,
					 .bw_GB_s = NAN, .lat_us = NAN };
	bool good = row->outcome == OUTCOME_OK;
	struct run_follow *f = NULL;

	if (run->n_follow >= RUN_MAX_FOLLOW) {
		return 0;
	}
	for (size_t i = run->n_follow;
	     i > 0 && run->n_follow - i < LOOK_BACK && !f; i--) {
		f = run->follow[i - 1].at == at &&
				    run->follow[i - 1].attempt == none.attempt ?
			    &run->follow[i - 1] : NULL;
	}
	f = f ? f : grow_add(&run->follow, &run->n_follow, &none, sizeof(none));
	if (!f) {
		return -1;
	}
	if (cells_decides(say, row->size_B == run->size_B ||
				  row->size_B == RECORD_NONE,
			  (struct cell_say){ .attempt = f->attempt,
					     .outcome = f->outcome })) {
		f->outcome = (uint8_t)row->outcome;
		f->bw_GB_s = good ? (float)row->bw_GB_s : NAN;
		f->lat_us = good ? (float)row->lat_us : NAN;
	}
	return 0;
}

int follow_adopt(struct run *run, size_t at)
{
	if (!run->follow_only) {
		run->follow_only = calloc(run_n_cells(run) + 1, 1);
	}
	if (!run->follow_only) {
		return -1;
	}
	if (run->cells[at].class == CELL_UNPLANNED) {
		run->follow_only[at] = 1;
	}
	return run->follow_only[at] || cells_failed(run->cells[at].class);
}

void follow_count(const struct run *run, size_t count[CELL_CLASSES])
{
	memset(count, 0, CELL_CLASSES * sizeof(*count));
	for (size_t i = 0; i < run->n_follow; i++) {
		count[cells_class_of(run->follow[i].outcome)]++;
	}
}
