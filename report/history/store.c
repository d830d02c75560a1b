/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/base/grow.h"
#include "report/history/history.h"

/* ---- index --------------------------------------------------------------- */

/** Version of the tables below: any other one is rebuilt. */
#define INDEX_FORMAT 3
/** How long another process may be at it. */
#define BUSY_MS 2000

enum query { Q_ADD, Q_ADD_NODE, Q_FORGET_NODES, Q_FORGET, Q_OLD_NODES, Q_OLD,
	     Q_RUN, Q_NODES, QUERIES };

static const char *const queries[QUERIES] = {
	[Q_ADD] = "INSERT INTO run (name, changed_ns, size, head) "
		  "VALUES (?1, ?2, ?3, ?4)",
	[Q_ADD_NODE] = "INSERT OR REPLACE INTO node (run, node, body) "
		       "VALUES (?1, ?2, ?3)",
	[Q_FORGET_NODES] = "DELETE FROM node WHERE run IN "
			   "(SELECT id FROM run WHERE name = ?1)",
	[Q_FORGET] = "DELETE FROM run WHERE name = ?1",
	[Q_OLD_NODES] = "DELETE FROM node WHERE run IN "
			"(SELECT id FROM run WHERE name < ?1)",
	[Q_OLD] = "DELETE FROM run WHERE name < ?1",
	[Q_RUN] = "SELECT id, head, changed_ns, size FROM run "
		  "WHERE name = ?1",
	[Q_NODES] = "SELECT body FROM node WHERE run = ?1 ORDER BY place",
};

static const char tables[] =
	"CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT UNIQUE, "
	"changed_ns INTEGER, size INTEGER, head TEXT);"
	"CREATE TABLE node (place INTEGER PRIMARY KEY, run INTEGER, "
	"node TEXT, body TEXT, UNIQUE (run, node));";

struct index {
	sqlite3 *db;
	sqlite3_stmt *q[QUERIES];
	const char *dir;	/* of the files; borrowed */
	int code;		/* of what failed; SQLITE_OK: nothing has */
	bool other_format;
};

static int broken(struct index *x, const char *what, struct err *e)
{
	x->code = x->db ? sqlite3_errcode(x->db) : SQLITE_NOMEM;
	x->code = x->code == SQLITE_OK || x->code == SQLITE_ROW ?
			  SQLITE_NOMEM : x->code;
	return err_set(e, 0, "cannot %s the index of the history: %s", what,
		       x->db ? sqlite3_errmsg(x->db) : "no memory");
}

static int run_text(struct index *x, const char *sql, struct err *e)
{
	return sqlite3_exec(x->db, sql, NULL, NULL, NULL) == SQLITE_OK ?
		       0 : broken(x, "set up", e);
}

static int read_format(struct index *x, int *format, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(x->db, "PRAGMA user_version", -1, &q, NULL) ==
		    SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
		*format = sqlite3_column_int(q, 0);
	} else {
		rc = broken(x, "read", e);
	}
	sqlite3_finalize(q);
	return rc;
}

static int set_up(struct index *x, struct err *e)
{
	char version[64];
	int format = 0;

	snprintf(version, sizeof(version), "PRAGMA user_version = %d",
		 INDEX_FORMAT);
	/* what is lost in a crash is made anew; who else is at it is waited
	 * for once, before anything is read */
	if (run_text(x, "PRAGMA synchronous = OFF", e) < 0 ||
	    run_text(x, "BEGIN IMMEDIATE", e) < 0 ||
	    read_format(x, &format, e) < 0) {
		return -1;
	}
	x->other_format = format != 0 && format != INDEX_FORMAT;
	if (x->other_format) {
		return err_set(e, 0, "the index of the history has format %d",
			       format);
	}
	if (format == 0 && (run_text(x, tables, e) < 0 ||
			    run_text(x, version, e) < 0)) {
		return -1;
	}
	for (int i = 0; i < QUERIES; i++) {
		if (sqlite3_prepare_v2(x->db, queries[i], -1, &x->q[i],
				       NULL) != SQLITE_OK) {
			return broken(x, "read", e);
		}
	}
	return 0;
}

static void index_close(struct index *x)
{
	if (!x) {
		return;
	}
	for (int i = 0; i < QUERIES; i++) {
		sqlite3_finalize(x->q[i]);
	}
	if (x->db) {
		/* half of a run must not look like all of it */
		sqlite3_exec(x->db, x->code == SQLITE_OK ? "COMMIT" :
			     "ROLLBACK", NULL, NULL, NULL);
	}
	sqlite3_close(x->db);
	free(x);
}

