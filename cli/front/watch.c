/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a run, read from the files in its directory. */
#include "cli/front/follow.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"

#define MAX_UTC_S  (INT64_MAX / NS_PER_S)
#define MAX_LEFT_NS (INT64_C(1000) * 3600 * NS_PER_S)
/** More than the coarsest tick of a file system (2 s), in seconds. */
#define YOUNG_S 3
/** A coordinator that is silent for this long is gone.  Network file systems
 *  show changes late, and a machine short of memory writes late. */
#define SILENT_NS (60 * NS_PER_S)
/** The same if the kernel says that its process is gone; agents that notice end
 *  by themselves in that time. */
#define GONE_NS	  (10 * NS_PER_S)

/** Files that only the job makes, so that one of them proves it was here. */
static const char *const job_files[] = {
	RUN_RENDEZVOUS, RUN_EVENTS, RUN_FACTS, RUN_RESULTS, NULL
};

void watch_init(struct watch *w, const char *dir)
{
	*w = (struct watch){ .dir = dir, .here = rundir_is_here(dir),
			     .sign_ns = rundir_sign_ns(dir),
			     .looked_ns = clock_now_ns() };
}

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return rundir_path(dir, name, path, NULL) == 0 &&
	       access(path, F_OK) == 0;
}

void watch_refresh(const char *dir)
{
	/* opening a directory makes an NFS client ask the server again */
	DIR *d = opendir(dir);

	if (d) {
		closedir(d);
	}
}

/**
 * Counts the complete lines that came since the last look.  The first is the
 * header; rows of cells without time for a test do not count.
 */
static void count_rows(struct watch *w)
{
	FILE *f = rundir_open(w->dir, RUN_RESULTS, NULL);
	char *line = NULL;
	struct stat st;
	size_t size = 0;
	ssize_t len;

	if (!f) {
		return;
	}
	if (fstat(fileno(f), &st) == 0) {
		w->row_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
		if (st.st_ino != w->results) {
			/* the first, or what a resumed run has kept of it */
			w->results = st.st_ino;
			w->results_at = 0;
			w->rows = w->kept = 0;
		}
	}
	if (fseek(f, w->results_at, SEEK_SET) == 0) {
		while ((len = getline(&line, &size, f)) > 0 &&
		       line[len - 1] == '\n') {
			w->rows += w->results_at > 0 &&
				   strstr(line, ",not_run,") == NULL;
			w->results_at += (long)len;
			w->kept = w->results_at <= w->kept_B ? w->rows :
							       w->kept;
		}
	}
	free(line);
	fclose(f);
}

/**
 * Return true if the file has not changed since it was last read, by @st. A
 * file replaced twice within one tick of the file system's clock keeps its time
 * (and perhaps its inode), so a young file is read again.
 */
static bool same_json(struct watch *w, const struct stat *st)
{
	const struct stat *old = &w->json;
	bool same = w->json_settled && st->st_ino == old->st_ino &&
		    st->st_size == old->st_size &&
		    st->st_mtim.tv_sec == old->st_mtim.tv_sec &&
		    st->st_mtim.tv_nsec == old->st_mtim.tv_nsec;
	time_t now = time(NULL);

	/* if the clock of a server is ahead, this only costs some reading */
	w->json_settled = st->st_mtim.tv_sec < now - YOUNG_S;
	w->json = *st;
	return same;
}

/** Returns how many pairs between rails the plan leaves out, of all pairs or of
 *  all between nodes; 0: none, or it has others. */
static size_t left_apart(const struct run_file *f)
{
	const bool inter = strcmp(f->planned.kind, "inter") == 0;
	int64_t ranks = 0, pairs = 0;

	if (!f->planned.rails_apart || f->planned.groups ||
	    (!inter && strcmp(f->planned.kind, "all") != 0)) {
		return 0;
	}
	for (size_t i = 0; i < json_array_size(f->nodes); i++) {
		const int64_t gpus = run_entry(f->nodes, i).gpus;

		ranks += gpus;
		pairs -= inter ? gpus * gpus : gpus;
	}
	pairs += ranks * ranks - f->planned.cells;
	return pairs > 0 ? (size_t)pairs : 0;
}

