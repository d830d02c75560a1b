/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of several probes, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "report/model/ladder_run.h"
#include "report/draw/draw.h"

static void ladder_free(void *state)
{
	ladder_run_release(state);
	free(state);
}

/** 0; 1 when DIR may only be read; 2. */
static int write_files(const char *dir, const struct ladder_run *run,
		       struct err *e)
{
	if (rundir_write_json(dir, RUN_VERDICT, run->verdict, e) == 0 &&
	    ladder_html(dir, run, e) == 0) {
		return 0;
	}
	return err_is_read_only(e) ? 1 : 2;
}

static int ladder_make(const char *dir, const char *reference, void **state,
		       struct err *e)
{
	struct ladder_run *run = calloc(1, sizeof(*run));
	struct err why = { 0 };
	int rc;

	(void)reference;
	if (!run) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	if (ladder_run_read(dir, run, e) < 0) {
		free(run);
		return -1;
	}
	rc = write_files(dir, run, &why);
	if (rc != 0 && e) {
		*e = why;
	}
	*state = run;
	return rc;
}

static int ladder_code(const void *state)
{
	return ladder_run_exit(state);
}

static size_t ladder_rows(const void *state)
{
	return ((const struct ladder_run *)state)->n;
}

static int ladder_state_words(const void *state, int width, bool color,
			      enum term_style style, struct str *out)
{
	(void)style;	/* the pictures are those of the rungs */
	ladder_words(state, width > 0 ? width : JUDGED_FILE_WIDTH, color, out);
	return out->failed ? -1 : 0;
}

static int ladder_state_json(const void *state, const char *dir, FILE *out,
			     struct err *e)
{
	(void)dir;
	return ladder_json(state, out, e);
}

static const struct judged_own own = {
	.make = ladder_make,
	.free = ladder_free,
	.code = ladder_code,
	.rows = ladder_rows,
	.words = ladder_state_words,
	.json = ladder_state_json,
};

const struct judged_kind judged_ladder = {
	.probe = "all",
	.own = &own,
};
