/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>

#include "report/show/details.h"
#include "report/model/ping_run.h"
#include "report/show/table.h"
#include "report/show/show.h"
#include "report/judge/pairs.h"

struct pairs_state {
	struct run run;
	struct verdict verdict;
};

static int pairs_make(const char *dir, void **state, struct err *e)
{
	struct pairs_state *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	rc = report_make(dir, &s->run, &s->verdict, e);
	if (rc < 0) {
		free(s);
		return -1;
	}
	*state = s;
	return rc;
}

/** Paths between addresses: read otherwise, judged and shown as pairs are. */
static int ping_make(const char *dir, void **state, struct err *e)
{
	struct pairs_state *s = calloc(1, sizeof(*s));
	int rc = -1;

	if (!s) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	if (ping_run_read(dir, &s->run, e) < 0) {
		free(s);
		return -1;
	}
	if (verdict_compute(&s->run, &s->verdict) < 0) {
		err_set(e, ENOMEM, "cannot judge the run");
		run_release(&s->run);
		free(s);
		return -1;
	}
	rc = report_write(dir, &s->run, &s->verdict, e);
	*state = s;
	return rc;
}

static void pairs_free(void *state)
{
	struct pairs_state *s = state;

	verdict_release(&s->verdict);
	run_release(&s->run);
	free(s);
}

static int pairs_exit(const void *state)
{
	const struct pairs_state *s = state;

	return verdict_exit(&s->run, &s->verdict);
}

static size_t pairs_rows(const void *state)
{
	return ((const struct pairs_state *)state)->run.rows;
}

static int pairs_words(const void *state, int width, bool color,
		       enum term_style style, struct str *out)
{
	const struct pairs_state *s = state;

	words_render(&s->run, &s->verdict, width, color, out);
	str_addch(out, '\n');
	if (s->run.ports) {
		table_render(&s->run, out);
		str_addch(out, '\n');
	}
	return term_render(&s->run, width, style, out);
}

static void pairs_details(const void *state, int width, struct str *out)
{
	const struct pairs_state *s = state;

	details_render(&s->run, &s->verdict, width, out);
}

static int pairs_json(const void *state, const char *dir, FILE *out,
		      struct err *e)
{
	const struct pairs_state *s = state;

	return report_json(dir, &s->run, &s->verdict, out, e);
}

const struct judged_kind judged_pairs = {
	.probe = "p2p",
	.make = pairs_make,
	.free = pairs_free,
	.code = pairs_exit,
	.rows = pairs_rows,
	.words = pairs_words,
	.details = pairs_details,
	.json = pairs_json,
};

const struct judged_kind judged_ping = {
	.probe = "ping",
	.make = ping_make,
	.free = pairs_free,
	.code = pairs_exit,
	.rows = pairs_rows,
	.words = pairs_words,
	.details = pairs_details,
	.json = pairs_json,
};
