/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/probe_run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/run/diagnose.h"
#include "lib/base/exit_code.h"
#include "cli/front/follow.h"
#include "cli/plan/forecast.h"
#include "cli/front/options.h"
#include "cli/plan/plan_show.h"
#include "cli/run/resume.h"
#include "cli/front/run_json.h"
#include "cli/front/show.h"
#include "cli/front/site.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/base/spawn.h"
#include "sbatch/launcher.h"

/** Last lines of job.out that are shown when a job came to nothing. */
#define TAIL_LINES 12
#define JOB_OUT_MAX (1024 * 1024)
/** Longer than what comes after a run in its job, and than Slurm's patience. */
#define DIAGNOSE_WAIT_NS (600 * NS_PER_S)

static struct step_place place_of(const struct session *s,
				  const struct launcher_ops *ops,
				  const struct launch_request *r)
{
	return (struct step_place){
		.self = r->self, .dir = r->dir, .spec = r->spec,
		.commands = s->commands,
		.launcher = ops->inside ? ops->inside->name : ops->name,
		.extra = ops->inside ? NULL : r->extra,
	};
}

static void describe_step(void *arg, const char *probe,
			  const struct args *line, const char *why_not)
{
	struct str *out = arg;

	if (!line) {
		str_addf(out, "# no %s: %s\n", probe, why_not);
		return;
	}
	args_line(line, out);
	str_addch(out, '\n');
}

/** What would run: the job, and the steps in it or without one. */
static int describe_run(const struct session *s,
			const struct launcher_ops *ops,
			const struct launch_request *r,
			const struct conductor *c, struct str *text,
			struct err *e)
{
	const struct step_place place = place_of(s, ops, r);
	int rc = 0;

	if (!c || !c->run || launcher_is_job(ops)) {
		rc = ops->describe(r, text, e);
	}
	if (c && c->run && rc == 0) {
		str_add(text, launcher_is_job(ops) ? "# and in the job:\n" : "");
		c->each(&place, describe_step, text);
	}
	return rc;
}

int probe_run_describe(const struct session *s,
		       const struct launcher_ops *ops,
		   const struct launch_request *r, const struct conductor *c)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	int rc = describe_run(s, ops, r, c, &text, &e);

	if (rc == 0) {
		fputs(str_text(&text), stdout);
	}
	str_release(&text);
	return rc < 0 ? talk_fail(&e, CODE_UNABLE) : CODE_HEALTHY;
}

/** --dry-run: nothing is made, so the directory is only a name. */
static int describe(const struct session *s, const struct launcher_ops *ops,
		    struct launch_request *r, const struct conductor *c)
{
	struct err e = { 0 };
	char cwd[PATH_MAX], dir[2 * PATH_MAX];
	const char *out = r->spec->out[0] ? r->spec->out : "gpucheck-dry-run";

	if (!getcwd(cwd, sizeof(cwd))) {
		err_set(&e, errno, "cannot name the working directory");
		return talk_fail(&e, CODE_UNABLE);
	}
	snprintf(dir, sizeof(dir), "%s%s%s", out[0] == '/' ? "" : cwd,
		 out[0] == '/' ? "" : "/", out);
	r->dir = dir;
	return probe_run_describe(s, ops, r, c);
}

/** Start of the last @lines lines of @text. */
static const char *tail(const char *text, size_t len, int lines)
{
	const char *at = text + len;

	if (at > text && at[-1] == '\n') {
		at--;
	}
	while (at > text && (at[-1] != '\n' || --lines > 0)) {
		at--;
	}
	return at;
}

