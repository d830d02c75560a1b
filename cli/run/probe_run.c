/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of a probe command: check, prepare, start, follow, judge. */
#include "cli/run/probe_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/options.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/input.h"
#include "lib/base/limit.h"
#include "lib/base/spawn.h"
#include "lib/data/rundir.h"
#include "lib/data/switches.h"
#include "probes/probe.h"
#include "report/judge/tell.h"
#include "report/model/run.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/* ---- site ---------------------------------------------------------------- */

static int is_ini(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && str_ends(entry->d_name, ".ini");
}

/* Reads and checks the site's *.ini files in order of their names into @text;
 * "" if there are none.  The run keeps a copy, so that its report is the same
 * elsewhere.  Returns 0, or -1 with @e for an invalid file. */
static int site_expected(struct str *text, struct err *e)
{
	const char *dir = getenv(SITE_EXPECTED_ENV);
	struct dirent **list;
	int n, rc = 0;

	if (!dir || !dir[0]) {
		dir = SITE_EXPECTED_D;
	}
	n = scandir(dir, &list, is_ini, alphasort);
	if (n < 0) {
		return errno == ENOENT ? 0 : err_set(e, errno, "cannot read "
						     "'%s'", dir);
	}
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		struct expected x = { 0 };
		struct err why = { 0 };
		char *own = rc < 0 ? NULL :
			rundir_read_text(dir, name, EXPECTED_MAX_BYTES, NULL,
					 e);

		if (!own) {
			rc = -1;
		} else if (expected_parse(own, &x, &why) < 0) {
			rc = err_set(e, why.code, "%s/%s: %s", dir, name,
				     why.text);
			err_hint(e, "gpucheck(1), section FILES, lists the "
				    "keys");
		} else {
			str_addf(text, "; %s/%s\n%s\n", dir, name, own);
			rc = text->len < EXPECTED_MAX_BYTES ? 0 :
			     err_set(e, E2BIG, "more than %d bytes in '%s'",
				     EXPECTED_MAX_BYTES, dir);
		}
		expected_release(&x);
		free(own);
		free(list[i]);
	}
	free(list);
	return rc;
}

/* ---- switches ------------------------------------------------------------ */

/* Appends the file @path ("" = none), which lists the switch of each node
 * (lib/data/switches.h), to @text.  Returns 0, or -1 with @e if it lists no
 * node. */
static int site_switches(const char *path, struct str *text, struct err *e)
{
	struct switch_link *links;
	long n = 1;

	if (path[0] && input_read("list of switches", path, SWITCHES_MAX_BYTES,
				  text, e) < 0) {
		return -1;
	}
	if (path[0]) {
		n = switches_parse(str_text(text), text->len, &links);
		free(links);
	}
	if (n <= 0) {
		err_set(e, 0, "no node or HCA is connected to a switch in '%s'",
			path);
		return err_hint(e, "it should be Slurm's topology.conf, or what "
				   "'scontrol show topology' or ibnetdiscover "
				   "prints");
	}
	return 0;
}

/* ---- accept -------------------------------------------------------------- */

/* Appends the file @path of --accept ("" = none) to @text.  Returns 0, or -1
 * with @e if it cannot be read or has a wrong line. */
static int read_accept(const char *path, struct str *text, struct err *e)
{
	struct accept_test *list = NULL;
	struct err why = { 0 };
	size_t n = 0;
	int rc;

	if (!path[0]) {
		return 0;
	}
	if (input_read("file of --accept", path, ACCEPT_MAX_BYTES, text, e) <
	    0) {
		return -1;
	}
	rc = accept_parse(str_text(text), &list, &n, &why);
	free(list);
	if (rc == 0) {
		return 0;
	}
	err_set(e, why.code, "--accept=%s: %s", path, why.text);
	return err_hint(e, "gpucheck(1), section FILES, has the format");
}

/* ---- probe judge --------------------------------------------------------- */

/* Result of a run that was followed: its report, or why there is none. */

/** Last lines of job.out to show if a job had no results. */
#define TAIL_LINES 12
#define JOB_OUT_MAX (1024 * 1024)

