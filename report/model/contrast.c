/* SPDX-License-Identifier: BSD-3-Clause */
/* What --contrast measured in the other pass. */
#include "report/model/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"

static enum spec_contrast kind_of(const char *word)
{
	static const enum spec_contrast kinds[] = {
		CONTRAST_SCHEDULE, CONTRAST_PXN, CONTRAST_MEMORY,
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(word, spec_contrast_name(kinds[i])) == 0) {
			return kinds[i];
		}
	}
	return CONTRAST_NONE;
}

static int make_cells(struct contrast *c, size_t cells)
{
	c->outcome = malloc(cells + 1);
	c->attempt = calloc(cells + 1, sizeof(*c->attempt));
	c->bw_GB_s = calloc(cells + 1, sizeof(*c->bw_GB_s));
	if (!c->outcome || !c->attempt || !c->bw_GB_s) {
		return -1;
	}
	for (size_t at = 0; at < cells; at++) {
		c->outcome[at] = OUTCOME_NOT_RUN;
		c->bw_GB_s[at] = NAN;
	}
	return 0;
}

int contrast_open(struct run *run, struct err *e)
{
	const json_t *json = json_object_get(run->json, "contrast");
	size_t cells = (size_t)run->n_ranks * (size_t)run->n_ranks;
	struct contrast *c = &run->contrast;
	char kind[16] = "";

	if (!json) {
		return 0;
	}
	if (json_get_text(json, "kind", kind, sizeof(kind), e) < 0 ||
	    json_get_text(json, "pass", c->pass, sizeof(c->pass), e) < 0) {
		return err_hint(e, "'contrast' of run.json is damaged");
	}
	c->kind = kind_of(kind);
	if (c->kind == CONTRAST_NONE) {
		return err_set(e, EINVAL, "run.json: unknown contrast '%s'",
			       kind);
	}
	return make_cells(c, cells) < 0 ?
		       err_set(e, ENOMEM, "cannot hold %zu cells twice",
			       cells) : 0;
}

bool contrast_has(const struct run *run, const struct p2p_row *row)
{
	return run->contrast.outcome &&
	       strcmp(row->schedule, run->contrast.pass) == 0;
}

void contrast_add(struct run *run, const struct p2p_row *row)
{
	struct contrast *c = &run->contrast;
	size_t at = run_at(run, (int)row->src_rank, (int)row->dst_rank);

	if (contrast_has(run, row) &&
	    run_row_decides(run, row, (struct cell_say){
		    .attempt = c->attempt[at], .outcome = c->outcome[at] })) {
		c->attempt[at] = (int32_t)run_attempt(row);
		c->outcome[at] = (uint8_t)row->outcome;
		c->bw_GB_s[at] = row->outcome == OUTCOME_OK ?
					 (float)row->bw_GB_s : NAN;
	}
}

void contrast_close(struct run *run)
{
	free(run->contrast.outcome);
	free(run->contrast.attempt);
	free(run->contrast.bw_GB_s);
	run->contrast = (struct contrast){ 0 };
}
