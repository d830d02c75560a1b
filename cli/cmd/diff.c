/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck diff: compare two runs. */
#include "cli/front/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/talk.h"
#include "lib/base/err.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "report/diff/run_diff.h"
#include "report/draw/draw.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/show/html_page.h"

/** Result of a comparison, in every form in which it can be shown. */
struct answer {
	char dir[PATH_MAX];	/* of -o; "" without one */
	json_t *json;
	struct str words, headline;
	struct table parts, rows;
	size_t worse, better, same;	/* how many measurements */
	const char *picture;	/* in dir; NULL: none */
	enum diff_status status;
	struct str unlike;	/* what --force overlooks; "" nothing */
	int code;		/* why not all of it could be kept; 0 */
};

/** The directory of -o, for the pictures. */
static void make_out(const struct session *s, struct answer *a)
{
	struct err e = { 0 };

	if (s->spec.out[0] &&
	    rundir_create(s->spec.out, "diff", a->dir, &e) < 0) {
		a->dir[0] = '\0';
		a->code = talk_fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
							      CODE_UNABLE);
	}
}

/** Measurements of different things are compared by --force only; -1. */
static int check_alike(const struct session *s, const struct run *then,
		       const struct run *now, struct answer *a, struct err *e)
{
	if (!run_unlike(then, now, &a->unlike) || s->spec.force) {
		return 0;
	}
	a->code = CODE_USAGE;
	err_set(e, 0, "the runs are of different things: %s",
		str_text(&a->unlike));
	return err_hint(e, "measure again with the options of the first run; "
			"--force compares them all the same");
}

/** Note the counts of a comparison of @what, also in words. */
static void count(struct answer *a, const char *what, size_t worse,
		  size_t better, size_t same)
{
	a->worse = worse;
	a->better = better;
	a->same = same;
	str_addf(&a->headline, "%s of %s %s got worse",
		 worse ? UNITS_COUNT(worse) : "none",
		 UNITS_COUNT(worse + better + same), what);
}

/** Write DIR/report.html: the counts, parts, picture and rows. */
static int write_page(const struct answer *a, const struct session *s,
		      struct err *e)
{
	const char *status = diff_status_name(a->status);
	struct str body = STR_INIT, title = STR_INIT;
	int rc;

	str_addf(&title, "gpucheck diff %s: %s", wrap_status_word(status),
		 str_text(&a->headline));
	str_add(&body, "<p class=\"note\">");
	html_text(&body, s->args[0]);
	str_add(&body, " (old) and ");
	html_text(&body, s->args[1]);
	str_add(&body, " (new)</p>\n<dl class=\"tiles\">");
	html_tile(&body, "compared",
		  UNITS_COUNT(a->worse + a->better + a->same));
	html_tile(&body, "worse", UNITS_COUNT(a->worse));
	html_tile(&body, "better", UNITS_COUNT(a->better));
	html_tile(&body, "unchanged", UNITS_COUNT(a->same));
	str_add(&body, "</dl>\n");
	table_html(&a->parts, "h2", &body);
	if (a->picture) {
		html_element(&body, "h2", "Picture");
		html_picture(a->dir, a->picture, "new against old", &body);
	}
	table_html(&a->rows, "h2", &body);
	rc = html_write(a->dir, str_text(&title), status,
			str_text(&a->headline), &body, e);
	str_release(&title);
	str_release(&body);
	return rc;
}

/* ---- runs of pairs ---------------------------------------------------- */

static int diff_pairs(const struct session *s, struct answer *a,
		      struct err *e)
{
	const int width = screen_width(STDOUT_FILENO);
	struct run then = { 0 }, now = { 0 };
	struct run_diff d = { 0 };
	struct verdict v = { 0 };
	struct err drawn = { 0 };
	int rc = levels_read(s->args[0], &then, e) < 0 ||
		 levels_read(s->args[1], &now, e) < 0 ||
		 check_alike(s, &then, &now, a, e) < 0 ? -1 : 0;

	if (rc < 0) {
		goto release;
	}
	rc = run_diff_make(&then, &now, &d);
	if (rc == 0) {
		run_diff_as_verdict(&d, &then);
		rc = verdict_compute(&then, &v);
		run_diff_judged(&d, &then);
	}
	if (rc < 0) {
		err_set(e, ENOMEM, "cannot compare the runs");
		goto release;
	}
	make_out(s, a);
	a->status = run_diff_status(&d);
	a->json = run_diff_json(&d, &v);
	run_diff_words(&d, &v, width, screen_color(&s->spec), &a->words);
	run_diff_table(&d, &a->rows);
	run_diff_parts(&d, &v, &a->parts);
	count(a, "pairs", d.count[CHANGE_WORSE] + d.count[CHANGE_BROKE],
	      d.count[CHANGE_BETTER] + d.count[CHANGE_MENDED],
	      d.count[CHANGE_SAME] + d.count[CHANGE_STILL_BAD] +
		      d.count[CHANGE_STILL_SLOW]);
	a->picture = "heatmap-contrast.svg";
	if (run_diff_as_contrast(&d, &then, s->args[0], s->args[1]) ==
	    0) {
		term_render_contrast(&then, width, screen_style(&s->spec),
				     &a->words);
		if (a->dir[0] && heatmap_render(a->dir, &then, &v, true, NULL,
						&drawn) != 0) {
			talk_err(&drawn);
		}
	}
release:
	verdict_release(&v);
	run_diff_release(&d);
	run_release(&then);
	run_release(&now);
	return rc;
}

