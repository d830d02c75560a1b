/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of pairs, as one of the kinds of run that can be judged. */
#include "report/show/judged.h"

#include "report/judge/caption.h"
#include "report/judge/levels.h"
#include "report/judge/pairs.h"
#include "report/model/ping_run.h"
#include "report/show/html_page.h"
#include "report/show/tables.h"

static int pairs_judge(const char *dir, struct judged *j, struct err *e)
{
	if (levels_read(dir, &j->run, e) < 0) {
		return -1;
	}
	if (j->ask.slow_percent > 0) {
		j->run.slow_percent = j->ask.slow_percent;
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

/** Bandwidth by path, share of the line, what the other pass has: those that
 *  there are, counted from 0. */
static bool pairs_note(const struct judged *j, int i, char *buf, size_t size)
{
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
	return heatmap_render(dir, &j->run, &j->verdict, false, e);
}

#define PAIRS_SHOWN \
	.head = pairs_head, .note = pairs_note, .below = pairs_below, \
	.html = html_pairs, .draw = pairs_draw

const struct judged_kind judged_pairs = {
	.probe = "p2p",
	.judge = pairs_judge,
	PAIRS_SHOWN,
};

const struct judged_kind judged_ping = {
	.probe = "ping",
	.judge = ping_judge,
	PAIRS_SHOWN,
};
