/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the run that a command is about, and read how it ended. */
#include "cli/run/probe_run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/front/ahead.h"
#include "cli/front/talk.h"
#include "cli/run/jobs.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/judge/tell.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

/** Returns when the run in @dir was last rewritten; 0: it is not a run. */
static int64_t changed_ns(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	return rundir_path(dir, RUN_JSON, path, NULL) < 0 ||
			       stat(path, &st) < 0 ?
		       0 : st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
}

/** Find the directory of @name as found_open(); an exit code. */
static int find_dir(const char *name, char dir[PATH_MAX], struct err *e)
{
	char latest[NAME_MAX + 1] = "", job_dir[PATH_MAX];
	int64_t latest_ns = 0, ns;
	struct dirent *entry;
	DIR *d = name ? NULL : opendir(".");

	while (d && (entry = readdir(d))) {
		ns = str_starts(entry->d_name, "gpucheck-") ?
			     changed_ns(entry->d_name) : 0;
		if (ns > latest_ns) {
			latest_ns = ns;
			str_copy(latest, sizeof(latest), entry->d_name);
		}
	}
	if (d) {
		closedir(d);
	}
	if (!name && latest_ns == 0) {
		err_set(e, 0, "there is no run in the current directory");
		err_hint(e, "specify its directory, or its job ID");
		return CODE_USAGE;
	}
	name = name ? name : latest;
	if (name[0] && name[strspn(name, "0123456789")] == '\0' &&
	    changed_ns(name) == 0) {
		if (launcher_find_job(name, job_dir, e) < 0) {
			err_hint(e, "specify the run directory instead if the "
				 "job has ended, or no Slurm answers here");
			return CODE_USAGE;
		}
		name = job_dir;
	}
	if (realpath(name, dir)) {
		return CODE_HEALTHY;
	}
	rundir_missing(name, e);
	return e->code == ENOENT ? CODE_USAGE : CODE_UNABLE;
}

void found_blame(const char *dir, const struct launcher_ops *ops,
		 struct launch *l, struct err *e)
{
	const char *id = ops == &launcher_srun ? getenv("SLURM_JOB_ID") : NULL;
	enum slurm_standing is = id ? slurm_job_standing(id) :
				      SLURM_JOB_UNKNOWN;
	/* the command is for a batch job if the allocation is over that this
	 * process was started in */
	const bool job = is == SLURM_JOB_OVER || is == SLURM_JOB_ENDS;
	struct str names = STR_INIT, line = STR_INIT;
	json_t *run, *options;
	char hint[sizeof(e->hint)];
	int64_t nodes = 0, gpus = 0;
	struct spec spec;
	size_t n = 0;

	if (!ops->blame || !ops->blame(l, e, &names)) {
		str_release(&names);
		return;
	}
	run = rundir_read_json(dir, RUN_JSON, NULL);
	options = run_file(run).options;
	hostlist_free(hostlist_expand(str_text(&names), &n, NULL), n);
	spec_init(&spec);
	if (job && spec_from_json(&spec, options, NULL) == 0) {
		launcher_usual(ops, &spec, &nodes, &gpus);
		json_object_set_new(options, "nodes", json_integer(nodes));
		json_object_set_new(options, "launcher",
				    json_string(launcher_sbatch.name));
	}
	next_without(run, str_text(&names), n, &line);
	STR_COPY(hint, e->hint);
	/* a step of "all" is no command of the user, and a command that is cut
	 * would be another one */
	if (!run_file(run).whole.given &&
	    strlen(hint) + line.len + 16 < sizeof(hint)) {
		err_hint(e, "%s; to skip it: \"%s\"", hint, str_text(&line));
	} else {
		err_hint(e, "%.150s; %s-x %.100s skips it", hint,
			 job ? "--launcher=sbatch " : "", str_text(&names));
	}
	json_decref(run);
	str_release(&names);
	str_release(&line);
}

/** Returns true if Slurm ended the job @l, or put it back into the queue, for a
 *  reason outside of @run; @e has the reason, and where nothing was measured
 *  the nodes to leave out. */
static bool is_cut(const char *dir, const json_t *run,
		   const struct launcher_ops *ops, struct launch *l,
		   struct err *e)
{
	struct launch_state st = { 0 };

	ops->end(l, &st);
	if (!st.cut) {
		return false;
	}
	err_set(e, 0, "%s", st.text);
	if (st.hint[0]) {
		err_hint(e, "%s", st.hint);
	}
	/* that of a --resume had none to measure yet, whatever was before */
	if (!run_file(run).planned.given || rundir_has(dir, RUN_RESUME)) {
		found_blame(dir, ops, l, e);
	}
	return true;
}