/* ---- collectives ------------------------------------------------------ */

static int diff_collectives(const struct session *s, struct answer *a,
			    struct err *e)
{
	struct run run_then = { 0 }, run_now = { 0 };
	struct sweep then = { 0 }, now = { 0 };
	struct sweep_diff d = { 0 };
	struct err drawn = { 0 };
	int rc = sweep_read(s->args[0], &run_then, &then, e) < 0 ||
		 sweep_read(s->args[1], &run_now, &now, e) < 0 ||
		 check_alike(s, &run_then, &run_now, a, e) < 0 ? -1 : 0;

	if (rc == 0 && sweep_diff_make(&then, &now, &d) < 0) {
		rc = err_set(e, ENOMEM, "cannot compare the collectives");
	} else if (rc == 0) {
		make_out(s, a);
		a->status = sweep_diff_status(&d);
		a->json = sweep_diff_json(&d);
		sweep_diff_words(&d, screen_width(STDOUT_FILENO),
				 screen_color(&s->spec), &a->words);
		sweep_diff_table(&d, &a->rows);
		count(a, "measurements",
		      d.count[POINT_WORSE] + d.count[POINT_LOST],
		      d.count[POINT_BETTER],
		      d.count[POINT_SAME] + d.count[POINT_NOISY] + d.failing);
		a->picture = "curves.svg";
		for (size_t i = 0; i < then.n_curves; i++) {
			then.curves[i].reference = true;
		}
		if (a->dir[0] &&
		    curves_render(a->dir, &now, &then, NULL, s->spec.log_scale,
				  &drawn) != 0) {
			talk_err(&drawn);
		}
	}
	sweep_diff_release(&d);
	sweep_release(&then);
	sweep_release(&now);
	run_release(&run_then);
	run_release(&run_now);
	return rc;
}

/** The probe of the run in @dir; 0, or an exit code. */
static int read_probe(const char *dir, char probe[32])
{
	struct err e = { 0 };
	json_t *run;
	int rc;

	if (access(dir, F_OK) < 0) {
		rundir_missing(dir, &e);
		return talk_fail(&e, CODE_USAGE);
	}
	run = rundir_read_json(dir, RUN_JSON, &e);
	rc = run ? json_get_text(run, "probe", probe, 32, &e) : -1;
	json_decref(run);
	return rc < 0 ? talk_fail(&e, CODE_UNABLE) : 0;
}

static int run_diff(struct session *s)
{
	char then[32] = "", now[32] = "";
	struct answer a = { 0 };
	struct err e = { 0 };
	bool collectives, pairs;
	int rc, code = read_probe(s->args[0], then);

	code = code ? code : read_probe(s->args[1], now);
	if (code) {
		return code;
	}
	collectives = collective_parse(then) != COLLECTIVES &&
		      collective_parse(now) != COLLECTIVES;
	pairs = strcmp(then, now) == 0 &&
		(strcmp(then, "p2p") == 0 || strcmp(then, "ib") == 0);
	if (!collectives && !pairs) {
		err_set(&e, 0, "a run of '%s' and one of '%s' cannot be compared",
			then, now);
		err_hint(&e, "compare two runs of p2p, two of ib, or two of "
			 "collectives");
		return talk_fail(&e, CODE_USAGE);
	}
	rc = collectives ? diff_collectives(s, &a, &e) : diff_pairs(s, &a, &e);
	if (rc < 0) {
		code = talk_fail(&e, a.code ? a.code : CODE_UNABLE);
		goto release;
	}
	if (a.unlike.len > 0) {
		talk("compared by --force: %s", str_text(&a.unlike));
		json_object_set_new(a.json, "unlike",
				    json_text(str_text(&a.unlike)));
	}
	if (a.dir[0] &&
	    (rundir_write_json(a.dir, "diff.json", a.json, &e) < 0 ||
	     write_page(&a, s, &e) < 0)) {
		a.code = talk_fail(&e, CODE_UNABLE);
	}
	if (s->spec.json) {
		json_print(a.json, stdout, JSON_INDENT(1));
		putchar('\n');
	} else if (s->spec.csv) {
		struct str csv = STR_INIT;

		table_csv(&a.rows, &csv);
		fputs(str_text(&csv), stdout);
		str_release(&csv);
	} else if (!s->spec.quiet) {
		screen_print(&a.words, stdout);
	}
	code = a.code ? a.code : diff_exit(a.status);
release:
	json_decref(a.json);
	table_release(&a.rows);
	table_release(&a.parts);
	str_release(&a.headline);
	str_release(&a.words);
	str_release(&a.unlike);
	return code;
}

static const char *const examples[] = {
	"gpucheck diff monday tuesday",
	"gpucheck diff --csv before after | sort -t, -k8 -g | head",
	NULL
};

const struct command cmd_diff = {
	.name = "diff",
	.summary = "Compare two runs: what got worse, what better.",
	.usage = "[OPTION...] OLD NEW",
	.examples = examples,
	.takes = SPEC_CMD_DIFF,
	.min_args = 2,
	.needs = "two run directories",
	.max_args = 2,
	.run = run_diff,
};
