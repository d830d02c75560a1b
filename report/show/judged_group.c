/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a collective, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/data/rundir.h"
#include "report/judge/group_skew.h"
#include "report/judge/group_verdict.h"
#include "report/model/run_read.h"
#include "report/model/sweep.h"
#include "report/draw/draw.h"

struct group_state {
	struct run run;		/* what is said of the run as a whole */
	struct sweep sweep, reference;
	bool has_reference;
	json_t *verdict;
};

static const struct sweep *reference_of(const struct group_state *s)
{
	return s->has_reference ? &s->reference : NULL;
}

static void group_free(void *state)
{
	struct group_state *s = state;

	json_decref(s->verdict);
	sweep_release(&s->sweep);
	sweep_release(&s->reference);
	run_release(&s->run);
	free(s);
}

/** The files of a run that was judged.  0; 1 without gnuplot, or when DIR may
 *  only be read; 2. */
static int write_files(const char *dir, const struct group_state *s,
		       struct err *e)
{
	const struct sweep *reference = reference_of(s);
	struct err why = { 0 };
	int drawn;

	if (rundir_write_json(dir, RUN_VERDICT, s->verdict, e) < 0) {
		goto unwritten;
	}
	drawn = curves_render(dir, &s->sweep, reference, &why);
	if (sweep_html(dir, &s->run, &s->sweep, reference, s->verdict,
		       drawn == 0, e) < 0) {
		goto unwritten;
	}
	if (drawn != 0) {
		*e = why;
	}
	return drawn != 0;
unwritten:
	return e->code == EACCES || e->code == EPERM || e->code == EROFS ? 1 :
									   2;
}

/** What the run itself was given, where the report is not. */
static const char *own_reference(const struct sweep *s)
{
	return json_string_value(json_object_get(
		json_object_get(s->json, "options"), "reference"));
}

/** The rows, and what stands in the other files. */
static int read_run(struct group_state *s, const char *dir, struct err *e)
{
	if (sweep_read(dir, &s->sweep, e) < 0) {
		return -1;
	}
	s->run.json = json_incref(s->sweep.json);
	s->run.bad_rows = s->sweep.bad_rows;
	STR_COPY(s->run.bad_why, s->sweep.bad_why);
	return run_read_header(&s->run, e) < 0 ||
	       run_read_sides(dir, &s->run, e) < 0 ? -1 : 0;
}

static int judge(struct group_state *s, const char *dir,
		 const char *reference, struct err *e)
{
	if (read_run(s, dir, e) < 0) {
		return -1;
	}
	if (!reference) {
		reference = own_reference(&s->sweep);
	}
	if (reference && reference[0]) {
		if (sweep_reference(reference, &s->reference, e) < 0) {
			return -1;
		}
		s->has_reference = true;
	}
	s->verdict = group_verdict(s->sweep.json, s->sweep.rows, s->sweep.n);
	if (!s->verdict ||
	    (s->has_reference &&
	     sweep_against(&s->sweep, &s->reference, s->verdict) < 0)) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	return group_skew(&s->run, s->verdict, e);
}

static int make_against(const char *dir, const char *reference, void **state,
			struct err *e)
{
	struct group_state *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	if (judge(s, dir, reference, e) < 0) {
		group_free(s);
		return -1;
	}
	rc = write_files(dir, s, e);
	*state = s;
	return rc;
}

static int group_code(const void *state)
{
	const struct group_state *s = state;

	return group_exit(s->sweep.json, s->verdict);
}

static size_t group_rows(const void *state)
{
	return ((const struct group_state *)state)->sweep.n;
}

static int group_state_words(const void *state, int width, bool color,
			     enum term_style style, struct str *out)
{
	const struct group_state *s = state;

	(void)style;	/* a table has no picture */
	group_words(&s->run, s->verdict,
		    width > 0 ? width : JUDGED_FILE_WIDTH, color, out);
	sweep_words(&s->sweep, reference_of(s), width, out);
	return out->failed ? -1 : 0;
}

static int group_json(const void *state, const char *dir, FILE *out,
		      struct err *e)
{
	const struct group_state *s = state;

	(void)dir;
	return sweep_json(&s->sweep, s->verdict, out, e);
}

static bool group_takes(const char *probe)
{
	return collective_parse(probe) != COLLECTIVES;
}

static const struct judged_own own = {
	.make = make_against,
	.free = group_free,
	.code = group_code,
	.rows = group_rows,
	.words = group_state_words,
	.json = group_json,
};

const struct judged_kind judged_group = {
	.takes = group_takes,
	.references = true,
	.own = &own,
};
