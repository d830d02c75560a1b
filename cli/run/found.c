/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/found.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run/jobs.h"
#include "lib/base/exit_code.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/** When the run in @dir was last rewritten; 0: it is none. */
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

	if (json_member(f->run, "ended_utc")[0]) {
		return;
	}
	f->going = jobs_collect(f->dir, f->by.who, sizeof(f->by.who), NULL) > 0;
	now = rundir_read_json(f->dir, RUN_JSON, NULL);
	if (now) {
		json_decref(f->run);
		f->run = now;
	}
	f->by.state.phase = json_object_get(f->run, "planned") ?
				    LAUNCH_RUNNING : LAUNCH_PENDING;
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
		f->going = !json_member(f->run, "ended_utc")[0] &&
			   going_find(f->dir, json_member(f->run, "launcher"),
				      false, &f->by, NULL) > 0;
	}
	return code;
}

void found_release(struct found *f)
{
	json_decref(f->run);
	going_release(&f->by);
	*f = (struct found){ 0 };
}
