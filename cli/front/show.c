/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of a run that has ended: report, history, metrics, exit code. */
#include "cli/front/show.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/limit.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"
#include "report/base/wrap.h"
#include "report/history/history.h"
#include "report/judge/caption.h"
#include "report/judge/findings.h"
#include "report/model/sweep.h"
#include "report/show/judged.h"

/* ---- history dir --------------------------------------------------------- */

int history_dir(const char *wanted, bool write, char path[PATH_MAX],
		struct err *e)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	const bool usual = !wanted[0] || strcmp(wanted, "-") == 0;
	char part[PATH_MAX];
	int n = 0;

	/* links are left for whoever opens it: root does not follow them all */
	if (!usual && wanted[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s", wanted);
	} else if (!usual && getcwd(part, sizeof(part))) {
		n = snprintf(path, PATH_MAX, "%s/%s", part, wanted);
	} else if (data && data[0] == '/') {
		/* a relative one is to be ignored, says the specification */
		n = snprintf(path, PATH_MAX, "%s/gpucheck/history", data);
	} else if (home && home[0] == '/') {
		n = snprintf(path, PATH_MAX, "%s/.local/share/gpucheck/history",
			     home);
	}
	if (n <= 0 || n >= PATH_MAX) {
		err_set(e, 0, "no home directory for the history, or its path "
			      "is too long");
		return err_hint(e, "name a directory with --history=DIR");
	}
	/* the usual place and the folders above it, for this user alone */
	for (const char *c = path + 1; write && usual && *c; c++) {
		if (*c == '/') {
			snprintf(part, sizeof(part), "%.*s", (int)(c - path),
				 path);
			mkdir(part, 0700);
		}
	}
	return write && mkdir(path, usual ? 0700 : 0777) < 0 &&
			       errno != EEXIST ?
		       err_set(e, errno, "cannot create the history '%s'",
			       path) : 0;
}

/* ---- keep ---------------------------------------------------------------- */

static int summarise(const struct judged *j, struct summary *s, struct err *e)
{
	static const char *const steps[] = {
		"p2p", "ib", "gpu", "ping", "memlock", NULL
	};
	struct run step = { 0 };
	bool several = false;
	char path[PATH_MAX];
	int rc;

	/* of a run of several probes the step with levels, or at least with
	 * facts of the nodes */
	for (int i = 0; strcmp(j->run.probe, "all") == 0 && !several &&
			steps[i]; i++) {
		several = rundir_path(j->dir, steps[i], path, NULL) == 0 &&
			  access(path, F_OK) == 0 &&
			  levels_read(path, &step, NULL) == 0;
	}
	rc = summary_of(&j->run, &j->verdict, several ? &step : NULL, s, e);
	if (several) {
		run_release(&step);
	}
	if (rc == 0 && collective_parse(s->probe) != COLLECTIVES) {
		struct run run = { 0 };
		struct sweep sweep = { 0 };

		if (sweep_read(j->dir, &run, &sweep, NULL) == 0) {
			summary_add_sweep(s, &sweep);
		}
		sweep_release(&sweep);
		run_release(&run);
	}
	return rc;
}

/** For whoever collects it, whatever the umask is. */
static int put_text(void *arg, FILE *f)
{
	return metrics_print(arg, f) < 0 || fchmod(fileno(f), 0644) < 0 ?
		       -1 : 0;
}

/** Write @text to @file, "-" for stdout; 0, or -1 with @e. */
static int put_file(const char *file, struct str *text, struct err *e)
{
	const char *slash = strrchr(file, '/');
	char dir[PATH_MAX] = ".";

	if (slash) {
		snprintf(dir, sizeof(dir), "%.*s",
			 slash == file ? 1 : (int)(slash - file), file);
	}
	if (strcmp(file, "-") == 0) {
		return metrics_print(text, stdout) < 0 ?
			       err_set(e, errno, "cannot write the metrics") :
			       0;
	}
	return rundir_write_with(dir, slash ? slash + 1 : file, 0644, put_text,
				 text, e) < 0 ?
		       err_set(e, e->code, "cannot write '%s'", file) : 0;
}

void keep_junit(const struct run *run, const struct verdict *v,
		const char *file, int code)
{
	struct str text = STR_INIT;
	struct err e = { 0 };

	if (!file[0]) {
		return;
	}
	judged_junit(run, v, code, &text);
	if (put_file(file, &text, &e) < 0) {
		talk_err(&e);
	}
	str_release(&text);
}

