/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include "cli/front/follow.h"
#include "cli/front/run_json.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/run/found.h"
#include "cli/run/jobs.h"
#include "lib/base/exit_code.h"
#include "lib/base/str.h"
#include "lib/data/json.h"

/** What it came to; in a directory that may be anybody's nothing is written. */
static int show_end(const struct session *s, const char *dir,
		    const struct watch *w, const char *last, struct err *e)
{
	int code;

	if (w->planned) {
		code = show_run_to(dir, NULL, &s->spec, NULL, e);
		return code < 0 ? talk_fail(e, CODE_UNABLE) : code;
	}
	if (!run_json_failed(dir, &code, NULL, e)) {
		err_set(e, 0, "the run ended before it planned a test%s%s",
			last[0] ? ": " : "", last);
		code = CODE_UNABLE;
	}
	return talk_fail(e, code);
}

static int follow(const struct session *s, const struct found *f,
		  struct err *e)
{
	const struct going *by = &f->by;
	struct launch_state last = { 0 };
	struct watch w;
	char word[PATH_MAX];
	enum follow_end end = FOLLOW_OVER;

	if (f->going && jobs_is(f->run)) {
		return jobs_follow(f->dir, s);
	}
	if (by->launch) {
		talk("%s", by->who);
		end = follow_run(f->dir, json_member(f->run, "probe"),
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
		talk("nothing was measured: %s; this is the run before",
		     last.text);
		watch_known(&w);
	}
	found_note_end(f->dir, NULL, NULL);
	return show_end(s, f->dir, &w, last.text, e);
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

static const char *const examples[] = {
	"gpucheck attach gpucheck-p2p-20260131T091502Z-7f3a12",
	"gpucheck attach 4711",
	NULL
};

const struct command cmd_attach = {
	.name = "attach",
	.summary = "Follow a run that goes on, to its verdict.",
	.usage = "[OPTION...] DIR|JOB",
	.examples = examples,
	.takes = SPEC_CMD_ATTACH,
	.min_args = 1,
	.needs = "a run directory or a job",
	.max_args = 1,
	.run = run_attach,
};
