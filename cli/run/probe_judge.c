/* SPDX-License-Identifier: BSD-3-Clause */
/* How a run that was followed has ended: its report, or why there is none. */
#include "cli/run/probe_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/front/run_json.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/run/found.h"
#include "cli/run/resume.h"
#include "lib/base/exit_code.h"
#include "lib/base/limit.h"
#include "lib/data/run_error.h"
#include "lib/data/rundir.h"

/** Last lines of job.out that are shown when a job came to nothing. */
#define TAIL_LINES 12
#define JOB_OUT_MAX (1024 * 1024)

/** Did the job, on a node, say anything here? */
static bool is_shared(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	return rundir_path(dir, RUN_JOB_OUT, path, NULL) == 0 &&
	       stat(path, &st) == 0 && st.st_size > 0;
}

/** The end of what the job itself said, where it said anything. */
static void talk_job_out(const char *dir)
{
	size_t len = 0;
	char *text = rundir_read_text(dir, RUN_JOB_OUT, JOB_OUT_MAX, &len,
				      NULL);
	char *at = len ? text + len - 1 : NULL, *next, *line;

	if (at) {
		talk("last lines of '%s/%s':", dir, RUN_JOB_OUT);
	}
	for (int n = 0; at && n < TAIL_LINES; n++) {
		at = memrchr(text, '\n', (size_t)(at - text));
	}
	next = at ? at + 1 : text;
	while (next && (line = strsep(&next, "\n")) && (line[0] || next)) {
		char clean[400];

		/* the job's words may hold bytes no terminal should get */
		STR_COPY(clean, line);
		talk_quote(clean);
	}
	free(text);
}

/** No room left for the job's own words? */
static bool is_full(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) == 0 && fs.f_bavail == 0;
}

/** A --resume that has measured nothing leaves the run as it was. */
static void give_back(const struct probe_start *t, const struct watch *w,
		      const struct launch_state *last)
{
	char word[2 * PATH_MAX];

	if (last->exit_code > 0) {
		talk_job_out(t->r.dir);	/* else it may be an older job's */
	}
	talk_hint("nothing has changed in it; its result: \"gpucheck report "
		  "%s\"", str_quoted_dir(t->r.dir, word, sizeof(word)));
	/* a job that goes on may still begin */
	if (!launcher_is_job(t->ops) || last->phase == LAUNCH_ENDED ||
	    w->ended) {
		rundir_remove(t->r.dir, RUN_RESUME);
	}
}

/** Why a run has not come as far as a plan, in one sentence. */
static void explain(const struct probe_start *t, const struct watch *w,
		    const struct launch_state *last, bool stopped,
		    struct err *e)
{
	const char *dir = t->r.dir;

	if (is_full(dir)) {
		err_set(e, ENOSPC, "cannot write in '%s'", dir);
		limit_hint(e, &(struct limit_user){ .dir = dir });
	} else if (w->waits) {
		err_set(e, 0, "the run was not continued: %s",
			stopped	       ? "stopped" :
			last->text[0] ? last->text : "no agent has started");
	} else if (last->cut) {
		err_set(e, 0, "%s", last->text);
	} else if (stopped || w->seen) {
		err_set(e, 0, "the run %s before it planned a test",
			stopped ? "was stopped" : "ended");
	} else if (last->exit_code > 0) {
		err_set(e, 0, "the job ended immediately with exit code %d",
			last->exit_code);
	} else if (is_shared(dir)) {
		err_set(e, 0, "the job ended before an agent had started");
	} else {
		err_set(e, 0, "the job ended and wrote nothing to '%s'", dir);
		err_hint(e, "do all nodes share this file system? -o chooses "
			 "another directory");
	}
	if (last->hint[0]) {
		err_hint(e, "%s", last->hint);
	}
}

/** A run that has not come as far as a plan. */
static int came_to_nothing(const struct probe_start *t, struct launch *l,
			   const struct watch *w, struct launch_state *last,
			   bool stopped)
{
	const char *dir = t->r.dir;
	json_t *run = w->waits ? rundir_read_json(dir, RUN_RESUME, NULL) : NULL;
	struct err e = { 0 };
	int code = CODE_UNABLE;

	if (t->ops->end) {
		t->ops->end(l, last);
	}
	if (!run_json_error(run, &code, NULL, &e)) {
		explain(t, w, last, stopped, &e);
		if (t->ops->blame) {
			t->ops->blame(l, &e);
		}
	}
	json_decref(run);
	talk_err(&e);
	if (t->s->spec.json) {
		show_failure(dir, t->s, &e, code);
	}
	if (w->waits) {
		give_back(t, w, last);
		return code;
	}
	/* for who looks at it later, or is above; where it cannot be written
	 * the words have to do */
	run_error_note(dir, &e, code);
	if (!stopped) {
		if (last->text[0] && !last->cut) {
			talk("%s", last->text);
		}
		talk_job_out(dir);
	}
	return code;
}

/** Its rows are where it was moved to, if it was. */
static int is_gone(const struct session *s, const char *dir)
{
	struct err e = { 0 };

	err_set(&e, 0, "the run directory '%s' was moved or removed during the "
		       "run", dir);
	err_hint(&e, "what was measured until then: \"gpucheck report NEW\", "
		     "where NEW is its new name");
	talk_err(&e);
	return s->spec.json ? show_failure(NULL, s, &e, CODE_UNABLE) :
			      CODE_UNABLE;
}

int probe_run_judge(const struct probe_start *t, struct launch *l,
		    const struct watch *w, struct launch_state *last,
		    enum follow_end end)
{
	const struct session *s = t->s;
	const char *dir = t->r.dir;
	struct err e = { 0 };
	int code;

	if (access(dir, F_OK) < 0) {
		return is_gone(s, dir);
	}
	if (w->planned) {
		found_note_end(dir, t->ops, l);
		code = show_run(dir, &s->spec, &e);
		code = code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
		if (!w->ended && end != FOLLOW_LOST && last->text[0]) {
			talk("%s", last->text);
		}
	} else if (!w->waits && run_json_failed(dir, &code, NULL, &e)) {
		talk_err(&e);
		if (s->spec.json) {
			show_failure(dir, s, &e, code);
		}
	} else {
		return came_to_nothing(t, l, w, last, end == FOLLOW_STOPPED);
	}
	talk("run directory: %s", dir);
	resume_say_how(dir, code);
	return code;
}
