/* SPDX-License-Identifier: BSD-3-Clause */
/* Run one step of a larger run as a process of its own. */
#include "cli/run/probe_run.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/ahead.h"
#include "cli/front/help.h"
#include "cli/front/follow.h"
#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/data/rundir.h"
#include "probes/probe.h"
#include "report/model/run.h"
#include "sbatch/launcher.h"

/** Time for a run past its deadline to give up its tasks and report. */
#define GRACE_NS  (60 * NS_PER_S)
/** To judge and draw a run of thousands of ranks. */
#define REPORT_NS (300 * NS_PER_S)
/** With less left than that a step does not start; with less than a second,
 *  the least --time-limit, it is given that. */
#define LEAST_NS  (500 * NS_PER_MS)
/** From KILL to the end of the process. */
#define KILL_NS	  (10 * NS_PER_S)
#define LOOK_NS	  (10 * NS_PER_MS)
#define LOG_MAX	  (1024 * 1024)
/** The text of the whole's --inject. */
#define DRILL_FILE "drill"

/** Options that are about the whole run, so no step's; @launcher and time-limit
 *  it gets from us. */
static const char *const own_options[] = {
	"out", "json", "csv", "quiet", "color", "progress", "dry-run",
	"no-wait", "launcher", "time-limit", "time-budget", "history",
	"metrics", "junit", NULL
};

/** Beyond the time that its own front needs to end a run that is lost. */
#define PATIENCE_NS (120 * NS_PER_S)

/** The process of a step, followed as a launched run is. */
struct launch {
	struct launch_child child;
	int64_t deadline_ns;	/* 0 = none */
	bool late;
};

static int step_poll(struct launch *l, struct launch_state *st, struct err *e)
{
	(void)e;
	*st = (struct launch_state){ .phase = LAUNCH_RUNNING,
				     .exit_code = -1 };
	if (launch_child_ended(&l->child)) {
		st->phase = LAUNCH_ENDED;
		st->exit_code = l->child.exit_code;
	} else if (l->deadline_ns && clock_now_ns() > l->deadline_ns) {
		launch_child_signal(&l->child, l->late ? SIGKILL : SIGTERM);
		l->deadline_ns = clock_now_ns() + GRACE_NS;
		l->late = true;
	}
	return 0;
}

/** TERM once: in order; twice: at once, its agents killed. */
static void step_stop(struct launch *l, bool hard)
{
	(void)hard;
	launch_child_signal(&l->child, SIGTERM);
}

static const struct launcher_ops launcher_step = {
	.name = "step",
	.poll = step_poll,
	.stop = step_stop,
	.patience_ns = PATIENCE_NS,
};

/** The option as @text would set it again: "--NAME=VALUE" for each line, for a
 *  list has more than one; as often as it counts. */
static void add_option(struct args *a, const struct spec_option *o,
		       const char *text)
{
	bool bare = o->type == SPEC_FLAG || o->type == SPEC_COUNT || !text[0];
	long times = o->type == SPEC_COUNT ? strtol(text, NULL, 10) : 1;

	for (long i = 0; bare && i < times; i++) {
		args_addf(a, "--%s", o->name);
	}
	while (!bare && *text) {
		int len = (int)strcspn(text, "\n");

		args_addf(a, "--%s=%.*s", o->name, len, text);
		text += len + (text[len] == '\n');
	}
}

int step_prepare(struct step_place *place, struct err *e)
{
	const bool again = rundir_has(place->dir, RUN_RESUME);
	json_t *run = rundir_read_run(place->dir, e);
	int rc = run ? 0 : -1;

	if (rc == 0 && again &&
	    (rc = rundir_write_json(place->dir, RUN_JSON, run, e)) == 0) {
		rundir_remove(place->dir, RUN_RESUME);
	}
	if (rc == 0 && place->spec->faults[0]) {
		rc = rundir_write_text(place->dir, DRILL_FILE,
				       run_file(run).drill_text, 0666, e);
	}
	place->submitted = strcmp(run_file(run).launcher,
				  place->launcher) != 0;
	json_decref(run);
	return rc;
}

/** The options of the whole that the command of @r knows. */
static void hand_on(const struct step_place *place, const struct step *r,
		    struct args *a)
{
	const struct command *cmd = command_find(place->commands, r->command);
	const struct probe *probe = probe_find(r->command);
	char text[SPEC_VALUE_MAX], dir[PATH_MAX];
	int none;