/** Prints the end of the job's own output, if any. */
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

/** Why a run has not come as far as a plan, in one sentence. */
static void explain(const struct probe_start *t, const struct watch *w,
		    const struct launch_state *last, bool stopped,
		    struct err *e)
{
	const char *dir = t->r.dir;
	char path[PATH_MAX];
	struct statvfs fs;
	struct stat st;

	if (statvfs(dir, &fs) == 0 && fs.f_bavail == 0) {
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
	} else if (rundir_path(dir, RUN_JOB_OUT, path, NULL) == 0 &&
		   stat(path, &st) == 0 && st.st_size > 0) {
		/* the job, which ran on another node, wrote there */
		err_set(e, 0, "the job ended before an agent had started");
	} else {
		err_set(e, 0, "the job ended and wrote nothing to '%s'", dir);
		err_hint(e, "check that all nodes share this file system; "
			 "choose another directory with -o");
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
	char word[2 * PATH_MAX];
	int code = CODE_UNABLE;

	if (t->ops->end) {
		t->ops->end(l, last);
	}
	if (!run_json_error(run, &code, NULL, &e)) {
		explain(t, w, last, stopped, &e);
		found_blame(dir, t->ops, l, &e);
	}
	json_decref(run);
	talk_err(&e);
	if (w->waits) {
		/* a --resume that has measured nothing leaves the run as it
		 * was; job.out may be an older job's */
		if (last->exit_code > 0) {
			talk_job_out(dir);
		}
		talk_hint("nothing has changed in it; its result: \"gpucheck "
			  "report %s\"",
			  str_quoted_dir(dir, word, sizeof(word)));
		/* a job that is still queued or running may begin */
		if (!launcher_is_job(t->ops) || last->phase == LAUNCH_ENDED ||
		    w->ended) {
			rundir_remove(dir, RUN_RESUME);
		}
		return t->s->spec.json ? show_failure(dir, t->s, &e, code) :
					 code;
	}
	/* for later readers and the run above; if it cannot be written, the
	 * message has to do */
	run_error_note(dir, &e, code);
	show_nothing(dir, t->s, &e, code);
	if (!stopped) {
		if (last->text[0] && !last->cut) {
			talk("%s", last->text);
		}
		talk_job_out(dir);
	}
	return code;
}

/* Prints the verdict, or why there is none, and what to do, once following
 * has ended by @end.  @w and @last are the state seen last.  Returns an exit
 * code. */
static int probe_run_judge(const struct probe_start *t, struct launch *l,
			   const struct watch *w, struct launch_state *last,
			   enum follow_end end)
{
	const struct session *s = t->s;
	const char *dir = t->r.dir;
	struct err e = { 0 };
	json_t *run;
	bool nodes;
	int code;

	if (access(dir, F_OK) < 0) {
		err_set(&e, 0, "the run directory '%s' was moved or removed "
			"during the run", dir);
		err_hint(&e, "for the results so far: \"gpucheck report NEW\", "
			 "where NEW is its new name");
		talk_err(&e);
		return show_nothing(NULL, s, &e, CODE_UNABLE);
	}
	if (w->planned) {
		found_note_end(dir, t->ops, l);
		code = show_run(dir, &s->spec, &e);
		code = code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
		if (!w->ended && end != FOLLOW_LOST && last->text[0]) {
			talk("%s", last->text);
		}
	} else if (!w->waits && run_json_failed(dir, &code, NULL, &e)) {
		/* the coordinator gave up before it planned a test: show what
		 * nodes that did report say about it, and why others did not;
		 * JSON has the error as the reason instead */
		run = rundir_read_json(dir, RUN_JSON, NULL);
		nodes = json_array_size(run_file(run).nodes) > 0 ||
			!s->spec.json;
		json_decref(run);
		if (!nodes || show_run(dir, &s->spec, NULL) < 0) {
			talk_err(&e);
			show_nothing(dir, s, &e, code);
		}
	} else {
		return came_to_nothing(t, l, w, last, end == FOLLOW_STOPPED);
	}
	talk("run directory: %s", dir);
	resume_say_how(dir, code);
	return code;
}

/* ---- probe run ----------------------------------------------------------- */

/** Longer than what comes after a run in its job, and than Slurm's patience. */
#define DIAGNOSE_WAIT_NS (600 * NS_PER_S)
/** Maximum bytes of RUN_ABSENT that a step takes over. */
#define ABSENT_MAX (16 << 20)

static struct step_place place_of(const struct probe_start *t)
{
	const struct launcher_ops *inside = t->ops->inside;

