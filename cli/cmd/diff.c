/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/exit_code.h"
#include "cli/front/screen.h"
#include "cli/front/talk.h"
#include "lib/data/json.h"
#include "lib/data/record_collective.h"
#include "lib/data/rundir.h"
#include "report/judge/levels.h"
#include "report/diff/run_diff.h"
#include "report/diff/sweep_diff.h"
#include "report/draw/draw.h"
#include "report/judge/pairs.h"

static int fail(const struct err *e, int code)
{
	talk_err(e);
	return code;
}

/** 0: nothing is worse; 1; 3 when nothing can be compared. */
static int code_of(size_t compared, bool regressed)
{
	return compared == 0 ? CODE_UNABLE :
	       regressed ? CODE_FAULT : CODE_HEALTHY;
}

static bool colored(const struct session *s)
{
	return screen_color((enum spec_when)s->spec.color);
}

/** What --json, --csv or neither asks for; the arguments are given away. */
static void print(const struct session *s, json_t *json, struct str *csv,
		  struct str *words)
{
	if (s->spec.json) {
		json_dumpf(json, stdout, JSON_INDENT(1));
		putchar('\n');
	} else if (s->spec.csv) {
		fputs(str_text(csv), stdout);
	} else if (!s->spec.quiet) {
		fputs(str_text(words), stdout);
	}
	json_decref(json);
	str_release(csv);
	str_release(words);
}

/** The directory of -o, "" without one; 0, or an exit code. */
static int make_out(const struct session *s, char dir[PATH_MAX])
{
	struct err e = { 0 };

	dir[0] = '\0';
	if (s->spec.out[0] &&
	    rundir_create(s->spec.out, "diff", dir, &e) < 0) {
		return fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
						      CODE_UNABLE);
	}
	return 0;
}

static int keep(const char *dir, const json_t *json)
{
	struct err e = { 0 };

	return dir[0] && rundir_write_json(dir, "diff.json", json, &e) < 0 ?
		       fail(&e, CODE_UNABLE) : 0;
}

/* ---- runs of pairs ---------------------------------------------------------- */

static int show_pairs(const struct session *s, const struct run_diff *d,
		      struct run *then, const struct verdict *v)
{
	struct str csv = STR_INIT, words = STR_INIT;
	json_t *json = run_diff_json(d, v);
	int width = screen_width(STDOUT_FILENO);
	char dir[PATH_MAX];
	struct err e = { 0 };
	int code = make_out(s, dir);

	run_diff_words(d, v, width, colored(s), &words);
	run_diff_csv(d, &csv);
	if (run_diff_as_contrast(d, then) == 0) {
		term_render_contrast(then, width,
				     screen_style((enum spec_when)
						  s->spec.color), &words);
		if (code == 0 && dir[0] &&
		    heatmap_render_contrast(dir, then, v, &e) != 0) {
			talk_err(&e);
		}
	}
	if (code == 0) {
		code = keep(dir, json);
	}
	print(s, json, &csv, &words);
	return code;
}

static int diff_pairs(const struct session *s)
{
	struct run then = { 0 }, now = { 0 };
	struct run_diff d = { 0 };
	struct verdict v = { 0 };
	struct err e = { 0 };
	int code = CODE_UNABLE;

	if (levels_read(s->args[0], &then, &e) < 0 ||
	    levels_read(s->args[1], &now, &e) < 0) {
		talk_err(&e);
	} else if (run_diff_make(&then, &now, &d) < 0) {
		err_set(&e, ENOMEM, "cannot compare the runs");
		talk_err(&e);
	} else {
		size_t compared = 0;

		for (int c = CHANGE_SAME; c < CHANGES; c++) {
			compared += d.count[c];
		}
		code = code_of(compared, d.count[CHANGE_WORSE] +
						 d.count[CHANGE_BROKE] > 0);
		run_diff_as_verdict(&d, &then);
		if (verdict_compute(&then, &v) == 0) {
			int failed = show_pairs(s, &d, &then, &v);

			code = failed ? failed : code;
		}
	}
	verdict_release(&v);
	run_diff_release(&d);
	run_release(&then);
	run_release(&now);
	return code;
}

/* ---- collectives ------------------------------------------------------ */

static int show_collectives(const struct session *s, const struct sweep_diff *d,
			    const struct sweep *now, struct sweep *then)
{
	struct str csv = STR_INIT, words = STR_INIT;
	json_t *json = sweep_diff_json(d);
	char dir[PATH_MAX];
	struct err e = { 0 };
	int code = make_out(s, dir);

	sweep_diff_words(d, screen_width(STDOUT_FILENO), colored(s), &words);
	sweep_diff_csv(d, &csv);
	if (code == 0 && dir[0]) {
		for (size_t i = 0; i < then->n_curves; i++) {
			then->curves[i].reference = true;
		}
		if (curves_render(dir, now, then, &e) != 0) {
			talk_err(&e);
		}
		code = keep(dir, json);
	}
	print(s, json, &csv, &words);
	return code;
}

static int diff_collectives(const struct session *s)
{
	struct run run_then = { 0 }, run_now = { 0 };
	struct sweep then = { 0 }, now = { 0 };
	struct sweep_diff d = { 0 };
	struct err e = { 0 };
	int code = CODE_UNABLE;

	if (sweep_read(s->args[0], &run_then, &then, &e) < 0 ||
	    sweep_read(s->args[1], &run_now, &now, &e) < 0) {
		talk_err(&e);
	} else if (sweep_diff_make(&then, &now, &d) < 0) {
		err_set(&e, ENOMEM, "cannot compare the collectives");
		talk_err(&e);
	} else {
		size_t points = 0;
		int failed;

		for (int k = 0; k < POINT_CHANGES; k++) {
			points += d.count[k];
		}
		failed = show_collectives(s, &d, &now, &then);
		code = failed ? failed :
				code_of(points, sweep_diff_regressed(&d));
	}
	sweep_diff_release(&d);
	sweep_release(&then);
	sweep_release(&now);
	run_release(&run_then);
	run_release(&run_now);
	return code;
}

/** The probe of the run in @dir; 0, or an exit code. */
static int read_probe(const char *dir, char probe[32])
{
	struct err e = { 0 };
	json_t *run;
	int rc;

	if (access(dir, F_OK) < 0) {
		err_set(&e, errno, "cannot open run directory '%s'", dir);
		return fail(&e, CODE_USAGE);
	}
	run = rundir_read_json(dir, RUN_JSON, &e);
	rc = run ? json_get_text(run, "probe", probe, 32, &e) : -1;
	json_decref(run);
	return rc < 0 ? fail(&e, CODE_UNABLE) : 0;
}

static int run_diff(struct session *s)
{
	char then[32] = "", now[32] = "";
	struct err e = { 0 };
	bool collectives, pairs;
	int code = read_probe(s->args[0], then);

	code = code ? code : read_probe(s->args[1], now);
	if (code) {
		return code;
	}
	collectives = collective_parse(then) != COLLECTIVES &&
		      collective_parse(now) != COLLECTIVES;
	pairs = strcmp(then, now) == 0 &&
		(strcmp(then, "p2p") == 0 || strcmp(then, "ib") == 0);
	if (!collectives && !pairs) {
		err_set(&e, 0, "a run of %s and one of %s cannot be compared",
			then, now);
		err_hint(&e, "compare two runs of p2p, two of ib, or two of "
			 "collectives");
		return fail(&e, CODE_USAGE);
	}
	return collectives ? diff_collectives(s) : diff_pairs(s);
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
