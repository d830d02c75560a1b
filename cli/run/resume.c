/* SPDX-License-Identifier: BSD-3-Clause */
/* --resume: continue a run that ended early. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/options.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/input.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/* ---- resume options ------------------------------------------------------ */

/* Options of a run that is continued: those of its first start, except a
 * few. */

/** "--seed=2", "--bidi" */
static void name_option(const struct spec *s, const struct spec_option *o,
			char *buf, size_t size)
{
	char value[PATH_MAX];

	spec_text(s, o, value, sizeof(value));
	if (o->type == SPEC_FLAG || !value[0]) {
		snprintf(buf, size, "--%s", o->name);
	} else {
		snprintf(buf, size, "--%s=%.100s", o->name, value);
	}
}

/** --@word=DIR does not go with option @o, which the run has as @stored has it:
 *  -1 with @e. */
static int refuse(const struct session *s, const struct spec *stored,
		  const struct spec_option *o, const char *word, struct err *e)
{
	char typed[160], then[160];

	name_option(&s->spec, o, typed, sizeof(typed));
	name_option(stored, o, then, sizeof(then));
	if (spec_is_default(stored, o)) {
		err_set(e, 0, "%s does not go with --%s: the run was "
			"started without --%s", typed, word, o->name);
	} else {
		err_set(e, 0, "%s does not go with --%s: the run has %s",
			typed, word, then);
	}
	return err_hint(e, "leave it out to %s the run, or leave out --%s for "
			"a new one", strcmp(word, "resume") == 0 ? "continue" :
			word, word);
}

/** --inject again: the same drill, whatever its file is called now. */
static int check_drill(const struct session *s, const char *drill,
		       struct err *e)
{
	struct str text = STR_INIT;
	int rc = input_read("drill file", s->spec.faults, DRILL_FILE_MAX, &text,
			    e);

	if (rc == 0 && strcmp(str_text(&text), drill) != 0) {
		err_set(e, 0, "--inject=%.100s does not go with --resume: the "
			"run has %s drill", s->spec.faults,
			drill[0] ? "another" : "no");
		rc = err_hint(e, "leave it out to continue the run");
	}
	str_release(&text);
	return rc;
}

int left_options(struct session *s, const struct spec *stored,
		 const char *word, const char *const *anew, const char *drill,
		 struct err *e)
{
	struct spec now = *stored;

	now.commands = s->spec.commands;	/* which no run.json keeps */
	options_absolute(&s->spec);
	for (const struct spec_option *o = spec_options; o->name; o++) {
		const bool typed = s->typed[o - spec_options];

		if (o->resumed == SPEC_COMMANDS ||
		    (typed && (o->resumed == SPEC_LIMITS ||
			       str_index(anew, o->name) >= 0))) {
			spec_take(&now, &s->spec, o);
		} else if (typed && strcmp(o->name, "inject") == 0) {
			if (check_drill(s, drill, e) < 0) {
				return -1;
			}
		} else if (typed && !spec_same(&s->spec, stored, o)) {
			return refuse(s, stored, o, word, e);
		}
	}
	s->spec = now;
	return 0;
}

int resume_options(struct session *s, const struct spec *stored,
		   const char *drill, struct err *e)
{
	static const char *const none[] = { NULL };

	return left_options(s, stored, "resume", none, drill, e) < 0 ?
		       -1 : spec_check(&s->spec, e);
}

/* ---- resume -------------------------------------------------------------- */

/** Write RUN_RESUME and start the run. */
static int go_on(const struct left *l, const struct session *s,
		 const struct probe_start *t, struct err *e)
{
	json_t *run = json_deep_copy(l->run);
	struct spec keep = s->spec;
	int code = -1;

	if (!run) {
		err_set(e, ENOMEM, "no memory for the run");
		return CODE_UNABLE;
	}
	/* choose the options that run.json keeps of a resumed run from keep:
	 * those about a single command stay as in l->spec */
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (o->resumed == SPEC_COMMANDS) {
			spec_take(&keep, &l->spec, o);
		}
	}
	if (t->c) {
		json_object_set_new(run, "conductor", json_string(t->c->name));
	} else {
		json_object_del(run, "conductor");
	}
	if (run_json_resume(run, s, &keep, t->ops->name, e) == 0 &&
	    rundir_write_json(l->dir, RUN_RESUME, run, e) == 0) {
		/* another coordinator listens elsewhere */
		rundir_remove(l->dir, RUN_RENDEZVOUS);
		code = probe_run_start(t, e);
		if (code < 0 && !launch_is_unsure(e)) {
			rundir_remove(l->dir, RUN_RESUME);
		}
	}
	json_decref(run);
	return code < 0 ? CODE_UNABLE : code;
}

static int launch(struct left *l, struct session *s, const char *probe,
		  struct err *e)
{
	struct session place = *s;
	struct probe_start t;
	int code;

