/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/plot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"

#define GNUPLOT_DEADLINE_NS (30 * NS_PER_S)
#define GNUPLOT_MAX_TALK    4096
#define SCRIPT "script.gp"
#define DRIVER "driver.gp"

void plot_hold_signals(struct plot_signals *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	sigemptyset(&s->ends);
	pthread_sigmask(SIG_BLOCK, NULL, &s->were);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction now;

		if (sigaction(signals[i], NULL, &now) == 0 &&
		    now.sa_handler != SIG_IGN &&
		    sigismember(&s->were, signals[i]) == 0) {
			sigaddset(&s->ends, signals[i]);
		}
	}
	pthread_sigmask(SIG_BLOCK, &s->ends, NULL);
}

void plot_release_signals(const struct plot_signals *s)
{
	pthread_sigmask(SIG_SETMASK, &s->were, NULL);
}

bool plot_usable(void)
{
	return spawn_find("gnuplot", NULL, 0);
}

int plot_check(const char *what, const char *dir, struct err *e)
{
	char word[240];

	if (plot_usable()) {
		return 0;
	}
	err_set(e, ENOENT, "no %s: gnuplot is not installed", what);
	err_hint(e, "install it (apt-get install gnuplot-nox), "
		 "then run \"gpucheck report %s\"",
		 str_quoted_dir(dir, word, sizeof(word)));
	return 1;
}

int plot_begin(struct plot *p, const struct plot_signals *s, const char *dir,
	       struct err *e)
{
	*p = (struct plot){ .ends = s->ends };
	/* A name that begins with '/' is a file to gnuplot, never a pipe. */
	if (!realpath(dir, p->dir)) {
		return err_set(e, errno, "cannot open '%s'", dir);
	}
	if (rundir_path(p->dir, ".plot-XXXXXX", p->folder, e) < 0) {
		return -1;
	}
	if (!mkdtemp(p->folder)) {
		err_set(e, errno, "cannot make '%s'", p->folder);
		p->folder[0] = '\0';
		return -1;
	}
	return 0;
}

void plot_add_field(const char *text, struct str *out)
{
	for (; *text; text++) {
		bool special = *text == '"' || *text == '\\' ||
			       (unsigned char)*text < 0x20;

		str_addch(out, special ? '\'' : *text);
	}
}

/* Scratch files: gone in a second, so not worth a sync to disk. */
static int write_file(const struct plot *p, const char *file,
		      const char *text, size_t n, struct err *e)
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
	whole = fwrite(text, 1, n, f) == n;
	whole = fclose(f) == 0 && whole;
	return whole ? 0 : err_set(e, errno, "cannot write '%s'", path);
}

int plot_write(const struct plot *p, const char *file, const struct str *text,
	       struct err *e)
{
	return text->failed ?
		       err_set(e, ENOMEM, "cannot lay out the picture") :
		       write_file(p, file, str_text(text), text->len, e);
}

/*
 * One gnuplot for both kinds: to start it takes as long as to draw.  It gets
 * the script by "call", which hands on the folder and can be done twice.
 */
static const char driver[] =
	"do for [kind=first:1] {"
	" reset; png = kind; call ARG1.'/" SCRIPT "' ARG1 }\n";

static int start_gnuplot(struct plot *p, const struct str *settings,
			 struct err *e)
{
	/* -d: without ~/.gnuplot */
	char program[] = "gnuplot", d_flag[] = "-d", e_flag[] = "-e",
	     c_flag[] = "-c";
	char first[PATH_MAX], where[PATH_MAX];
	struct str text = STR_INIT;
	int rc;

	if (rundir_path(p->folder, DRIVER, first, e) < 0) {
		return -1;
	}
	snprintf(where, sizeof(where), "%s", p->folder);
	str_addf(&text, "first=%d; %s", !p->svg, str_text(settings));
	char *argv[] = {
		program, d_flag, e_flag, text.data, c_flag, first, where, NULL
	};
	rc = text.failed || settings->failed ?
		     err_set(e, ENOMEM, "no memory to draw") :
		     spawn_start(&p->gnuplot, argv, NULL, &p->talk,
				 GNUPLOT_MAX_TALK, e);
	str_release(&text);
	p->drawing = rc == 0;
	p->gnuplot.ends = p->ends;
	p->deadline_ns = clock_now_ns() + GNUPLOT_DEADLINE_NS;
	return rc;
}

/** DIR/NAME.KIND; 0, or -1 with @e. */
static int picture_path(const char *dir, const char *name, const char *kind,
			char path[PATH_MAX], struct err *e)
{
	char file[PLOT_FILE];

	snprintf(file, sizeof(file), "%s.%s", name, kind);
	return rundir_path(dir, file, path, e);
}

/** The picture of @kind takes its name in the run directory. */
static int publish(const struct plot *p, const char *kind, struct err *e)
{
	char from[PATH_MAX], to[PATH_MAX];

	if (picture_path(p->folder, "picture", kind, from, e) < 0 ||
	    picture_path(p->dir, p->name, kind, to, e) < 0) {
		return -1;
	}
	if (access(from, F_OK) < 0) {
		return err_set(e, errno, "gnuplot made no '%s.%s'", p->name,
			       kind);
	}
	return rename(from, to) < 0 ?
		       err_set(e, errno, "cannot write '%s'", to) : 0;
}

/** A gnuplot without a terminal for PNG has drawn the SVG before it failed. */
static bool svg_is_whole(const struct plot *p)
{
	static const char end[] = "</svg>";
	char path[PATH_MAX], tail[32] = "";
	FILE *f;

	if (rundir_path(p->folder, "picture.svg", path, NULL) < 0 ||
	    (f = fopen(path, "re")) == NULL) {
		return false;
	}
	if (fseek(f, -(long)sizeof(end) - 1, SEEK_END) == 0) {
		tail[fread(tail, 1, sizeof(tail) - 1, f)] = '\0';
	}
	fclose(f);
	return strstr(tail, end) != NULL;
}

void plot_forget(const char *dir, const char *name, const char *kind)
{
	char path[PATH_MAX];

	if (picture_path(dir, name, kind, path, NULL) == 0) {
		unlink(path);
	}
}

int plot_draw(struct plot *p, const char *script, const struct str *settings,
	      const char *name, bool svg, struct err *e)
{
	STR_COPY(p->name, name);
	p->svg = svg;
	return write_file(p, SCRIPT, script, strlen(script), e) < 0 ||
	       write_file(p, DRIVER, driver, strlen(driver), e) < 0 ?
		       -1 : start_gnuplot(p, settings, e);
}

static int finish(struct plot *p, struct err *e)
{
	struct spawn_status st;
	char how[64];

	spawn_finish(&p->gnuplot, p->deadline_ns, &st);
	p->drawing = false;
	if (st.exit_code != 0) {
		if (p->svg && svg_is_whole(p)) {
			publish(p, "svg", NULL);
		}
		return err_set(e, 0, "gnuplot failed (%s): %.200s",
			       spawn_status_text(&st, how, sizeof(how)),
			       str_text(&p->talk));
	}
	return p->svg && publish(p, "svg", e) < 0 ? -1 :
						    publish(p, "png", e);
}

static void remove_folder(const struct plot *p)
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

int plot_end(struct plot *p, int rc, struct err *e)
{
	if (p->drawing && finish(p, rc == 0 ? e : NULL) < 0) {
		rc = -1;
	}
	if (p->folder[0] != '\0') {
		remove_folder(p);
		p->folder[0] = '\0';
	}
	str_release(&p->talk);
	return rc;
}
