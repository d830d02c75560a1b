/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/plot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/rundir.h"
#include "lib/spawn.h"
#include "lib/str.h"

#define GNUPLOT_DEADLINE_NS (60 * NS_PER_S)
#define GNUPLOT_MAX_TALK    4096
#define SCRIPT "script.gp"

int plot_begin(struct plot *p, const char *dir, const char *what,
	       struct err *e)
{
	if (!spawn_find("gnuplot", NULL, 0)) {
		err_set(e, ENOENT, "no %s: 'gnuplot' is not there", what);
		err_hint(e, "apt-get install gnuplot-nox, then "
			 "\"gpucheck report DIR\" draws it");
		return 1;
	}
	/* A name that begins with '/' is a file to gnuplot, never a pipe. */
	if (!realpath(dir, p->dir)) {
		return err_set(e, errno, "cannot open '%s'", dir);
	}
	if (rundir_path(p->dir, ".plot-XXXXXX", p->folder, e) < 0) {
		return -1;
	}
	if (!mkdtemp(p->folder)) {
		return err_set(e, errno, "cannot make '%s'", p->folder);
	}
	return 0;
}

/* Scratch files: gone in a second, so not worth a sync to disk. */
int plot_write(const struct plot *p, const char *file, const char *text,
	       struct err *e)
{
	char path[PATH_MAX];
	bool whole;
	FILE *f;

	if (rundir_path(p->folder, file, path, e) < 0) {
		return -1;
	}
	f = fopen(path, "we");
	if (!f) {
		return err_set(e, errno, "cannot write '%s'", path);
	}
	whole = fputs(text, f) >= 0;
	whole = fclose(f) == 0 && whole;
	return whole ? 0 : err_set(e, errno, "cannot write '%s'", path);
}

static int run_gnuplot(const struct plot *p, const char *settings, bool png,
		       struct err *e)
{
	char program[] = "gnuplot", e_flag[] = "-e", c_flag[] = "-c";
	char script[PATH_MAX], where[PATH_MAX], how[64];
	struct str text = STR_INIT, talk = STR_INIT;
	struct spawn_status st;
	int rc = 0;

	if (rundir_path(p->folder, SCRIPT, script, e) < 0) {
		return -1;
	}
	STR_COPY(where, p->folder);
	str_addf(&text, "png=%d; %s", png, settings);
	char *argv[] = {
		program, e_flag, text.data, c_flag, script, where, NULL
	};
	if (text.failed) {
		rc = err_set(e, ENOMEM, "no memory to draw");
	} else if (spawn_capture(argv, NULL, &talk, GNUPLOT_MAX_TALK,
				 clock_now_ns() + GNUPLOT_DEADLINE_NS, &st,
				 e) < 0) {
		rc = -1;
	} else if (st.exit_code != 0) {
		rc = err_set(e, 0, "gnuplot failed (%s): %.200s",
			     spawn_status_text(&st, how, sizeof(how)),
			     str_text(&talk));
	}
	str_release(&text);
	str_release(&talk);
	return rc;
}

int plot_draw(const struct plot *p, const char *script, const char *settings,
	      const char *name, struct err *e)
{
	static const char *const kinds[] = { "svg", "png" };
	char from[PATH_MAX], to[PATH_MAX], file[64];

	if (plot_write(p, SCRIPT, script, e) < 0) {
		return -1;
	}
	for (int png = 0; png < 2; png++) {
		if (run_gnuplot(p, settings, png, e) < 0) {
			return -1;
		}
		snprintf(file, sizeof(file), "picture.%s", kinds[png]);
		if (rundir_path(p->folder, file, from, e) < 0) {
			return -1;
		}
		snprintf(file, sizeof(file), "%s.%s", name, kinds[png]);
		if (rundir_path(p->dir, file, to, e) < 0) {
			return -1;
		}
		if (rename(from, to) < 0) {
			return err_set(e, errno, "cannot write '%s'", to);
		}
	}
	return 0;
}

void plot_end(const struct plot *p)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *d = opendir(p->folder);

	while (d && (entry = readdir(d))) {
		if (rundir_path(p->folder, entry->d_name, path, NULL) == 0) {
			unlink(path);	/* "." and ".." refuse */
		}
	}
	if (d) {
		closedir(d);
	}
	rmdir(p->folder);
}