	for (const struct spec_option *o = spec_options; o->name; o++) {
		const struct spec_word *w;

		spec_text(place->spec, o, text, sizeof(text));
		w = o->words ? spec_word(o, text) : NULL;
		if (spec_is_default(place->spec, o) ||
		    !options_apply(cmd, o) ||
		    (w && !spec_word_of(w, cmd->takes)) ||
		    str_index(own_options, o->name) >= 0 ||
		    (r->without && str_index(r->without, o->name) >= 0)) {
			continue;
		}
		if (strcmp(o->name, "inject") == 0) {
			args_addf(a, "--inject=%s/" DRILL_FILE, place->whole);
		} else if (strcmp(o->name, "reference") == 0) {
			/* that of this probe; a name or a table is for
			 * collectives */
			none = reference_find(text, r->command, dir, NULL);
			if (none == 0) {
				args_addf(a, "--reference=%s", dir);
			} else if (none > 0 &&
				   probe->kind == PROBE_COLLECTIVE) {
				args_addf(a, "--reference=%s", text);
			}
		} else {
			add_option(a, o, text);
		}
	}
}

void step_args(const struct step_place *place, const struct step *r,
	       int64_t left_ns, struct args *a)
{
	char text[32];

	args_add(a, place->self);
	args_add(a, r->command);
	args_addf(a, "--launcher=%s", place->launcher);
	if (!r->resumes) {
		hand_on(place, r, a);
	}
	for (const char *const *o = r->options; o && *o && !r->resumes; o++) {
		args_add(a, *o);
	}
	if (left_ns) {
		args_addf(a, "--time-limit=%s",
			  units_duration_arg(left_ns, text, sizeof(text)));
	}
	if (place->spec->budget_ns && r->share_percent && !r->resumes) {
		args_addf(a, "--time-budget=%s", units_duration_arg(
				  place->spec->budget_ns / 100 *
				  r->share_percent, text, sizeof(text)));
	}
	args_addf(a, "--%s=%s/%s", r->resumes ? "resume" : "out", place->dir,
		  r->name);
	if (place->extra && *place->extra) {
		args_add(a, "--");
		args_add_all(a, place->extra);
	}
}

/** logs/NAME.txt, below the directory of the whole; returns @name. */
static const char *log_name(const struct step *r, char name[NAME_MAX])
{
	snprintf(name, NAME_MAX, "%s/%s.txt", RUN_LOGS, r->name);
	return name;
}

static int start(const struct step_place *place, const struct step *r,
		 int64_t left_ns, struct launch *l, struct err *e)
{
	struct args a = { 0 }, env = { 0 };
	char name[NAME_MAX], variable[64];
	int rc;

	step_args(place, r, left_ns, &a);
	/* the environment, less the options that the step is handed; a list
	 * is not read from there, and GPUCHECK_NCCL_LIB is for the agents */
	for (const struct spec_option *o = spec_options; o->name; o++) {
		const bool handed = (o->commands & place->takes) &&
				    o->type != SPEC_LIST;

		if (handed) {
			args_add(&env, options_env_name(o->name, variable,
							sizeof(variable)));
		}
		if (handed && o->was) {
			args_add(&env, options_env_name(o->was, variable,
							sizeof(variable)));
		}
	}
	args_add(&env, CONFIG_ENV "=" CONFIG_NONE);	/* it is told all */
	if (place->submitted) {
		args_addf(&env, "%s=%s", STEP_SHELL_ENV, place->whole);
	}
	args_addf(&env, "%s=%s", STEP_WHOLE_ENV, place->whole);
	/* its output is kept in a file */
	args_add(&env, "GPUCHECK_COLOR=never");
	args_add(&env, "GPUCHECK_PROGRESS=never");
	for (const char *const *v = r->env; v && *v; v++) {
		args_add(&env, *v);
	}
	rc = launch_child_start(&l->child, &a, &env, -1, place->dir,
				log_name(r, name), e);
	args_release(&env);
	args_release(&a);
	return rc;
}

/** Takes the last error message of the step's output, for a step that left none
 *  in run.json.  Returns false if there is none. */
static bool last_error(const struct step_place *place, const struct step *r,
		       struct err *e)
{
	static const char error[] = "gpucheck: ", hint[] = "hint: ";
	char name[NAME_MAX], *text, *next, *line;
	bool found = false;

	text = rundir_read_text(place->dir, log_name(r, name), LOG_MAX, NULL,
				NULL);
	next = text;
	while (next && (line = strsep(&next, "\n"))) {
		if (str_starts(line, hint)) {
			err_hint(e, "%s", line + strlen(hint));
		} else if (str_starts(line, error) &&
			   !str_starts(line, "gpucheck: run directory")) {
			err_set(e, 0, "%s", line + strlen(error));
			found = true;
		}
	}
	free(text);
	return found;
}