/* ---- what is new or gone ------------------------------------------------- */

static sqlite3_stmt *begin(struct index *x, enum query i)
{
	sqlite3_reset(x->q[i]);
	sqlite3_clear_bindings(x->q[i]);
	return x->q[i];
}

static void bind_text(sqlite3_stmt *q, int at, const char *text)
{
	sqlite3_bind_text(q, at, text, -1, SQLITE_TRANSIENT);
}

/** Run one that has no rows; -1 with @e. */
static int finish(struct index *x, sqlite3_stmt *q, struct err *e)
{
	const int rc = sqlite3_step(q);

	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : broken(x, "write", e);
}

/** Two queries, of the levels and of the runs that are gone. */
static int forget(struct index *x, enum query nodes, enum query runs,
		  const char *name, struct err *e)
{
	sqlite3_stmt *q = begin(x, nodes);

	bind_text(q, 1, name);
	if (finish(x, q, e) < 0) {
		return -1;
	}
	q = begin(x, runs);
	bind_text(q, 1, name);
	return finish(x, q, e);
}

/** @json, which is released, as the text of parameter @at. */
static int bind_json(struct index *x, sqlite3_stmt *q, int at, json_t *json,
		     struct err *e)
{
	struct str text = STR_INIT;
	int rc = 0;

	json_add(json, JSON_COMPACT | JSON_REAL_PRECISION(9), &text);
	if (text.failed) {
		x->code = SQLITE_NOMEM;
		rc = err_set(e, ENOMEM, "cannot write the index of the "
			     "history");
	}
	bind_text(q, at, str_text(&text));
	str_release(&text);
	json_decref(json);
	return rc;
}

