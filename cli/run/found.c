/* SPDX-License-Identifier: BSD-3-Clause */
/* Find the run that a command is about, and read how it ended. */
#include "cli/run/probe_run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/front/ahead.h"
#include "cli/run/jobs.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/** Returns when the run in @dir was last rewritten; 0: it is not a run. */
static int64_t changed_ns(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	return rundir_path(dir, RUN_JSON, path, NULL) < 0 ||
			       stat(path, &st) < 0 ?
		       0 : st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
}

static int find_latest(char name[NAME_MAX + 1], struct err *e)
{
	DIR *d = opendir(".");
	int64_t latest_ns = 0, ns;
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		ns = str_starts(entry->d_name, "gpucheck-") ?
			     changed_ns(entry->d_name) : 0;
		if (ns > latest_ns) {
			latest_ns = ns;
			str_copy(name, NAME_MAX + 1, entry->d_name);
		}
	}
	if (d) {
		closedir(d);
	}
	if (latest_ns > 0) {
		return 0;
	}
	err_set(e, 0, "there is no run here");
	return err_hint(e, "name its directory, or the number of its job");
}

static int find_dir(const char *name, char dir[PATH_MAX], struct err *e)
{
	char latest[NAME_MAX + 1], job_dir[PATH_MAX];

	if (!name) {
		if (find_latest(latest, e) < 0) {
			return CODE_USAGE;
		}
		name = latest;
	}
	if (name[0] && name[strspn(name, "0123456789")] == '\0' &&
	    changed_ns(name) == 0) {
		if (launcher_find_job(name, job_dir, e) < 0) {
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

/** A run of many jobs: its files are those of their parts. */
static void look_at_jobs(struct found *f)
{
	json_t *now;

	if (run_file(f->run).ended_utc[0]) {
		return;
	}
	f->going = jobs_collect(f->dir, f->by.who, sizeof(f->by.who), NULL) > 0;
	now = rundir_read_json(f->dir, RUN_JSON, NULL);
	if (now) {
		json_decref(f->run);
		f->run = now;
	}
	f->pending = f->going && !run_file(f->run).planned.given;
}

/** Returns true if Slurm may know better than @run why it ended early. */
static bool is_open_end(const json_t *run)
{
	const struct run_file f = run_file(run);

	return !f.error.given && !f.job_end[0] &&
	       (!f.ended_utc[0] || strcmp(f.stop_reason, "interrupted") == 0);
}

/** Notes the end of the job as the error of the run, or in addition to its
 *  results. */
static void note_end(const char *dir, const json_t *run,
		     const struct launch_state *st)
{
	struct err e = { 0 };

	if (run_file(run).planned.given) {
		run_json_note(dir, json_pack("{s:o}", "job_end",
					     json_text(st->text)), NULL);
		return;
	}
	err_set(&e, 0, "%s", st->text);
	if (st->hint[0]) {
		err_hint(&e, "%s", st->hint);
	}
	run_error_note(dir, &e, CODE_UNABLE);
}

/** Finds out how the last job of the run ended, if no other process works on
 *  the run.  Returns true if Slurm ended it. */
static bool find_end(const char *dir, const json_t *run,
		     struct launch_state *st)
{
	char who[160];
	int claim = -1;
	bool cut;

	if (rundir_check_own(dir, NULL) < 0 ||
	    rundir_claim(dir, &claim, who, sizeof(who)) < 0) {
		return false;
	}
	cut = going_cut(dir, run_file(run).launcher, st);
	rundir_unclaim(dir, claim);
	return cut;
}

void found_note_end(const char *dir, const struct launcher_ops *ops,
		    struct launch *l)
{
	json_t *resume = rundir_read_json(dir, RUN_RESUME, NULL);
	/* the last job of a --resume that measured nothing ended no run */
	json_t *run = resume ? NULL : rundir_read_json(dir, RUN_JSON, NULL);
	struct launch_state st = { 0 };
	bool cut = false;

	if (run && is_open_end(run) && l && ops->end) {
		ops->end(l, &st);
		cut = st.cut;
	} else if (run && is_open_end(run) && !l) {
		cut = find_end(dir, run, &st);
	}
	if (cut) {
		note_end(dir, run, &st);
	}
	json_decref(resume);
	json_decref(run);
}

/** A --resume that has not begun is looked for under its own launcher. */
static void look_at_work(struct found *f)
{
	json_t *resume = rundir_read_json(f->dir, RUN_RESUME, NULL);
	const struct run_file run = run_file(resume ? resume : f->run);
	const bool planned = run_file(f->run).planned.given;

	f->going = !run.ended_utc[0] && !run.job_end[0] &&
		   going_find(f->dir, run.launcher, false, &f->by, NULL) > 0;
	f->waits = f->going && resume && planned;
	f->pending = f->going && f->by.state.phase == LAUNCH_PENDING &&
		     (f->waits || !planned);
	json_decref(resume);
}

int found_open(const char *name, struct found *f, struct err *e)
{
	int code;

	*f = (struct found){ 0 };
	code = find_dir(name, f->dir, e);
	if (code == CODE_HEALTHY) {
		f->run = rundir_read_json(f->dir, RUN_JSON, e);
		code = f->run ? CODE_HEALTHY : CODE_UNABLE;
	}
	if (code == CODE_HEALTHY && jobs_is(f->run)) {
		look_at_jobs(f);
	} else if (code == CODE_HEALTHY) {
		look_at_work(f);
		if (!f->going) {
			found_note_end(f->dir, NULL, NULL);
		}
	}
	return code;
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
