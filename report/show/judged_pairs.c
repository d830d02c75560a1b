/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include <string.h>

#include "report/judge/accepted.h"
#include "report/judge/caption.h"
#include "report/judge/levels.h"
#include "report/judge/pairs.h"
#include "report/model/ping_run.h"
#include "report/model/reference.h"
#include "report/show/html_page.h"
#include "report/show/tables.h"

/** The earlier run that is @reference, to the empty @then, and where it is to
 *  @dir: 0, or -1 with @e where it is none that @now can stand beside. */
static int read_accepted(const char *reference, const struct run *now,
			 char dir[PATH_MAX], struct run *then, struct err *e)
{
	struct str why = STR_INIT;

	if (reference_find(reference, now->probe, dir, e) != 0 ||
	    levels_read(dir, then, e) < 0) {
		return -1;
	}
	if (accepted_unlike(then, now, &why)) {
		err_set(e, 0, "the reference '%.200s' is not like this run: "
			"%.200s", reference, str_text(&why));
		err_hint(e, "measure as it was measured, or take one that was "
			 "measured so");
		run_release(then);
	}
	str_release(&why);
	return e->text[0] ? -1 : 0;
}

/** Beside @reference.  One that is @asked for now must be there and be alike;
 *  of one that the run was given the verdict says that it is not. */
static int judge_beside(const char *reference, bool asked, struct judged *j,
			struct err *e)
{
	struct err why = { 0 };
	char dir[PATH_MAX] = "";
	struct run then = { 0 };
	bool read = read_accepted(reference, &j->run, dir, &then, &why) == 0;
	int rc;

	if (!read && asked) {
		*e = why;
		return -1;
	}
	rc = verdict_compute_beside(&j->run, read ? &then : NULL, &j->verdict);
	if (rc == 0) {
		struct accepted *a = &j->verdict.accepted;

		str_copy(a->dir, sizeof(a->dir), dir[0] ? dir : reference);
		STR_COPY(a->why_not, why.text);
	}
	if (read) {
		run_release(&then);
	}
	return rc;
}

static int pairs_judge(const char *dir, struct judged *j, struct err *e)
{
	const char *own, *reference = j->ask.reference;

	if (levels_read(dir, &j->run, e) < 0) {
		return -1;
	}
	if (j->ask.slow_percent > 0) {
		j->run.slow_percent = j->ask.slow_percent;
	}
	own = j->run.foreign ? NULL :
	      json_string_value(run_option(&j->run, "reference"));
	own = own ? own : "";
	if (reference[0] || own[0]) {
		bool asked = reference[0] && strcmp(reference, own) != 0;

		return judge_beside(asked ? reference : own, asked, j, e);
	}
	return verdict_compute(&j->run, &j->verdict);
}

/** Paths between addresses: read otherwise, judged and shown as pairs are. */
static int ping_judge(const char *dir, struct judged *j, struct err *e)
{
	return ping_run_read(dir, &j->run, e) < 0 ?
		       -1 : verdict_compute(&j->run, &j->verdict);
}

static bool pairs_head(const struct judged *j, int i, char *buf, size_t size)
{
	if (i == 0) {
		caption_what(&j->run, buf, size);
	} else if (i == 1) {
		caption_cells(&j->run, buf, size);
	}
	return i < 2;
}

/** What it stands beside, bandwidth by path, share of the line, what the other
 *  pass has: those that there are, counted from 0. */
static bool pairs_note(const struct judged *j, int i, char *buf, size_t size)
{
	for (int k = 0; accepted_note(&j->verdict.accepted, k, buf, size);
	     k++) {
		if (i-- == 0) {
			return true;
		}
	}
	for (int c = 0; c < 2 * PATH_CLASSES + 1; c++) {
		bool there = c < PATH_CLASSES ?
			caption_bandwidth(&j->run, (enum path_class)c, buf,
					  size) :
			c == PATH_CLASSES ? caption_line(&j->run, buf, size) :
			caption_contrast(&j->run, (enum path_class)
					 (c - PATH_CLASSES - 1), buf, size);

		if (there && i-- == 0) {
			return true;
		}
	}
	return false;
}

static int pairs_below(const struct judged *j, int width,
		       enum term_style style, struct str *out)
{
	str_addch(out, '\n');
	if (j->run.ports) {
		table_render(&j->run, out);
		str_addch(out, '\n');
	}
	return term_render(&j->run, &j->verdict,
			   width > 0 ? width : JUDGED_FILE_WIDTH, style, out);
}

static int pairs_draw(const struct judged *j, const char *dir, struct err *e)
{
	return heatmap_render(dir, &j->run, &j->verdict, false, j->drawn, e);
}

#define PAIRS_SHOWN \
	.head = pairs_head, .note = pairs_note, .below = pairs_below, \
	.html = html_pairs, .draw = pairs_draw

const struct judged_kind judged_pairs = {
	.probe = "p2p",
	.judge = pairs_judge,
	.references = true,
	PAIRS_SHOWN,
};

const struct judged_kind judged_ping = {
	.probe = "ping",
	.judge = ping_judge,
	PAIRS_SHOWN,
};