/** The same for the last job of @run, if no process works on the run. */
static bool find_end(const char *dir, const json_t *run, struct err *e)
{
	const struct launcher_ops *ops =
		launcher_find(run_file(run).launcher);
	struct launch *l = NULL;
	char who[160];
	int claim = -1;
	bool cut = false;

	if (!ops || !ops->adopt || !ops->end ||
	    rundir_check_own(dir, NULL) < 0 ||
	    rundir_claim(dir, &claim, who, sizeof(who)) < 0) {
		return false;
	}
	if (launcher_usable(ops, NULL) == 0 &&
	    launcher_adopt(ops, dir, true, &l, NULL) > 0) {
		cut = is_cut(dir, run, ops, l, e);
		launcher_free(ops, l);
	}
	rundir_unclaim(dir, claim);
	return cut;
}

void found_note_end(const char *dir, const struct launcher_ops *ops,
		    struct launch *l)
{
	/* the last job of a --resume that measured nothing ended no run */
	json_t *run = rundir_has(dir, RUN_RESUME) ?
			      NULL : rundir_read_json(dir, RUN_JSON, NULL);
	const struct run_file f = run_file(run);
	struct err e = { 0 };
	bool cut = false;

	/* Slurm may know better than run.json why it ended early */
	if (run && !f.error.given && !f.job_end[0] &&
	    (!f.ended_utc[0] || strcmp(f.stop_reason, "interrupted") == 0)) {
		cut = !l ? find_end(dir, run, &e) :
		      ops->end ? is_cut(dir, run, ops, l, &e) : false;
	}
	if (cut && f.planned.given) {
		run_json_note(dir, &(struct run_file){ .job_end = e.text },
			      NULL);
	} else if (cut) {
		run_error_note(dir, &e, CODE_UNABLE);
	}
	json_decref(run);
}

int found_open(const char *name, struct found *f, struct err *e)
{
	json_t *resume, *now;
	struct err why = { 0 };
	struct run_file run;
	int code;

	*f = (struct found){ 0 };
	code = find_dir(name, f->dir, e);
	if (code != CODE_HEALTHY) {
		return code;
	}
	f->run = rundir_read_json(f->dir, RUN_JSON, e);
	if (!f->run) {
		return CODE_UNABLE;
	}
	run = run_file(f->run);
	if (run.jobs.given && run.complete) {
		return CODE_HEALTHY;
	}
	if (run.jobs.given) {
		/* its files are made of those of its parts, which may be
		 * submitted again until each has a result */
		f->going = jobs_collect(f->dir, f->by.who, sizeof(f->by.who),
					NULL) > 0;
		now = rundir_read_json(f->dir, RUN_JSON, NULL);
		if (now) {
			json_decref(f->run);
			f->run = now;
		}
		f->pending = f->going && !run_file(f->run).planned.given;
		return CODE_HEALTHY;
	}
	/* a --resume that has not begun is looked for under its own launcher */
	resume = rundir_read_json(f->dir, RUN_RESUME, NULL);
	f->waits = resume && run.planned.given;
	f->pending = f->waits || !run.planned.given;
	run = run_file(resume ? resume : f->run);
	f->going = !run.ended_utc[0] && !run.job_end[0] &&
		   going_find(f->dir, run.launcher, false, &f->by, NULL) > 0;
	f->waits = f->going && f->waits;
	f->pending = f->going && f->pending &&
		     f->by.state.phase == LAUNCH_PENDING;
	if (!f->going) {
		found_note_end(f->dir, NULL, NULL);
		/* why a --resume measured nothing, if Slurm ended its job */
		if (resume && find_end(f->dir, resume, &why)) {
			talk("the run was not continued: %s", why.text);
			talk_hint("%s", why.hint);
		}
	}
	json_decref(resume);
	return CODE_HEALTHY;
}

const struct judged_ask *found_ask(const struct found *f,
				   struct judged_ask *ask)
{
	*ask = (struct judged_ask){ .reference = "" };
	if (!f->going || f->waits) {
		return NULL;
	}
	ask->going = f->by.who;
	ask->pending = f->pending;
	ask->hint = f->by.state.hint[0] ? f->by.state.hint : NULL;
	return ask;
}

void found_release(struct found *f)
{
	json_decref(f->run);
	going_release(&f->by);
	*f = (struct found){ 0 };
}
