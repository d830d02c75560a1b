/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/caption.h"

#include <string.h>

#include "report/model/part.h"
#include "report/judge/witness.h"

#define DETAIL_MAX 120		/* letters of an example: a line of a picture */

/** Skipped, and no part is at fault for it?  Of addresses the segments say
 *  why. */
static bool is_unheard(const struct run *run, size_t at)
{
	return run->cells[at].class == CELL_SKIPPED && !run->mesh &&
	       run->cell_code[at] > 0 &&
	       !witness_is_bad(run, ABOUT_FAULTS, at);
}

/** Letters of @detail that say what one of the two ends does. */
static int one_end(const char *detail)
{
	size_t len = strcspn(detail, ";");

	return (int)(len < DETAIL_MAX ? len : DETAIL_MAX);
}

bool caption_skipped(const struct run *run, char *buf, size_t size)
{
	size_t cells = (size_t)run->n_ranks * (size_t)run->n_ranks, n = 0;
	size_t first = 0, same = 0;
	const char *detail = "";
	char from[80], to[80];
	int ranks = run->n_ranks;

	for (size_t at = 0; at < cells; at++) {
		if (!is_unheard(run, at)) {
			continue;
		}
		first = n++ == 0 ? at : first;
		same += run->cell_code[at] == run->cell_code[first];
	}
	if (n == 0) {
		return false;
	}
	if (run->cell_detail[first]) {
		detail = run->cell_detail[first];
	}
	part_rank_name(run, (int)(first / (size_t)ranks), from, sizeof(from));
	part_rank_name(run, (int)(first % (size_t)ranks), to, sizeof(to));
	snprintf(buf, size, "%zu test%s skipped (%s), for example %s -> %s%s%.*s", same, same == 1 ? " was" : "s were",
		 run->codes[run->cell_code[first]], from, to,
		 detail[0] ? ": " : "", one_end(detail), detail);
	if (n > same) {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, "; and %zu more", n - same);
	}
	return true;
}
