/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/base/grow.h"
#include "report/history/index.h"

int store_write(const char *dir, const struct summary *s, struct err *e)
{
	json_t *json = summary_json(s);
	struct str text = STR_INIT;
	char name[SUMMARY_FILE];
	int rc;

	/* five digits of a level are more than runs have in common */
	json_add(json, JSON_COMPACT | JSON_REAL_PRECISION(5), &text);
	str_addch(&text, '\n');
	json_decref(json);
	rc = text.failed ? err_set(e, ENOMEM, "cannot write the summary") :
	     summary_file(s, name, e) < 0 ? -1 :
	     rundir_write_text(dir, name, str_text(&text), 0666, e);
	str_release(&text);
	return rc;
}

/* ---- which files there are ---------------------------------------------- */

struct files {
	struct index_file *list;
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	const struct index_file *p = a, *q = b;

	return strcmp(p->name, q->name);
}

static int list_files(const char *dir, struct files *f, struct err *e)
{
	DIR *d = rundir_folder(dir, "");
	const struct dirent *entry;
	int rc = 0;

	if (!d) {
		return err_set(e, errno, "cannot read the history '%s'", dir);
	}
	while (rc == 0 && (entry = readdir(d))) {
		struct index_file file = { .size = -1 };

		STR_COPY(file.name, entry->d_name);
		if (summary_is_file(entry->d_name) &&
		    !grow_add(&f->list, &f->n, &file, sizeof(file))) {
			rc = err_set(e, ENOMEM, "cannot read the history");
		}
	}
	closedir(d);
	if (f->n > 0) {
		qsort(f->list, f->n, sizeof(*f->list), by_name);
	}
	if (f->n > STORE_FILES) {
		memmove(f->list, f->list + f->n - STORE_FILES,
			STORE_FILES * sizeof(*f->list));
		f->n = STORE_FILES;
	}
	return rc;
}

/* ---- what they say ------------------------------------------------------ */

static int read_file(const char *dir, const char *name, struct summary *s,
		     struct err *e)
{
	size_t len = 0;
	char *text = rundir_read_text(dir, name, SUMMARY_BYTES, &len, e);
	int rc = text ? summary_parse(text, len, s, e) : -1;

	free(text);
	return rc;
}

/** The run of @f, by @x where that is not NULL and can; 0, or -1 with @e: it is
 *  no summary. */
static int read_run(const char *dir, struct index **x,
		    struct index_file *f, struct summary *s, struct err *e)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = -1;

	if (rundir_path(dir, f->name, path, e) < 0 || lstat(path, &st) < 0) {
		return err_set(e, errno, "cannot read it");
	}
	f->size = st.st_size;
	f->changed_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
	if (*x) {
		rc = index_run(*x, f, s, e);
	}

	if (rc < 0 && *x) {
		index_close(*x);
		*x = NULL;
	}
	return rc == 0 ? 0 : rc > 0 ? -1 : read_file(dir, f->name, s, e);
}

static int take(struct store_runs *r, const struct store_ask *ask,
		struct summary *s)
{
	if (summary_counts(s, ask->drills)) {
		return grow_add(&r->runs, &r->n, s, sizeof(*s)) ? 0 : -1;
	}
	if (summary_counts(s, true)) {
		r->left_out++;
	} else {
		r->no_result++;
	}
	summary_release(s);
	return 0;
}

/** Two of one second are told apart by what their files do not say. */
static int by_time(const void *a, const void *b)
{
	const struct summary *p = a, *q = b;

	return strcmp(p->started_utc, q->started_utc);
}

int store_read(const char *dir, const struct store_ask *ask,
	       struct store_runs *r, struct err *e)
{
	struct files f = { NULL, 0 };
	struct index *x = NULL;
	struct err why;
	int rc;

	*r = (struct store_runs){ 0 };
	rc = list_files(dir, &f, e);
	if (rc == 0 && ask->index) {
		x = index_open(ask->index, dir, f.n ? f.list[0].name : "",
			       &r->index);
	}
	for (size_t i = f.n; rc == 0 && i > 0 && r->n < ask->last; i--) {
		struct summary s = { 0 };

		if (read_run(dir, &x, &f.list[i - 1], &s, &why) <
		    0) {
			r->unread++;
			snprintf(r->why, sizeof(r->why), "%s: %.300s",
				 f.list[i - 1].name, why.text);
		} else if (take(r, ask, &s) < 0) {
			summary_release(&s);
			rc = err_set(e, ENOMEM, "cannot read the history");
		}
	}
	index_close(x);
	free(f.list);
	if (r->n > 0) {
		qsort(r->runs, r->n, sizeof(*r->runs), by_time);
	}
	return rc;
}

void store_release(struct store_runs *r)
{
	for (size_t i = 0; i < r->n; i++) {
		summary_release(&r->runs[i]);
	}
	free(r->runs);
	*r = (struct store_runs){ 0 };
}