	return (struct step_place){
		.self = t->self, .dir = t->r.dir, .whole = t->r.dir,
		.spec = t->r.spec,
		.commands = t->s->commands,
		.launcher = inside ? inside->name : t->ops->name,
		.extra = inside ? NULL : t->r.extra,
	};
}

/** Print a step.  @arg, a bool: the script of a job starts it, so that it is a
 *  comment. */
static void describe_step(void *arg, const char *probe,
			  const struct args *line, const char *why_not)
{
	const bool *in_job = arg;
	struct str out = STR_INIT;

	if (!line) {
		printf("# no %s: %s\n", probe, why_not);
		return;
	}
	args_line(line, &out);
	printf("%s%s\n", *in_job ? "# " : "", str_text(&out));
	str_release(&out);
}

int probe_run_describe(const struct probe_start *t, struct err *e)
{
	const struct step_place place = place_of(t);
	const struct conductor *c = t->c && !t->c->after ? t->c : NULL;
	struct str text = STR_INIT;
	bool in_job = launcher_is_job(t->ops);
	int rc = 0;

	if (!c || in_job) {
		rc = t->ops->describe(&t->r, &text, e);
	}
	fputs(rc == 0 ? str_text(&text) : "", stdout);
	if (c && rc == 0) {
		fputs(in_job ? "# which starts:\n" : "", stdout);
		c->each(&place, describe_step, &in_job);
	}
	str_release(&text);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}

/** --dry-run: nothing is made, so the directory is only a name. */
static int describe(struct probe_start *t, struct err *e)
{
	char cwd[PATH_MAX], dir[2 * PATH_MAX];
	const char *out = t->s->spec.out[0] ? t->s->spec.out :
					      "gpucheck-dry-run";

	if (!getcwd(cwd, sizeof(cwd))) {
		err_set(e, errno, "cannot name the working directory");
		return CODE_UNABLE;
	}
	snprintf(dir, sizeof(dir), "%s%s%s", out[0] == '/' ? "" : cwd,
		 out[0] == '/' ? "" : "/", out);
	t->r.dir = dir;
	return probe_run_describe(t, e);
}

/** "stopped following; job 5 still runs. Cancel: scancel 5"; @code. */
static int leave(const char *what, const char *state,
		 const struct probe_start *t, const struct launch *l, int code)
{
	const struct spec *s = &t->s->spec;
	const char *id = launcher_job_id(t->ops, l);
	struct str line = STR_INIT;
	char word[2 * PATH_MAX];

	talk("%s; %s%s %s. Cancel: %s%s", what, id[0] ? "job " : "the job", id,
	     state, t->ops->cancel ? t->ops->cancel : "", id);
	if (s->metrics[0]) {
		str_add(&line, "--metrics=");
		str_add_quoted(&line, s->metrics);
		str_addch(&line, ' ');
	}
	if (s->history[0]) {
		str_add(&line, "--history=");
		str_add_quoted(&line, s->history);
		str_addch(&line, ' ');
	}
	talk_hint("to follow it to its result%s: \"gpucheck attach %s%s\"",
		  line.len ? ", and write that" : "", str_text(&line),
		  str_quoted_dir(t->r.dir, word, sizeof(word)));
	str_release(&line);
	return code;
}

/** Runs the steps that follow a run of one probe that ended in order.  Returns
 *  false if the user chose to stop following the job that runs them. */
static bool go_on(const struct probe_start *t, struct launch *l,
		  int64_t deadline_ns)
{
	const int64_t most_ns = clock_now_ns() + DIAGNOSE_WAIT_NS;
	struct step_place place = place_of(t);
	struct launch_state st = { 0 };
	struct err e = { 0 };
	bool asked = false;
	sigset_t before;

	if (!diagnose_wanted(place.dir)) {
		return true;
	}
	if (!launcher_is_job(t->ops)) {
		follow_leave(t->ops, l);	/* before others run in its
						 * place */
		place.deadline_ns = deadline_ns;
		if (conduct_run(t->c, &place, &e) < 0) {
			talk_err(&e);	/* the run itself is whole */
		}
		return true;
	}
	talk("waiting for the diagnosis of failed pairs");
	follow_hold_signals(&before);
	while (!asked && clock_now_ns() < most_ns &&
	       (t->ops->poll(l, &st, NULL) < 0 || st.phase != LAUNCH_ENDED)) {
		asked = follow_take_signal(NS_PER_S);
	}
	follow_release_signals(&before);
	watch_refresh(place.dir);
	return !asked;
}

/** @before: the signals as they were before they were held. */
static int follow(const struct probe_start *t, struct launch *l,
		  const sigset_t *before)
{
	const struct spec *s = &t->s->spec;
	const int64_t deadline_ns =
		s->max_time_ns ? clock_now_ns() + s->max_time_ns : 0;
	const struct launcher_ops *ops = t->ops;
	const char *dir = t->r.dir;
	struct watch watch;
	struct launch_state last;
	enum follow_end end;
	struct err why = { 0 };
	int code;

	if (s->no_wait && launcher_is_job(ops)) {
		/* the directory and the job, a line each */
		printf("%s\n%s%s", dir, launcher_job_id(ops, l),
		       ops->job_id ? "\n" : "");
		return leave("not waiting", "is submitted", t, l, CODE_HEALTHY);
	}
	if (ops->job_id) {
		talk("job %s, run directory %s", ops->job_id(l), dir);
	}
	end = follow_run(dir, t->r.probe, t->r.spec, ops, l, &watch, &last);
	follow_release_signals(before);
	if (end == FOLLOW_LEFT ||
	    (t->c && t->c->after && end == FOLLOW_OVER && watch.planned &&
	     watch.ended && !go_on(t, l, deadline_ns))) {
		return leave("stopped following", last.phase == LAUNCH_PENDING ?
			     "still waits" : "still runs", t, l, CODE_PARTIAL);
	}
	if (t->c) {
		/* TERM was for what came before: the report is still to come */
		follow_hold_signals(NULL);
	}
	if (end == FOLLOW_LOST && launcher_is_job(ops)) {
		const char *job = launcher_job_id(ops, l);

		talk("%s%s may still hold its nodes. Cancel: %s%s",
		     job[0] ? "job " : "the job", job, ops->cancel, job);
	}
	if (watch.planned && watch.ended &&
	    spec_launcher_is(ops->name, LAUNCHER_SLURM) &&
	    slurm_note_lost(dir, &why) < 0) {
		talk("cannot ask Slurm about lost nodes: %s",
		     why.text);
	}
	code = probe_run_judge(t, l, &watch, &last, end);
	follow_leave(ops, l);
	/* a process that still writes there may leave half-written files */
	if (watch.ended || last.phase == LAUNCH_ENDED ||
	    !launcher_is_job(ops)) {
		rundir_sweep(dir);
	}
	return code;
}

int probe_run_prepare(const struct probe_start *t, const char *drill,
		      char dir[PATH_MAX], struct err *e)
{
	const char *wanted = t->s->spec.out[0] ? t->s->spec.out : NULL;
	json_t *json = run_json_new(t->s, t->r.probe, t->ops->name, drill, e);
	/* the site's expected values, and which node is connected to which
	 * switch; "" = none */
	struct str site = STR_INIT, switches = STR_INIT, accept = STR_INIT;
	int code = CODE_USAGE;

	if (!json || site_expected(&site, e) < 0 ||
	    site_switches(t->s->spec.switches, &switches, e) < 0 ||
	    read_accept(t->s->spec.accept, &accept, e) < 0) {
		goto release;
	}
	if (t->c) {
		json_object_set_new(json, "conductor", json_string(t->c->name));
	}
	if (rundir_create(wanted, t->r.probe, dir, e) < 0) {
		code = e->code == ENOTEMPTY ? CODE_USAGE : CODE_UNABLE;
	} else if (rundir_write_json(dir, RUN_JSON, json, e) < 0 ||
		   (site.len > 0 &&
		    rundir_write_text(dir, RUN_EXPECTED, str_text(&site), 0666,
				      e) < 0) ||
		   (switches.len > 0 &&
		    rundir_write_text(dir, RUN_SWITCHES, str_text(&switches),
				      0666, e) < 0) ||
		   (accept.len > 0 &&
		    rundir_write_text(dir, RUN_ACCEPT, str_text(&accept), 0666,
				      e) < 0)) {
		code = CODE_UNABLE;
	} else {
		code = CODE_HEALTHY;
	}
release:
	json_decref(json);
	str_release(&site);
	str_release(&switches);
	str_release(&accept);
	return code;
}

int probe_run_start(const struct probe_start *t, struct err *e)
{
	const char *whole = getenv(STEP_WHOLE_ENV);
	const struct spec *s = &t->s->spec;
	const int64_t nodes = s->local_nodes ? s->local_nodes : 1;
	const int64_t hosted = spec_hosted(s);
	struct step_place place = place_of(t);
	char *text;
	struct err why = { 0 };
	struct launch *l;
	sigset_t before;
	int code = -1;

	if (t->c && !t->c->after && !launcher_is_job(t->ops)) {
		/* the steps here, inside an allocation or on this machine; then
		 * the report */
		if (conduct_run(t->c, &place, &why) == 0) {
			code = show_run(place.dir, s, &why);
		}
		if (why.text[0] && code != CODE_HEALTHY) {
			talk_err(&why);
		}
		if (code < 0) {
			code = show_nothing(place.dir, t->s, &why, CODE_UNABLE);
		}
		talk("run directory: %s", place.dir);
		resume_say_how(place.dir, code);
		return code;
	}
	/* the limits of a coordinator that will run on this machine */
	if (s->local && coordinator_check_files(
				(int)((nodes + hosted - 1) / hosted), e) < 0) {
		return -1;
	}
	/* hold signals, so that a half-started run is stopped as well */
	follow_hold_signals(&before);
	/* forget nodes that an earlier start lost, and take over those of the
	 * run that this one is a part of */
	text = whole ? rundir_read_text(whole, RUN_ABSENT, ABSENT_MAX, NULL,
					NULL) : NULL;
	if (text) {
		rundir_write_text(t->r.dir, RUN_ABSENT, text, 0666, NULL);
	} else {
		rundir_remove(t->r.dir, RUN_ABSENT);
	}
	free(text);
	l = launcher_start(t->ops, &t->r, e);
	if (!l) {
		follow_release_signals(&before);
		return -1;
	}
	code = follow(t, l, &before);
	launcher_free(t->ops, l);
	return code;
}

/** Checks that the launcher supports the requested options.  Returns
 *  CODE_HEALTHY, else CODE_USAGE with @e. */
static int check_launcher(const struct probe_start *t, struct err *e)
{
	static const char *const kept[] = {
		"metrics", "history", "junit", NULL
	};
	const struct spec *s = &t->s->spec;
	const bool no_wait = s->no_wait && options_typed(t->s, "no-wait");
	const int percent = t->c && t->c->least_percent ?
				    t->c->least_percent : 100;

	/* "attach" writes what is typed with --no-wait.  Settings of a file are
	 * not refused. */
	for (int i = 0; no_wait && kept[i]; i++) {
		if (options_typed(t->s, kept[i])) {
			err_set(e, 0, "--no-wait does not go with --%s: a job "
				"that never starts could not write it",
				kept[i]);
			err_hint(e, "leave out --no-wait, or wait with "
				 "\"gpucheck attach --%s=... DIR\"", kept[i]);
			return CODE_USAGE;
		}
	}
	/* several probes are conducted by a process inside the job or on this
	 * machine */
	if (t->c && spec_launcher_is(t->ops->name, LAUNCHER_ONCE)) {
		err_set(e, 0, "launcher '%s' starts agents for one probe only, "
			"not for several", t->ops->name);
		err_hint(e, "run the probes one by one: %s memlock, then "
			 "ping, ib, gpu, p2p, allreduce%s",
			 TELL_BY_OTHERS, TELL_LEGEND);
		return CODE_USAGE;
	}
	if (budget_check(s, percent, e) < 0 ||
	    launcher_check(t->ops, s, e) < 0) {
		return CODE_USAGE;
	}
	/* one of the environment waits for its launcher */
	if (no_wait && !s->dry_run && !launcher_is_job(t->ops)) {
		err_set(e, 0, "--no-wait needs a batch job, and launcher '%s' "
			"submits none", t->ops->name);
		return CODE_USAGE;
	}
	return CODE_HEALTHY;
}

int probe_run_choose(struct probe_start *t, const struct session *s,
		     const char *probe, const struct conductor *c,
		     struct err *e)
{
	const struct probe *p = probe_find(probe);