/** How it came out, from its exit code and its files. */
static void judge(const struct step_place *place, const struct step *r,
		  const struct launch *l, struct step_end *end)
{
	char dir[PATH_MAX];
	const char *says;
	int code = l->child.exit_code, unused;

	if (rundir_path(place->dir, r->name, dir, &end->why) < 0) {
		return;
	}
	end->verdict = rundir_read_json(dir, RUN_VERDICT, NULL);
	end->code = code;
	if (place->stopped && code == 128 + SIGTERM) {
		/* it had not come as far as to answer that */
		end->code = CODE_PARTIAL;
		err_set(&end->why, 0, "stopped at its start");
	} else if (!l->child.ended || code < 0 || code > CODE_PARTIAL) {
		end->code = CODE_UNABLE;
		err_set(&end->why, 0, code > 128 ? "gpucheck %s was ended by "
			"signal %d" : "gpucheck %s ended with code %d",
			r->command, code > 128 ? code - 128 : code);
		err_hint(&end->why, "its output is in %s/%s.txt", RUN_LOGS,
			 r->name);
	} else if (code == CODE_USAGE || code == CODE_UNABLE) {
		/* a step with a verdict has not failed, but has nothing to
		 * show */
		if (!run_json_failed(dir, &unused, &end->absent, &end->why) &&
		    (end->verdict || !last_error(place, r, &end->why))) {
			says = run_entry(verdict_file(end->verdict).findings,
					 0).says;
			err_set(&end->why, 0, "%s", says && says[0] ? says :
				"it could not measure anything");
		}
	}
	if (place->stopped && end->code == CODE_UNABLE && !end->absent) {
		/* by us, which says nothing about the cluster */
		end->code = CODE_PARTIAL;
		end->ran = end->verdict != NULL;
		end->why = (struct err){ 0 };
		err_set(&end->why, 0, "stopped before it measured anything");
	}
}

/** Follow the run of a step to its end, and wait for its report.  TERM would
 *  stop the report, so it is only sent if the step has more to do.  A second
 *  request to stop does not wait for the report either. */
static void follow(struct step_place *place, const struct step *r,
		   struct launch *l)
{
	struct spec s = *place->spec;
	struct launch_state last;
	struct watch watch;
	char dir[PATH_MAX];
	int64_t deadline_ns;
	bool hard = false;

	s.quiet = s.quiet || r->quiet;
	if (rundir_path(place->dir, r->name, dir, NULL) == 0 &&
	    follow_run(dir, r->name, &s, &launcher_step, l, &watch, &last) ==
		    FOLLOW_STOPPED) {
		place->stopped = true;
	}
	deadline_ns = clock_now_ns() + REPORT_NS;
	while (!hard && !launch_child_ended(&l->child)) {
		if (clock_now_ns() > deadline_ns) {
			hard = true;
		} else if (!follow_take_signal(LOOK_NS)) {
			continue;
		} else if (place->stopped) {
			talk("stopping at once");
			hard = true;
		} else {
			place->stopped = true;
			talk("stopping after the report; finished tests are "
			     "kept (again: stop at once)");
			if (r->goes_on) {
				launch_child_signal(&l->child, SIGTERM);
			}
		}
	}
	if (hard) {
		launch_child_signal(&l->child, SIGKILL);
	}
	deadline_ns = clock_now_ns() + KILL_NS;
	while (!launch_child_ended(&l->child) &&
	       clock_now_ns() < deadline_ns) {
		/* more signals ask for no more than this */
		follow_take_signal(LOOK_NS);
	}
	launch_child_end(&l->child);
}

void step_run(struct step_place *place, const struct step *r,
	      struct step_end *end)
{
	const int64_t now = clock_now_ns();
	/* in a unit that people can read in its command line */
	int64_t left = place->deadline_ns ? (place->deadline_ns - now) /
					    NS_PER_MS * NS_PER_MS : 0;
	struct launch l = { .deadline_ns = left ? place->deadline_ns +
					   GRACE_NS : 0 };

	*end = (struct step_end){ .code = CODE_PARTIAL };
	place->stopped = place->stopped || follow_take_signal(0);
	if (place->stopped) {
		err_set(&end->why, 0, "stopped before it began");
		return;
	}
	if (place->deadline_ns && left < LEAST_NS) {
		err_set(&end->why, 0, "no time was left");
		err_hint(&end->why, "--time-limit is the limit of all probes "
			 "together");
		return;
	}
	end->code = CODE_UNABLE;
	left = left && left < NS_PER_S ? NS_PER_S : left;
	if (start(place, r, left, &l, &end->why) < 0) {
		return;
	}
	end->ran = true;
	follow(place, r, &l);
	judge(place, r, &l, end);
	end->wall_s = (double)(clock_now_ns() - now) / (double)NS_PER_S;
}