static int add_nodes(struct index *x, const struct summary *s, struct err *e)
{
	const sqlite3_int64 run = sqlite3_last_insert_rowid(x->db);

	for (size_t i = 0; i < s->n_nodes; i++) {
		sqlite3_stmt *q = begin(x, Q_ADD_NODE);

		sqlite3_bind_int64(q, 1, run);
		bind_text(q, 2, s->nodes[i].name);
		if (bind_json(x, q, 3, summary_node_json(&s->nodes[i]), e) <
			    0 || finish(x, q, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/**
 * Read @f, and keep it: 0.  1 with @e where it is no summary, or cannot be
 * read: it may be a copy that is not whole yet, or a disk that does not answer
 * now, so nothing is kept of it and the next one tries again.  -1 with @e.
 */
static int add(struct index *x, const struct index_file *f, struct err *e)
{
	sqlite3_stmt *q = begin(x, Q_ADD);
	struct summary s = { 0 };
	struct summary head;
	size_t len = 0;
	char *text = rundir_read_text(x->dir, f->name, SUMMARY_BYTES, &len, e);
	int rc = text && summary_parse(text, len, &s, e) == 0 ? 0 : 1;

	free(text);
	if (rc == 0) {
		head = s;
		head.n_nodes = 0;
		bind_text(q, 1, f->name);
		sqlite3_bind_int64(q, 2, f->changed_ns);
		sqlite3_bind_int64(q, 3, f->size);
		rc = bind_json(x, q, 4, summary_json(&head), e) < 0 ||
		     finish(x, q, e) < 0 || add_nodes(x, &s, e) < 0 ? -1 : 0;
	}
	summary_release(&s);
	return rc;
}

static struct index *open_once(const char *path, const char *dir,
			       const char *oldest, bool *rubbish,
			       struct err *e)
{
	struct index *x = calloc(1, sizeof(*x));
	int rc = -1;

	*rubbish = false;
	if (!x) {
		err_set(e, ENOMEM, "cannot open the index of the history");
		return NULL;
	}
	x->dir = dir;
	if (sqlite3_open_v2(path, &x->db, SQLITE_OPEN_READWRITE |
			    SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
			    NULL) != SQLITE_OK) {
		broken(x, "open", e);
	} else {
		sqlite3_busy_timeout(x->db, BUSY_MS);
		rc = set_up(x, e) < 0 ? -1 :
		     forget(x, Q_OLD_NODES, Q_OLD, oldest, e);
	}
	if (rc == 0) {
		return x;
	}
	/* no other error, such as one of the disk or of a lock, says anything
	 * of what is in the file */
	*rubbish = x->other_format || x->code == SQLITE_NOTADB ||
		   x->code == SQLITE_CORRUPT || x->code == SQLITE_ERROR;
	index_close(x);
	return NULL;
}

/* Open the database at @path, made where it is none, for the files of @dir, of
 * which @oldest is the first; what it has of older ones is forgotten.  NULL
 * with @e: it cannot be had, or others have been at it for two seconds.
 * index_close() closes, and keeps what was added unless something failed. */
static struct index *index_open(const char *path, const char *dir,
				const char *oldest, struct err *e)
{
	bool rubbish;
	struct index *x = open_once(path, dir, oldest, &rubbish, e);

	if (!x && rubbish) {
		unlink(path);
		x = open_once(path, dir, oldest, &rubbish, e);
	}
	if (x) {
		*e = (struct err){ 0 };
	}
	return x;
}

/* ---- one run ------------------------------------------------------------ */

/** 0; 1 with @e: what is kept is no summary; -1 with @e. */
static int take_nodes(struct index *x, sqlite3_int64 run, struct summary *s,
		      struct err *e)
{
	sqlite3_stmt *q = begin(x, Q_NODES);
	int rc, bad = 0;

	sqlite3_bind_int64(q, 1, run);
	while (!bad && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		const char *body = (const char *)sqlite3_column_text(q, 0);

		bad = summary_parse_node(body ? body : "",
					 (size_t)sqlite3_column_bytes(q, 0), s,
					 e);
	}
	rc = bad ? 1 : rc == SQLITE_DONE ? 0 : broken(x, "read", e);
	sqlite3_reset(q);
	return rc;
}

/** Where the answer of Q_RUN is of @f as it is; 0: it has another one, or none;
 *  -1 with @e. */
static int is_known(struct index *x, const struct index_file *f,
		    struct err *e)
{
	sqlite3_stmt *q = begin(x, Q_RUN);
	int rc;

	bind_text(q, 1, f->name);
	rc = sqlite3_step(q);
	if (rc != SQLITE_ROW) {
		return rc == SQLITE_DONE ? 0 : broken(x, "read", e);
	}
	return sqlite3_column_int64(q, 2) == f->changed_ns &&
	       sqlite3_column_int64(q, 3) == f->size;
}

/** Read the row at which Q_RUN is. Returns 0; 1 with @e if it is damaged; -1
 *  with @e. */
static int take_row(struct index *x, struct summary *s, struct err *e)
{
	sqlite3_stmt *q = x->q[Q_RUN];
	const char *head = (const char *)sqlite3_column_text(q, 1);
	int rc = summary_parse(head ? head : "",
			       (size_t)sqlite3_column_bytes(q, 1), s, e);

	rc = rc < 0 ? 1 : take_nodes(x, sqlite3_column_int64(q, 0), s, e);
	if (rc != 0) {
		summary_release(s);
	}
	return rc;
}

/* The run of @f; a file that is new or changed is read, and one that was none
 * the last time.  0; 1 with @e: it cannot be read, or is no summary; -1 with
 * @e: the index is broken. */
static int index_run(struct index *x, const struct index_file *f,
		     struct summary *s, struct err *e)
{
	const int known = is_known(x, f, e);
	int rc;

	*s = (struct summary){ 0 };
	rc = known < 0 ? -1 : known > 0 ? take_row(x, s, e) : 1;
	sqlite3_reset(x->q[Q_RUN]);
	if (rc <= 0) {
		return rc;
	}
	/* it has none, one of before, or one that is damaged */
	rc = forget(x, Q_FORGET_NODES, Q_FORGET, f->name, e) < 0 ?
		     -1 : add(x, f, e);
	if (rc == 0) {
		rc = is_known(x, f, e) > 0 && take_row(x, s, e) == 0 ?
			     0 : broken(x, "read", e);
		sqlite3_reset(x->q[Q_RUN]);
	}
	return rc;
}

/* ---- store --------------------------------------------------------------- */

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

struct store_files {
	struct index_file *list;
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	const struct index_file *p = a, *q = b;

	return strcmp(p->name, q->name);
}

static int list_files(const char *dir, struct store_files *f, struct err *e)
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
	struct store_files f = { NULL, 0 };
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