	*t = (struct probe_start){
		.s = s, .c = c,
		/* a probe that asks nodes what they have, or goes by their
		 * ports, is right on those without GPUs, too */
		.r = { .self = t->self, .probe = probe, .spec = &s->spec,
		       .any_node = p && (p->kind == PROBE_NODES || p->ports),
		       .light = p && p->light && !c,
		       .extra = s->extra, .inner = c ? CONDUCT_COMMAND : NULL },
	};
	t->ops = launcher_choose(&s->spec, t->why, sizeof(t->why), e);
	return !t->ops || spawn_self(t->self, sizeof(t->self), e) < 0 ?
		       CODE_UNABLE : check_launcher(t, e);
}

/** A job without a time limit of the user asks for the worst case of a healthy
 *  run this many times, since timeouts and second attempts add to it, and for
 *  this many minutes at least. */
#define JOB_TIMES	 3
#define JOB_LEAST_MINUTES 30

/** Worst case of a healthy run of @probe with @s, with its start and the layers
 *  of failed pairs, in seconds; NAN: not known. */
static double worst_case(const struct spec *s, const struct probe *probe,
			 const char *launcher)
{
	struct forecast f;
	double worst_s;

	forecast_make(s, probe, launcher, FORECAST_RANKS, &f);
	worst_s = isnan(f.most_s) ? f.time_s : f.most_s;
	worst_s += (isnan(f.retry_s) ? 0 : f.retry_s) +
		   (isnan(f.follow_s) ? 0 : f.follow_s) +
		   (isnan(f.diagnose_s) ? 0 : f.diagnose_s);
	forecast_release(&f);
	if (isnan(worst_s) && probe->kind == PROBE_NODES) {
		/* its children are killed then */
		worst_s = (double)probe_limit_ns(probe, s) / NS_PER_S /
			  JOB_TIMES;
	}
	return worst_s + (double)spec_boot_ns(s) / NS_PER_S;
}

/** Add the worst case of a step, by its command line, to that of @arg, a
 *  probe_start. */
static void add_worst(void *arg, const char *probe, const struct args *line,
		      const char *why_not)
{
	struct probe_start *t = arg;
	struct session s = { .whole = true };

	(void)why_not;
	if (!line) {
		return;
	}
	s.argc = (int)line->n;
	s.argv = line->argv;
	t->worst_s += options_parse(&s, command_find(t->s->commands, probe),
				    NULL) == 0 ?
			      worst_case(&s.spec, probe_find(probe),
					 t->ops->name) : NAN;
	options_release(&s);
}

void probe_run_limit(struct probe_start *t)
{
	const struct spec *s = &t->s->spec;
	struct step_place place = place_of(t);
	int64_t most;
	bool answers;

	if (!t->ops->job_id) {
		return;		/* it submits none */
	}
	most = slurm_fit_minutes(&t->r, &answers);
	if (s->dry_run && !answers && !t->r.light && !s->gpus_per_node) {
		talk("Slurm does not answer: the number of GPUs per node is "
		     "unknown, and the script requests none (no --gres)");
		talk_hint("-G 8 requests 8 GPUs per node");
	}
	if (t->c && t->c->each) {
		place.takes = t->c->takes;
		place.dir = place.whole = t->r.dir ? t->r.dir : "";
		t->c->each(&place, add_worst, t);
	} else if (s->jobs != JOBS_PAIRS) {
		t->worst_s = worst_case(s, probe_find(t->r.probe),
					t->ops->name);
	}
	if (s->max_time_ns || s->deadline_ns ||
	    slurm_fit_asked(t->r.extra, "time", 't', "SBATCH_TIMELIMIT") ||
	    (isnan(t->worst_s) && most == 0)) {
		return;		/* of the user; or as long as it needs */
	}
	t->r.minutes = isnan(t->worst_s) ? most :
		       (int64_t)fmax(JOB_LEAST_MINUTES,
				     ceil(JOB_TIMES * t->worst_s / 60));
	if (most > 0 && t->r.minutes > most) {
		t->r.minutes = most;
	}
	talk("%s for a time limit of %" PRId64 " min (%s); "
	     "\"-- --time=MINUTES\" sets another",
	     s->jobs == JOBS_PAIRS ? "each job asks" : "the job asks",
	     t->r.minutes,
	     t->r.minutes == most ? "the partition's maximum" :
	     t->r.minutes == JOB_LEAST_MINUTES ? "the usual minimum" :
	     "three times the worst-case forecast");
}

/** The run, its options checked, with the text of the drill file @drill. */
static int run(struct session *s, const char *probe, const char *drill,
	       const struct conductor *c)
{
	struct str left_out = STR_INIT;
	struct probe_start t;
	char dir[PATH_MAX];
	struct err e = { 0 };
	bool made = !s->spec.out[0] || access(s->spec.out, F_OK) < 0;
	char who[64];
	int code, claim;

	if (s->plan) {
		return plan_show(s, probe, c);
	}
	code = probe_run_choose(&t, s, probe, c, &e);
	if (code == CODE_HEALTHY) {
		budget_fit(&s->spec, probe_find(probe), t.ops->name, &left_out);
	}
	if (code == CODE_HEALTHY && !s->spec.dry_run) {
		code = probe_run_prepare(&t, drill, dir, &e);
		t.r.dir = dir;
	}
	if (code != CODE_HEALTHY) {
		str_release(&left_out);
		talk_err(&e);
		return code == CODE_UNABLE && !s->spec.dry_run ?
			       show_nothing(NULL, s, &e, code) : code;
	}
	forecast_say(&s->spec, probe, t.ops->name, t.why);
	probe_run_limit(&t);
	if (left_out.len > 0) {
		talk("--time-budget: %s", str_text(&left_out));
	}
	str_release(&left_out);
	if (s->spec.dry_run) {
		code = describe(&t, &e);
		return code ? talk_fail(&e, code) : code;
	}
	rundir_claim(dir, &claim, who, sizeof(who));	/* it is new */
	code = probe_run_start(&t, &e);
	if (code < 0) {
		talk_err(&e);
		code = show_nothing(dir, s, &e, CODE_UNABLE);
		/* an empty directory would be in the way of a second try */
		if (launch_is_unsure(&e) || rundir_discard(dir, made) < 0) {
			talk("run directory: %s", dir);
		}
	}
	rundir_unclaim(dir, claim);
	return code;
}

int probe_run(struct session *s,
	      int (*check)(struct session *s, struct str *drill,
			   struct err *e),
	      const struct conductor *c)
{
	struct str drill = STR_INIT;
	struct err e = { 0 };
	int rc = check ? check(s, &drill, &e) : spec_check(&s->spec, &e);
	int code = rc < 0 ? talk_fail(&e, CODE_USAGE) :
			    run(s, s->argv[1], str_text(&drill), c);

	str_release(&drill);
	return code;
}
