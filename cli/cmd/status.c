/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck status and attach: show or follow the progress of a run. */
#include <stdio.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/help.h"
#include "cli/front/follow.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/run/jobs.h"
#include "cli/run/probe_run.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "report/base/wrap.h"
#include "report/show/judged.h"

/* ---- attach -------------------------------------------------------------- */

static int follow(const struct session *s, const struct found *f,
		  struct err *e)
{
	const struct going *by = &f->by;
	struct launch_state last = { 0 };
	struct watch w;
	char word[PATH_MAX];
	enum follow_end end = FOLLOW_OVER;
	int code;

	if (f->going && run_file(f->run).jobs.given) {
		return jobs_follow(f->dir, s);
	}
	if (by->launch) {
		talk("%s", by->who);
		end = follow_run(f->dir, run_file(f->run).probe,
				 &s->spec, by->ops, by->launch, &w, &last);
	} else {
		watch_init(&w, f->dir);
		watch_known(&w);
	}
	if (end == FOLLOW_LEFT) {
		talk("stopped following; the run has not ended");
		talk_hint("%s", by->hint);
		talk_hint("for the result: \"gpucheck report %s\"",
			  str_quoted_dir(f->dir, word, sizeof(word)));
		return CODE_PARTIAL;
	}
	if (w.waits) {
		talk("nothing was measured%s%s; this is the run before",
		     last.text[0] ? ": " : "", last.text);
		watch_known(&w);
	}
	found_note_end(f->dir, NULL, NULL);
	if (w.planned) {
		/* the directory may belong to another user: write nothing */
		code = show_run_to(f->dir, NULL, &s->spec, NULL,
				   NULL, e);
		return code < 0 ? talk_fail(e, CODE_UNABLE) : code;
	}
	if (!run_json_failed(f->dir, &code, NULL, e)) {
		err_set(e, 0, "the run ended before it planned a test%s%s",
			last.text[0] ? ": " : "", last.text);
		code = CODE_UNABLE;
	}
	talk_err(e);
	return show_nothing(f->dir, s, e, code);
}

static int run_attach(struct session *s)
{
	struct err e = { 0 };
	struct found f;
	int code = found_open(s->args[0], &f, &e);

	code = code ? talk_fail(&e, code) : follow(s, &f, &e);
	found_release(&f);
	return code;
}

static const char *const attach_examples[] = {
	"gpucheck attach gpucheck-p2p-20260131T091502Z-7f3a12",
	"gpucheck attach 4711", NULL};

const struct command cmd_attach = {
	.name = "attach",
	.known_as = "status --follow",
	.summary = "Follow a run until it ends, then print its report.",
	.usage = "[OPTION...] DIR|JOB",
	.examples = attach_examples,
	.takes = SPEC_CMD_ATTACH,
	.min_args = 1,
	.needs = "a run directory or a job",
	.max_args = 1,
	.run = run_attach,
};

/* ---- status -------------------------------------------------------------- */

/** Progress of a run. */
struct standing {
	const struct found *f;
	struct watch w;
	struct judged *j;	/* its findings so far; NULL: it has no plan */
	char who[480];		/* is at work on it, and for how long yet */
	struct err why;		/* of a run without results */
	int code;
};

/** "pending", "running", "ended"; "cut": it has no end, and nothing is at work
 *  on it. */
static const char *state_of(const struct standing *s)
{
	return s->f->pending ? "pending" :
	       s->f->going   ? "running" :
	       s->w.ended || s->w.failed ? "ended" : "cut";
}

static int look(const struct found *f, struct standing *s, struct err *e)
{
	struct judged_ask ask;
	char left[32];
	int64_t left_s;

	*s = (struct standing){ .f = f, .code = CODE_PARTIAL };
	watch_init(&s->w, f->dir);
	watch_known(&s->w);
	if (!s->w.planned && !f->going) {
		if (!run_json_failed(f->dir, &s->code, NULL, &s->why)) {
			s->code = CODE_UNABLE;
			err_set(&s->why, 0,
				"the run ended before it planned a test");
		}
		return 0;
	}
	if (found_ask(f, &ask)) {
		/* "job 42 is running on n1, about 40 s left" */
		left_s = watch_left_ns(&s->w) / NS_PER_S;
		units_duration_text(left_s * NS_PER_S, left, sizeof(left));
		snprintf(s->who, sizeof(s->who), "%s%s%s%s", f->by.who,
			 left_s > 0 ? ", about " : "", left_s > 0 ? left : "",
			 left_s > 0 ? " left" : "");
		ask.going = s->who;
	}
	ask.brief = true;
	if (judged_make(f->dir, NULL, &ask, &s->j, e) < 0) {
		return -1;
	}
	s->code = judged_exit(s->j);
	return 0;
}

