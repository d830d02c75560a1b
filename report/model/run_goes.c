/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run that was resumed was measured in several goes.  What failed in one and
 * passes in a later one has been mended meanwhile, as far as anybody knows; it
 * is not flaky.
 */
#include "report/model/run.h"

#include <string.h>

#include "lib/data/json.h"

/** One more than can be told apart: it was bad in an earlier go. */
#define MENDED 255

/** In which go was @row measured? */
static uint8_t go_of(const struct run *run, const struct p2p_row *row)
{
	const json_t *resumes = json_object_get(run->json, "resumes"), *r;
	uint8_t go = 1;
	size_t i;

	json_array_foreach(resumes, i, r) {
		if (go < MENDED - 1 && row->start_utc[0] &&
		    strcmp(row->start_utc, json_member(r, "utc")) >= 0) {
			go++;
		}
	}
	return go;
}

void goes_note_bad(const struct run *run, struct cell *cell,
		   const struct p2p_row *row)
{
	cell->flaky = go_of(run, row);
}

void goes_note_good(const struct run *run, struct cell *cell,
		    const struct p2p_row *row)
{
	if (cell->flaky && cell->flaky != go_of(run, row)) {
		cell->flaky = MENDED;
	}
}

void goes_settle(struct run *run, struct cell *cell)
{
	bool good = cell->outcome == OUTCOME_OK;

	run->mended += good && cell->flaky == MENDED;
	cell->flaky = good && cell->flaky && cell->flaky != MENDED;
}