void keep(const struct judged *j, const struct spec *s, int code)
{
	struct summary sum = { 0 };
	struct str text = STR_INIT;
	char dir[PATH_MAX];
	struct err e = { 0 };
	char run[sizeof(e.hint) / 2];

	keep_junit(&j->run, &j->verdict, s->junit, code);
	if (!s->history[0] && !s->metrics[0]) {
		return;
	}
	if (summarise(j, &sum, &e) < 0) {
		talk_err(&e);
		summary_release(&sum);
		return;
	}
	if (s->metrics[0]) {
		metrics_text(&sum, code, &text);
		if (put_file(s->metrics, &text, &e) < 0) {
			talk_err(&e);
		}
		str_release(&text);
	}
	if (s->history[0] && history_dir(s->history, true, dir, &e) < 0) {
		talk_err(&e);
	} else if (s->history[0] && store_append(dir, &sum, 1, &e) < 0) {
		if (!e.hint[0]) {
			err_hint(&e, "\"gpucheck report --history=DIR %s\" "
				 "puts the run into one later",
				 str_quoted_dir(j->run.dir, run, sizeof(run)));
		}
		talk_err(&e);
	} else if (s->history[0]) {
		talk("history: %s", dir);
	}
	summary_release(&sum);
}

/* ---- show ---------------------------------------------------------------- */

#define CURVES "curves"
/** Pictures that the report mentions at its end, if they were drawn. */
static const char *const pictures[] = {
	"heatmap-bw", "heatmap-nodes", "heatmap-segments", "heatmap-contrast",
	CURVES, NULL
};

static int print_words(const struct judged *j, const struct spec *s,
		       const char *kind)
{
	struct str text = STR_INIT, line = STR_INIT;
	const struct wrap w = { .out = &text, .color = screen_color(s),
				.width = screen_width(STDOUT_FILENO) };
	char path[PATH_MAX], file[32], aside[CAPTION_SIZE];
	int rc, shown = 0;

	rc = judged_words(j, screen_known(STDOUT_FILENO) ?
				     screen_width(STDOUT_FILENO) : 0,
			  screen_color(s), screen_style(s), &text);
	if (s->verbose) {
		judged_details(j, screen_width(STDOUT_FILENO), &text);
	}
	for (const char *const *p = pictures; *p && kind && s->verbose; p++) {
		snprintf(file, sizeof(file), "%s.%s", *p, kind);
		/* without gnuplot there are maps, but no curves */
		if ((strcmp(*p, CURVES) != 0 || strcmp(kind, "svg") != 0) &&
		    rundir_path(j->out, file, path, NULL) == 0 &&
		    access(path, R_OK) == 0) {
			str_addf(&text, "%spicture: %s\n", shown++ ? "" : "\n",
				 path);
		}
	}
	/* the verdict once more, where it is in sight when a long report has
	 * passed: "FAIL  GPU 4 of n1 (dead). Report: DIR/report.html" */
	if (!j->ask.going) {
		str_addf(&line, "%s.", caption_short(&j->run, &j->verdict,
						     false, aside,
						     sizeof(aside)));
		if (j->out &&
		    rundir_path(j->out, "report.html", path, NULL) == 0 &&
		    access(path, R_OK) == 0) {
			str_addf(&line, " Report: %s", path);
		}
		str_addch(&text, '\n');
		caption_aside(&j->verdict, aside, sizeof(aside));
		if (wrap_status_aside(&w, caption_status(&j->run, &j->verdict),
				      aside)) {
			wrap_line(&w, 0, str_text(&line));
		} else {
			wrap_text(&w, 6, str_text(&line));
		}
		str_release(&line);
	}
	screen_print(&text, stdout);
	rc = rc < 0 || text.failed ? -1 : 0;
	str_release(&text);
	return rc;
}