/* ---- words --------------------------------------------------------------- */

static int standing_words(const struct session *session,
			  const struct standing *s, struct err *e)
{
	struct str text = STR_INIT, line = STR_INIT;
	const struct wrap w = {
		.out = &text, .width = screen_width(STDOUT_FILENO),
		.color = screen_color(&session->spec), .whole_quotes = true,
	};
	int rc = 0;

	if (s->f->waits) {
		str_addf(&text, "%s: a --resume that has not begun; this is "
			 "the run before:\n", s->f->by.who);
	}
	if (s->j) {
		rc = judged_words(s->j, w.width, w.color,
				  screen_style(&session->spec), &text);
	} else {
		wrap_status(&w, state_of(s));
		str_addf(&line, "%s: %s", run_file(s->f->run).probe,
			 s->why.text);
		wrap_text(&w, 6, str_text(&line));
		if (s->why.hint[0]) {
			wrap_line(&w, 0, s->why.hint);
		}
	}
	str_release(&line);
	screen_print(&text, stdout);
	rc = rc < 0 || text.failed ? err_set(e, ENOMEM, "cannot print it") : 0;
	str_release(&text);
	return rc;
}

/* ---- JSON ---------------------------------------------------------------- */

static int show_json(const struct standing *s, struct err *e)
{
	const struct going *by = &s->f->by;
	const int64_t left_ns = s->f->going && !s->f->waits ?
					watch_left_ns(&s->w) : -1;
	char when[CLOCK_UTC_SIZE] = "", why[1024] = "";
	json_t *json;

	if (by->state.starts_s > 0) {
		clock_utc_of(by->state.starts_s, when);
	}
	if (s->why.text[0]) {
		err_str(&s->why, why, sizeof(why));
	}
	json = json_pack(
		"{s:i, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:{s:I, s:o}, s:o, "
		"s:o}",
		"schema", 1, "state", state_of(s), "dir", json_text(s->f->dir),
		"probe", run_file(s->f->run).probe,
		"job", json_text_or_null(by->launch ?
				    launcher_job_id(by->ops, by->launch) : ""),
		"says", json_text_or_null(s->f->going ? by->who : why),
		"hint", json_text_or_null(s->f->going ? by->state.hint :
						   s->why.hint),
		"starts_utc", json_text_or_null(when),
		"tests", "done", (json_int_t)s->w.rows, "planned",
		s->w.planned ? json_integer((json_int_t)s->w.cells) :
			       json_null(),
		"left_s", left_ns < 0 ? json_null() :
			json_real((double)left_ns / (double)NS_PER_S),
		"verdict", s->j ? verdict_json(&s->j->run, &s->j->verdict) :
				  json_null());
	if (!json) {
		return err_set(e, ENOMEM, "no memory for its state");
	}
	json_print(json, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(json);
	return 0;
}

static int run_status(struct session *s)
{
	struct err e = { 0 };
	struct standing now;
	struct found f;
	int rc, code = found_open(s->n_args ? s->args[0] : NULL, &f, &e);

	if (code == CODE_HEALTHY && s->spec.follow) {
		code = follow(s, &f, &e);
		found_release(&f);
		return code;
	}
	if (code == CODE_HEALTHY) {
		if (!s->n_args && !s->spec.quiet) {
			talk("the latest run here: %s", f.dir);
		}
		rc = look(&f, &now, &e);
		if (rc == 0) {
			rc = s->spec.json  ? show_json(&now, &e) :
			     s->spec.quiet ? 0 : standing_words(s, &now, &e);
			judged_free(now.j);
		}
		code = rc < 0 ? CODE_UNABLE : now.code;
		if (!f.going && !s->spec.quiet && !s->spec.json) {
			resume_say_how(f.dir, code);
		}
	}
	found_release(&f);
	return e.text[0] ? talk_fail(&e, code) : code;
}

static const char *const examples[] = {
	"gpucheck status",
	"gpucheck status 4711",
	"gpucheck status --follow 4711",
	"gpucheck status --json /home/alice/DIR | jq .left_s",
	NULL
};

const struct command cmd_status = {
	.name = "status",
	.summary = "Show the progress of a run, or follow it.",
	.usage = "[OPTION...] [DIR|JOB]",
	.examples = examples,
	.takes = SPEC_CMD_STATUS | SPEC_CMD_ATTACH,
	.max_args = 1,
	.run = run_status,
};