/** The end of what the job itself said, where it said anything. */
static void talk_job_out(const char *dir)
{
	size_t len;
	char *text = rundir_read_text(dir, RUN_JOB_OUT, JOB_OUT_MAX, &len,
				      NULL);
	char *next = text ? (char *)tail(text, len, TAIL_LINES) : NULL;
	bool said = text && len;
	const char *line;

	if (said) {
		talk("last lines of '%s/%s':", dir, RUN_JOB_OUT);
	}
	while (said && (line = strsep(&next, "\n")) && (line[0] || next)) {
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

/** A run that has not come as far as a plan: say why, in one sentence. */
static int came_to_nothing(const char *dir, const struct watch *w,
			   const struct launch_state *last)
{
	struct err e = { 0 };

	if (is_full(dir)) {
		err_set(&e, ENOSPC, "cannot write in '%s'", dir);
		err_hint(&e, "-o chooses another directory");
	} else if (w->seen) {
		err_set(&e, 0, "the run ended before it planned a test");
	} else if (last->exit_code > 0) {
		err_set(&e, 0, "the job ended immediately with exit code %d",
			last->exit_code);
	} else {
		err_set(&e, 0, "the job ended and wrote nothing to '%s'", dir);
		err_hint(&e, "do all nodes share this file system? -o chooses "
			 "another directory");
	}
	if (last->hint[0]) {
		err_hint(&e, "%s", last->hint);
	}
	talk_err(&e);
	/* for who looks at it later, or is above; where it cannot be written
	 * the words have to do */
	run_json_note(dir, json_pack("{s:{s:o, s:o, s:i}}", "error",
				    "text", json_text(e.text),
				    "hint", json_text(e.hint),
				    "exit", CODE_UNABLE), NULL);
	if (last->text[0]) {
		talk("%s", last->text);
	}
	talk_job_out(dir);
	return CODE_UNABLE;
}

static int judge(const struct session *s, const char *dir,
		 const struct watch *w, const struct launch_state *last)
{
	struct err e = { 0 };
	int code;

	if (w->planned) {
		code = show_run(dir, &s->spec, &e);
		code = code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
		if (!w->ended && last->text[0]) {
			talk("%s", last->text);
		}
	} else if (run_json_failed(dir, &code, &e)) {
		talk_err(&e);
	} else {
		return came_to_nothing(dir, w, last);
	}
	talk("run directory: %s", dir);
	resume_say_how(dir, code);
	return code;
}

/** "stopped following; job 5 still runs. Cancel: scancel 5" */
static void say_cancel(const char *what, const char *state,
		       const struct launcher_ops *ops, const struct launch *l)
{
	char cancel[128], id[128] = "";

	if (ops->job_id) {
		ops->job_id(l, id, sizeof(id));
	}
	ops->cancel_hint(l, cancel, sizeof(cancel));
	talk("%s; %s%s %s. Cancel: %s", what, id[0] ? "job " : "the job", id,
	     state, cancel);
}

static int leave(const struct launcher_ops *ops, const struct launch *l,
		 const char *dir)
{
	say_cancel("stopped following", "still runs", ops, l);
	talk_hint("for the result: \"gpucheck report %s\"", dir);
	return CODE_PARTIAL;
}

/** --no-wait: where it will be, and which job it is, a line each. */
static int print_job(const struct launcher_ops *ops, const struct launch *l,
		     const char *dir)
{
	char text[128];

	printf("%s\n", dir);
	if (ops->job_id) {
		ops->job_id(l, text, sizeof(text));
		printf("%s\n", text);
	}
	say_cancel("not waiting", "is submitted", ops, l);
	talk_hint("for the result: \"gpucheck report %s\"", dir);
	return CODE_HEALTHY;
}

/**
 * The probe has ended; what comes after it in the job has not.  False when a
 * signal of those that are held asks us to leave.
 */
static bool await_job(const struct launcher_ops *ops, struct launch *l)
{
	const int64_t deadline = clock_now_ns() + DIAGNOSE_WAIT_NS;
	struct launch_state st = { 0 };
	bool asked = false;
	sigset_t before;

	follow_hold_signals(SIG_BLOCK, &before);
	while (!asked && clock_now_ns() < deadline &&
	       (ops->poll(l, &st, NULL) < 0 || st.phase != LAUNCH_ENDED)) {
		asked = follow_take_signal(NS_PER_S);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return !asked;
}

/** What comes after the run of a probe that has ended in order; false when we
 *  were asked to leave the job that does it. */
static bool go_on(const struct session *s, const struct conductor *c,
		  const struct launcher_ops *ops,
		  const struct launch_request *r, struct launch *l,
		  int64_t deadline_ns)
{
	struct step_place place = place_of(s, ops, r);
	struct err e = { 0 };
	bool stays;

	if (!diagnose_wanted(r->dir)) {
		return true;
	}
	if (launcher_is_job(ops)) {
		talk("waiting for the diagnosis of failed pairs");
		stays = await_job(ops, l);
		watch_refresh(r->dir);
		return stays;
	}
	follow_leave(ops, l);	/* before others run in its place */
	place.deadline_ns = deadline_ns;
	if (conduct_run(c, &place, &e) < 0) {
		talk_err(&e);	/* the run itself is whole */
	}
	return true;
}

static int follow(const struct session *s, const struct launcher_ops *ops,
		  const struct launch_request *r, const struct conductor *c,
		  struct launch *l)
{
	const int64_t max_ns = s->spec.max_time_ns;
	const int64_t deadline_ns = max_ns ? clock_now_ns() + max_ns : 0;
	struct watch watch;
	struct launch_state last;
	enum follow_end end;
	char id[32];
	int code;

	if (s->spec.no_wait && launcher_is_job(ops)) {
		return print_job(ops, l, r->dir);
	}
	if (ops->job_id) {
		ops->job_id(l, id, sizeof(id));
		talk("job %s, run directory %s", id, r->dir);
	}
	end = follow_run(r->dir, r->probe, r->spec, ops, l, &watch, &last);
	if (end == FOLLOW_LEFT ||
	    (c && c->after && end == FOLLOW_OVER && watch.planned &&
	     watch.ended && !go_on(s, c, ops, r, l, deadline_ns))) {
		return leave(ops, l, r->dir);
	}
	if (c) {
		/* TERM was for what came before: the report is still to come */
		follow_hold_signals(SIG_BLOCK, NULL);
	}
	code = judge(s, r->dir, &watch, &last);
	follow_leave(ops, l);
	return code;
}

/** What the site expects of its hardware, if it says so. */
static int keep_site(const char *dir, const struct str *site, struct err *e)
{
	char path[PATH_MAX];
	FILE *f;
	bool bad;

	if (site->len == 0) {
		return 0;
	}
	if (rundir_path(dir, RUN_EXPECTED, path, e) < 0) {
		return -1;
	}
	f = fopen(path, "we");
	bad = !f || fputs(str_text(site), f) == EOF;
	bad = (f && fclose(f) == EOF) || bad;
	return bad ? err_set(e, errno, "cannot write '%s'", path) : 0;
}

/** Make the directory and put run.json into it; an exit code, 0 if done. */
static int prepare(const struct session *s, const char *probe,
		   const struct launcher_ops *ops, const char *drill,
		   const struct conductor *c, char dir[PATH_MAX])
{
	const char *wanted = s->spec.out[0] ? s->spec.out : NULL;
	struct str site = STR_INIT;
	struct err e = { 0 };
	json_t *json;
	int code = CODE_USAGE;

	json = run_json_new(s, probe, ops->name, drill, &e);
	if (!json || site_expected(&site, &e) < 0) {
		goto release;
	}
	if (c) {
		json_object_set_new(json, "conductor", json_string(c->name));
	}
	if (rundir_create(wanted, probe, dir, &e) < 0) {
		code = e.code == ENOTEMPTY ? CODE_USAGE : CODE_UNABLE;
		goto release;
	}
	code = rundir_write_json(dir, RUN_JSON, json, &e) == 0 &&
			       keep_site(dir, &site, &e) == 0 ?
		       CODE_HEALTHY : CODE_UNABLE;
release:
	json_decref(json);
	str_release(&site);
	return code == CODE_HEALTHY ? code : talk_fail(&e, code);
}

/** Several probes are conducted by a process of its own that somebody starts
 *  inside: a job of ours, or this one. */
static int check_conducted(const struct launcher_ops *ops,
			   struct err *e)
{
	if (!spec_launcher_is(ops->name, LAUNCHER_ONCE)) {
		return 0;
	}
	err_set(e, 0, "launcher '%s' starts agents for one probe only, not "
		"for several", ops->name);
	return err_hint(e, "run the probes one by one: gpucheck memlock, "
			"ping, ib, p2p, allreduce");
}

/** The steps here, inside an allocation or on this machine; then the report. */
static int conduct_here(const struct session *s, const struct conductor *c,
			const struct launcher_ops *ops,
			const struct launch_request *r)
{
	struct step_place place = place_of(s, ops, r);
	struct err e = { 0 };
	int code = CODE_UNABLE;

	if (conduct_run(c, &place, &e) == 0) {
		code = show_run(r->dir, &s->spec, &e);
	}
	if (e.text[0] && code != CODE_HEALTHY) {
		code = talk_fail(&e, code < 0 ? CODE_UNABLE : code);
	}
	talk("run directory: %s", r->dir);
	return code;
}

int probe_run_start(const struct session *s, const struct launcher_ops *ops,
		const struct launch_request *r, const struct conductor *c,
		struct err *e)
{
	struct launch *l = ops->start(r, e);
	int code;

	if (!l) {
		return -1;
	}
	code = follow(s, ops, r, c, l);
	ops->free(l);
	return code;
}

/** A directory that tells nothing, in the way of who types it once more. */
static int not_started(const struct launch_request *r, bool made,
		       const struct err *e)
{
	talk_fail(e, CODE_UNABLE);
	if (launch_is_unsure(e) || rundir_discard(r->dir, made) < 0) {
		talk("run directory: %s", r->dir);
	}
	return CODE_UNABLE;
}

int probe_run_check(const struct session *s, const struct launcher_ops *ops,
		const struct conductor *c, struct err *e)
{
	if (c && check_conducted(ops, e) < 0) {
		return CODE_USAGE;
	}
	if (ops->check && ops->check(&s->spec, e) < 0) {
		return CODE_USAGE;
	}
	/* one of the environment waits for its launcher */
	if (s->spec.no_wait && options_typed(s, "no-wait") &&
	    !s->spec.dry_run && !launcher_is_job(ops)) {
		err_set(e, 0, "--no-wait needs a batch job, and launcher '%s' "
			"submits none", ops->name);
		return CODE_USAGE;
	}
	return CODE_HEALTHY;
}

int probe_run(const struct session *s, const char *probe,
		  const char *drill, const struct conductor *c)
{
	char self[PATH_MAX], dir[PATH_MAX], why[320];
	struct launch_request request = {
		.self = self, .dir = dir, .probe = probe, .spec = &s->spec,
		.extra = s->extra, .inner = c ? CONDUCT_COMMAND : NULL,
	};
	const struct launcher_ops *ops;
	struct err e = { 0 };
	bool made;
	int code;

	if (s->plan) {
		return plan_show(s, probe, c);
	}
	ops = launcher_choose(&s->spec, why, sizeof(why), &e);
	if (!ops || spawn_self(self, sizeof(self), &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	code = probe_run_check(s, ops, c, &e);
	if (code != CODE_HEALTHY) {
		return talk_fail(&e, code);
	}
	if (s->spec.dry_run) {
		forecast_say(&s->spec, probe, ops->name, why);
		return describe(s, ops, &request, c);
	}
	made = !s->spec.out[0] || access(s->spec.out, F_OK) < 0;
	code = prepare(s, probe, ops, drill, c, dir);
	if (code != CODE_HEALTHY) {
		return code;
	}
	forecast_say(&s->spec, probe, ops->name, why);
	if (c && c->run && !launcher_is_job(ops)) {
		return conduct_here(s, c, ops, &request);
	}
	code = probe_run_start(s, ops, &request, c, &e);
	return code < 0 ? not_started(&request, made, &e) : code;
}

int probe_command(struct session *s,
		  int (*check)(struct session *s, struct str *drill,
			       struct err *e),
		  const struct conductor *c)
{
	struct str drill = STR_INIT;
	struct err e = { 0 };
	int rc = check ? check(s, &drill, &e) : spec_check(&s->spec, &e);
	int code = rc < 0 ? talk_fail(&e, CODE_USAGE) :
			    probe_run(s, s->argv[1], str_text(&drill), c);

	str_release(&drill);
	return code;
}