static int show(const struct judged *j, const struct spec *s, const char *dir,
		const char *kind, struct err *e)
{
	struct err why;
	int code;
	bool failed = run_json_failed(dir, &code, NULL, &why);

	if (failed) {
		talk_err(&why);
	}
	/* rows that were measured before the failure are a partial result */
	if (!failed || judged_exit(j) == CODE_PARTIAL) {
		code = judged_exit(j);
	}
	if (s->json || s->csv) {
		int rc = s->csv ? judged_csv(j, stdout, e) :
				  judged_json(j, s->json == SPEC_JSON_ALL,
					      stdout, e);

		/* a write error on stdout is reported when it is closed */
		return rc < 0 && !ferror(stdout) ? -1 : code;
	}
	/* a run that failed before its first row and finding has only an error
	 * to show */
	if (s->quiet || strcmp(s->metrics, "-") == 0 ||
	    (failed && j->run.rows == 0 && j->verdict.n == 0)) {
		return code;
	}
	return print_words(j, s, kind) < 0 ?
		       err_set(e, ENOMEM, "cannot print the result") : code;
}

/** Returns run.json, or as much of it as is known without the file, with the
 *  reason @why; NULL without memory. */
static json_t *failed_run(const char *dir, const struct session *s,
			  const struct err *why, int code)
{
	json_t *run = dir ? rundir_read_json(dir, RUN_JSON, NULL) : NULL;
	char text[1024], utc[CLOCK_UTC_SIZE];

	if (!run) {
		run = json_pack("{s:s, s:s, s:s}", "probe",
				dir ? "" : s->argv[1], "version", version_own(),
				"started_utc", clock_utc(utc));
	}
	if (!run_file(run).error.given) {
		json_object_set_new(run, "error", run_part_json(
			"error", &(struct run_file){ .error = {
				.text = err_str(why, text, sizeof(text)),
				.hint = why->hint, .exit = code } }));
	}
	return run;
}

int show_failure(const char *dir, const struct session *s,
		 const struct err *why, int code)
{
	json_t *run = failed_run(dir, s, why, code), *all;
	struct verdict verdict = { .status = VERDICT_UNKNOWN };
	struct run shown = { .json = run };
	char text[1024];

	STR_COPY(shown.probe, run_file(run).probe);
	shown.drill = run_file(run).drill;
	all = json_pack("{s:O, s:o, s:[]}", "run", run, "verdict",
			verdict_json(&shown, &verdict), "rows");
	json_object_set_new(json_object_get(all, "verdict"), "reason",
			    json_text(err_str(why, text, sizeof(text))));
	if (s->spec.json == SPEC_JSON_VERDICT) {
		json_object_del(all, "rows");
	}
	json_print(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
	json_decref(run);
	return code;
}

int show_nothing(const char *dir, const struct session *s,
		 const struct err *why, int code)
{
	struct judged without = { .verdict.status = VERDICT_UNKNOWN }, *j;
	const struct judged_ask ask = { .reference = "" };
	json_t **run = &without.run.json;
	struct err e = { 0 };

	/* --metrics and --history have the report of @dir, or what is known
	 * without one */
	if (dir && judged_make(dir, NULL, &ask, &j, &e) >= 0) {
		keep(j, &s->spec, code);
		judged_free(j);
	} else {
		*run = failed_run(NULL, s, why, code);
		STR_COPY(without.run.probe, run_file(*run).probe);
		STR_COPY(without.run.started_utc, run_file(*run).started_utc);
		keep(&without, &s->spec, code);
		json_decref(*run);
	}
	return s->spec.json ? show_failure(dir, s, why, code) : code;
}

int show_run_to(const char *dir, const char *out, const struct spec *s,
		const struct judged_ask *going, const char *accept,
		struct err *e)
{
	struct judged_ask ask = { 0 };
	struct judged *j;
	const char *kind = NULL;	/* of the pictures */
	int rc, code;

	if (going) {
		ask = *going;
	}
	ask.reference = s->reference;
	ask.accept = accept;
	ask.stat = (enum spec_stat)s->stat;
	ask.slow_percent = s->slow_percent;
	ask.map = (enum spec_when)s->map;
	ask.log_scale = s->log_scale;
	rc = judged_make(dir, out, &ask, &j, e);
	if (rc < 0) {
		return -1;
	}
	if (rc > 0) {
		/* words and numbers are whole without the pictures */
		limit_hint(e, &(struct limit_user){ .dir = dir });
		talk_err(e);
	}
	if (!going && out) {
		kind = rc != 1 ? "png" : err_is_read_only(e) ? NULL : "svg";
	}
	code = show(j, s, dir, kind, e);
	if (!going) {
		keep(j, s, code);
	}
	judged_free(j);
	return code;
}

int show_run(const char *dir, const struct spec *s, struct err *e)
{
	return show_run_to(dir, dir, s, NULL, NULL, e);
}
