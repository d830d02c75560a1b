/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/show.h"

#include "lib/base/exit_code.h"
#include "lib/base/limit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/keep.h"
#include "cli/front/run_json.h"
#include "cli/front/screen.h"
#include "cli/front/talk.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/data/version.h"
#include "report/show/judged.h"

/** The pictures that the words end with, where they were drawn. */
static const struct picture_name {
	const char *name;
	bool svg;		/* it is also drawn without gnuplot */
} pictures[] = {
	{ .name = "heatmap-bw", .svg = true },
	{ .name = "heatmap-nodes", .svg = true },
	{ .name = "heatmap-segments", .svg = true },
	{ .name = "heatmap-contrast", .svg = true },
	{ .name = "curves" },
	{ 0 }
};

/** "png", or where the report came to @rc with @e what there is instead. */
static const char *kind_of(int rc, const struct err *e)
{
	return rc != 1 ? "png" : err_is_read_only(e) ? NULL : "svg";
}

static int show_words(const struct judged *j, const struct spec *s,
		      const char *kind)
{
	struct str text = STR_INIT;
	char path[PATH_MAX], file[32];
	int rc, shown = 0;

	rc = judged_words(j, screen_known(STDOUT_FILENO) ?
				     screen_width(STDOUT_FILENO) : 0,
			  screen_color(s), screen_style(s), &text);
	if (s->verbose) {
		judged_details(j, screen_width(STDOUT_FILENO), &text);
	}
	for (const struct picture_name *p = pictures; p->name && kind; p++) {
		snprintf(file, sizeof(file), "%s.%s", p->name, kind);
		if ((p->svg || strcmp(kind, "svg") != 0) &&
		    rundir_path(j->out, file, path, NULL) == 0 &&
		    access(path, R_OK) == 0) {
			str_addf(&text, "%spicture: %s\n", shown++ ? "" : "\n",
				 path);
		}
	}
	screen_print(&text, stdout);
	rc = rc < 0 || text.failed ? -1 : 0;
	str_release(&text);
	return rc;
}

/** A run that failed before its first row has an error, and no more to show. */
static bool has_words(const struct judged *j, const struct spec *s, bool failed)
{
	return !s->quiet && !keep_takes_stdout(s) &&
	       !(failed && j->run.rows == 0);
}

static int show(const struct judged *j, const struct spec *s, const char *dir,
		const char *kind, struct err *e)
{
	struct err why;
	int code;
	bool failed = run_json_failed(dir, &code, NULL, &why);

	if (failed) {
		talk_err(&why);
	} else {
		code = judged_exit(j);
	}
	if (s->json || s->csv) {
		int rc = s->csv ? judged_csv(j, stdout, e) :
				  judged_json(j, s->json == SPEC_JSON_ALL,
					      stdout, e);

		/* what stdout does not take is said when it is closed */
		return rc < 0 && !ferror(stdout) ? -1 : code;
	}
	if (has_words(j, s, failed) && show_words(j, s, kind) < 0) {
		return err_set(e, ENOMEM, "cannot print the result");
	}
	return code;
}

/** run.json, or as much of it as is known without, and why it came to nothing;
 *  NULL without memory. */
static json_t *failed_run(const char *dir, const struct session *s,
			  const struct err *why, int code)
{
	json_t *run = dir ? rundir_read_json(dir, RUN_JSON, NULL) : NULL;
	char text[1024];

	if (!run) {
		run = json_pack("{s:s, s:s}", "probe", dir ? "" : s->argv[1],
				"version", version_own());
	}
	if (!json_object_get(run, "error")) {
		json_object_set_new(run, "error", json_pack(
			"{s:o, s:o, s:i}", "text",
			json_text(err_str(why, text, sizeof(text))),
			"hint", json_text(why->hint), "exit", code));
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

	STR_COPY(shown.probe, json_member(run, "probe"));
	shown.drill = json_is_true(json_object_get(run, "drill"));
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

int show_run_to(const char *dir, const char *out, const struct spec *s,
		const struct judged_ask *going, struct err *e)
{
	struct judged_ask ask = { 0 };
	struct judged *j;
	int rc, code;

	if (going) {
		ask = *going;
	}
	ask.reference = s->reference;
	ask.slow_percent = s->slow_percent;
	rc = judged_make(dir, out, &ask, &j, e);
	if (rc < 0) {
		return -1;
	}
	if (rc > 0) {
		/* words and numbers are whole without the pictures */
		limit_hint(e, &(struct limit_user){ .dir = dir });
		talk_err(e);
	}
	code = show(j, s, dir, going || !out ? NULL : kind_of(rc, e), e);
	if (!going) {
		keep(j, s, code);
	}
	/* who reads the verdict finds none, or an old one */
	code = j->unsaved && code >= 0 ? CODE_UNABLE : code;
	judged_free(j);
	return code;
}

int show_run(const char *dir, const struct spec *s, struct err *e)
{
	return show_run_to(dir, dir, s, NULL, e);
}