	place.spec.resume[0] = '\0';	/* what comes after it has its own */
	/* keep the launcher and the number of nodes of the run unless others
	 * were typed; a Slurm launcher is chosen again */
	if (!place.spec.launcher[0] && !place.spec.local &&
	    !spec_launcher_is(l->launcher, LAUNCHER_SLURM)) {
		STR_COPY(place.spec.launcher, l->launcher);
	}
	if (!place.spec.local && l->n_nodes > 0) {
		place.spec.nodes = (int64_t)l->n_nodes;
	}
	code = probe_run_choose(&t, &place, probe,
				left_of_all(l) ? &conductor_all :
				s->spec.diagnose ? &conductor_diagnose : NULL,
				e);
	if (code != CODE_HEALTHY) {
		return code;
	}
	t.r.dir = l->dir;
	t.r.nodelist = l->n_nodes ? str_text(&l->nodelist) : NULL;
	if (!s->extra[0] && strcmp(t.ops->name, l->launcher) == 0) {
		t.r.extra = l->extra;	/* meant for that launcher */
	}
	if (l->n_nodes == 0) {
		talk("continuing '%s': no test was measured so far; %s",
		     l->dir, t.why);
	} else {
		talk("continuing '%s': %zu of %zu %s and are kept, %zu are "
		     "left; %s", l->dir, l->done, l->cells,
		     left_of_all(l) ? "probes ended" : "tests completed",
		     l->cells - l->done, t.why);
	}
	probe_run_limit(&t);
	return s->spec.dry_run ? probe_run_describe(&t, e) :
				 go_on(l, s, &t, e);
}

/** Resumes the run in l->dir if no process is at work on it.  Returns an exit
 *  code, with @e unless it is that of the report. */
static int resume(struct left *l, struct session *s, const char *probe,
		  struct err *e)
{
	json_t *run;
	struct going g;
	int code, going;

	if (left_read(l, probe, "resume", e) < 0 ||
	    resume_options(s, &l->spec, run_file(l->run).drill_text, e) < 0) {
		return CODE_USAGE;
	}
	if (left_count(l, e) < 0) {
		return CODE_UNABLE;
	}
	if (left_is_whole(l) &&
	    !(s->spec.diagnose && diagnose_wanted(l->dir))) {
		talk("nothing is left to measure in '%s': all %zu %s", l->dir,
		     l->cells, left_of_all(l) ? "probes ended" :
						"tests completed");
		if (s->spec.diagnose) {
			talk("nothing to diagnose: no pair failed or is slow");
		}
		code = show_run(l->dir, &s->spec, e);
		return code < 0 ? CODE_UNABLE : code;
	}
	run = rundir_read_run(l->dir, NULL);
	going = going_find(l->dir, run_file(run).launcher,
			   run_file(run).ended_utc[0], &g, e);
	json_decref(run);
	if (going < 0) {
		err_hint(e, "Slurm must say that the job has ended before the "
			 "run is resumed");
		return CODE_UNABLE;
	}
	if (going > 0) {
		err_set(e, 0, "the run in '%s' has not ended: %s", l->dir,
			g.who);
		err_hint(e, "%s", g.hint);
		going_release(&g);
		return CODE_USAGE;
	}
	return launch(l, s, probe, e);
}

/** Find the directory of --resume, and resume its run while no other front is
 *  at work there.  Returns an exit code as resume(). */
static int resume_alone(struct left *l, struct session *s, const char *probe,
			struct err *e)
{
	char who[160], out[PATH_MAX];
	int fd = -1, code;

	if (!realpath(s->spec.resume, l->dir)) {
		rundir_missing(s->spec.resume, e);
		return CODE_USAGE;
	}
	if (s->spec.out[0] &&
	    (!realpath(s->spec.out, out) || strcmp(out, l->dir) != 0)) {
		err_set(e, 0, "--out does not go with --resume: rows are added "
			"to '%s'", l->dir);
		return CODE_USAGE;
	}
	if (ahead_take_pair(s, e) < 0) {
		return CODE_USAGE;
	}
	if (rundir_check_own(l->dir, e) < 0) {
		return CODE_UNABLE;
	}
	/* a directory without a run stays as it is */
	if (!s->spec.dry_run && rundir_has(l->dir, RUN_JSON) &&
	    rundir_claim(l->dir, &fd, who, sizeof(who)) < 0) {
		err_set(e, 0, "the run in '%s' has not ended: %s is running it",
			l->dir, who);
		err_hint(e, "wait for it, or stop it with ^C where it was "
			 "started");
		return CODE_USAGE;
	}
	code = resume(l, s, probe, e);
	rundir_unclaim(l->dir, fd);
	return code;
}

int resume_main(struct session *s, const char *probe)
{
	struct left *l = calloc(1, sizeof(*l));
	struct err e = { 0 };
	int code = CODE_USAGE;
	char word[200];

	if (!l) {
		err_set(&e, ENOMEM, "no memory for a run");
	} else if (s->plan) {
		err_set(&e, 0, "plan does not go with --resume");
		err_hint(&e, "to see what is left: \"gpucheck %s --resume %s "
			 "--dry-run\"", probe,
			 str_quoted_dir(s->spec.resume, word, sizeof(word)));
	} else {
		code = resume_alone(l, s, probe, &e);
	}
	if (e.text[0]) {
		talk_err(&e);
	}
	if (l) {
		left_release(l);
		free(l);
	}
	return code;
}