static void read_run_json(struct watch *w)
{
	const char *name;
	char path[PATH_MAX];
	struct stat st;
	struct run_file f;
	int64_t since_s;
	json_t *json;

	w->waits = !w->known && exists(w->dir, RUN_RESUME);
	name = w->waits ? RUN_RESUME : RUN_JSON;
	if (rundir_path(w->dir, name, path, NULL) < 0 ||
	    stat(path, &st) < 0 || same_json(w, &st)) {
		return;
	}
	json = rundir_read_json(w->dir, name, NULL);
	f = run_file(json);
	if (f.planned.given && !w->waits) {
		w->planned = w->seen = true;
		w->cells = (size_t)(f.planned.cells * f.planned.passes +
				    f.follow_up.tests);
		w->pairs = (size_t)f.planned.cells;
		w->apart = left_apart(&f);
	}
	since_s = clock_utc_s(f.measuring.since_utc);
	w->since_ns = since_s > 0 && since_s < MAX_UTC_S ? since_s * NS_PER_S :
							   0;
	if (f.measuring.after_B >= 0 && w->kept_B != f.measuring.after_B) {
		w->kept_B = f.measuring.after_B;
		w->results = 0;		/* count again from 0 */
	}
	w->ended = f.ended_utc[0] != '\0';
	/* a coordinator that fails later says as well what stopped it */
	w->failed = f.error.given && !f.stop_reason[0];
	json_decref(json);
}

/** Look for the coordinator's sign of life. Time in which this process did not
 *  look, because it was stopped, is not counted as silence. */
static void look_for_sign(struct watch *w)
{
	const int64_t now_ns = clock_now_ns(), gap_ns = now_ns - w->looked_ns;
	int64_t sign_ns;

	/* it may be killed before its next sign */
	w->held = w->held || (w->here && rundir_is_held(w->dir));
	if (w->signs && gap_ns < RUN_SIGN_NS) {
		return;
	}
	w->looked_ns = now_ns;
	sign_ns = rundir_sign_ns(w->dir);
	if (sign_ns && sign_ns != w->sign_ns) {
		w->sign_ns = sign_ns;
		w->silent_ns = 0;
		w->signs = true;
	} else {
		w->silent_ns += gap_ns < 2 * RUN_SIGN_NS ? gap_ns :
							   2 * RUN_SIGN_NS;
	}
	w->lost = w->signs && (w->silent_ns >= SILENT_NS ||
			       (w->silent_ns >= GONE_NS && w->held &&
				!rundir_is_held(w->dir)));
}

void watch_look(struct watch *w)
{
	look_for_sign(w);
	if (!w->seen) {
		watch_refresh(w->dir);
		for (int i = 0; job_files[i] && !w->seen; i++) {
			w->seen = exists(w->dir, job_files[i]);
		}
	}
	read_run_json(w);	/* sets the place from which rows are new */
	if (!w->waits) {
		count_rows(w);
	}
}

void watch_known(struct watch *w)
{
	w->known = true;
	w->json_settled = false;
	watch_look(w);
}

int64_t watch_left_ns(const struct watch *w)
{
	/* a coordinator that waits for a test still gives signs */
	const int64_t now_ns = w->sign_ns > w->row_ns ? w->sign_ns : w->row_ns;
	const size_t done = w->rows > w->kept ? w->rows - w->kept : 0;
	double left_ns;

	if (!w->since_ns || !done || now_ns <= w->since_ns) {
		return -1;
	}
	left_ns = w->rows >= w->cells ? 0 : (double)(now_ns - w->since_ns) *
		  (double)(w->cells - w->rows) / (double)done;
	return left_ns < MAX_LEFT_NS ? (int64_t)left_ns : -1;
}
