/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/keep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/history_dir.h"
#include "cli/front/talk.h"
#include "lib/data/record_collective.h"
#include "lib/data/rundir.h"
#include "report/history/metrics.h"
#include "report/history/store.h"
#include "report/judge/levels.h"
#include "report/model/sweep.h"

/** Of a run of several: the step that has levels, or at least the facts of the
 *  nodes.  False: none has; run_release() if true. */
static bool find_step(const char *dir, struct run *run)
{
	static const char *const steps[] = {
		"p2p", "ib", "gpu", "ping", "memlock", NULL
	};
	char path[PATH_MAX];

	for (const char *const *step = steps; *step; step++) {
		if (rundir_path(dir, *step, path, NULL) == 0 &&
		    access(path, F_OK) == 0 &&
		    levels_read(path, run, NULL) == 0) {
			return true;
		}
	}
	return false;
}

static void add_collective(const char *dir, struct summary *s)
{
	struct run run = { 0 };
	struct sweep sweep = { 0 };

	if (sweep_read(dir, &run, &sweep, NULL) == 0) {
		summary_add_sweep(s, &sweep);
	}
	sweep_release(&sweep);
	run_release(&run);
}

static int summarise(const struct judged *j, struct summary *s, struct err *e)
{
	struct run step = { 0 };
	const bool several = strcmp(j->run.probe, "all") == 0 &&
			     find_step(j->dir, &step);
	int rc = summary_of(&j->run, &j->verdict, several ? &step : NULL, s, e);

	if (several) {
		run_release(&step);
	}
	if (rc == 0 && collective_parse(s->probe) != COLLECTIVES) {
		add_collective(j->dir, s);
	}
	return rc;
}

static int keep_history(const struct summary *s, const char *wanted,
			char dir[PATH_MAX], struct err *e)
{
	if (history_dir(wanted, true, dir, e) < 0) {
		return -1;
	}
	return store_write(dir, s, e) < 0 ?
		       err_hint(e, "\"gpucheck report --history=DIR RUN\" puts "
				   "the run into one later") : 0;
}

/** For whoever collects it, whatever the umask is. */
static int put_metrics(void *arg, FILE *f)
{
	return metrics_print(arg, f) < 0 || fchmod(fileno(f), 0644) < 0 ?
		       -1 : 0;
}

static int keep_metrics(const struct summary *sum, int code, const char *file,
			struct err *e)
{
	const char *slash = strrchr(file, '/');
	struct str text = STR_INIT;
	char dir[PATH_MAX] = ".";
	int rc = 0;

	metrics_text(sum, code, &text);
	if (slash) {
		snprintf(dir, sizeof(dir), "%.*s",
			 slash == file ? 1 : (int)(slash - file), file);
	}
	if (strcmp(file, "-") == 0) {
		rc = metrics_print(&text, stdout) < 0 ?
			     err_set(e, errno, "cannot write the metrics") : 0;
	} else if (rundir_write_with(dir, slash ? slash + 1 : file, 0644,
				     put_metrics, &text, e) < 0) {
		rc = err_set(e, e->code, "cannot write '%s'", file);
	}
	str_release(&text);
	return rc;
}

bool keep_takes_stdout(const struct spec *s)
{
	return strcmp(s->metrics, "-") == 0;
}

void keep(const struct judged *j, const struct spec *s, int code)
{
	struct summary sum = { 0 };
	char dir[PATH_MAX];
	struct err e = { 0 };

	if (!s->history[0] && !s->metrics[0]) {
		return;
	}
	if (summarise(j, &sum, &e) < 0) {
		talk_err(&e);
		summary_release(&sum);
		return;
	}
	if (s->metrics[0] && keep_metrics(&sum, code, s->metrics, &e) < 0) {
		talk_err(&e);
	}
	if (s->history[0] && keep_history(&sum, s->history, dir, &e) < 0) {
		talk_err(&e);
	} else if (s->history[0]) {
		talk("history: %s", dir);
	}
	summary_release(&sum);
}
