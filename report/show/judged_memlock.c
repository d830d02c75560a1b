/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of memlock, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "report/judge/memlock_verdict.h"
#include "report/draw/draw.h"

struct memlock_state {
	struct memlock_run run;
	struct memlock_verdict verdict;
};

static void memlock_free(void *state)
{
	struct memlock_state *s = state;

	memlock_verdict_release(&s->verdict);
	memlock_run_release(&s->run);
	free(s);
}

/** 0, 1 when DIR may only be read, -1. */
static int write_verdict(const char *dir, const struct memlock_state *s,
			 struct err *e)
{
	json_t *json = memlock_verdict_json(&s->run, &s->verdict);
	struct err why = { 0 };
	int rc = 0;

	if (!json) {
		return err_set(e, ENOMEM, "cannot write the verdict");
	}
	if (rundir_write_json(dir, RUN_VERDICT, json, &why) < 0) {
		*e = why;
		rc = why.code == EACCES || why.code == EPERM ||
				     why.code == EROFS ?
			     1 :
			     -1;
	}
	json_decref(json);
	return rc;
}

static int memlock_make(const char *dir, void **state, struct err *e)
{
	struct memlock_state *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	rc = memlock_run_read(dir, &s->run, e);
	if (rc < 0) {
		free(s);
		return -1;
	}
	rc = memlock_judge(&s->run, &s->verdict);
	if (rc < 0) {
		err_set(e, ENOMEM, "cannot judge the run");
	} else {
		rc = write_verdict(dir, s, e);
	}
	if (rc < 0) {
		memlock_free(s);
		return -1;
	}
	*state = s;
	return rc;
}

static int memlock_state_exit(const void *state)
{
	const struct memlock_state *s = state;

	return memlock_exit(&s->run, &s->verdict);
}

static size_t memlock_rows(const void *state)
{
	return ((const struct memlock_state *)state)->run.n;
}

static int memlock_state_words(const void *state, int width, bool color,
			       enum term_style style, struct str *out)
{
	const struct memlock_state *s = state;

	(void)style;	/* a table has no picture */
	memlock_words(&s->run, &s->verdict, width, color, out);
	return out->failed ? -1 : 0;
}

static int memlock_state_json(const void *state, const char *dir, FILE *out,
			      struct err *e)
{
	const struct memlock_state *s = state;

	(void)dir;
	return memlock_json(&s->run, &s->verdict, out, e);
}

const struct judged_kind judged_memlock = {
	.probe = "memlock",
	.make = memlock_make,
	.free = memlock_free,
	.code = memlock_state_exit,
	.rows = memlock_rows,
	.words = memlock_state_words,
	.json = memlock_state_json,
};
