/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/history/index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

/** Of the tables below: another one is made anew. */
#define INDEX_FORMAT 1
/** How long another process may be at it. */
#define BUSY_MS 2000

enum query { Q_ADD, Q_ADD_NODE, Q_FORGET_NODES, Q_FORGET, Q_OLD_NODES, Q_OLD,
	     Q_RUN, Q_NODES, Q_NODE, QUERIES };

static const char *const queries[QUERIES] = {
	[Q_ADD] = "INSERT INTO run (name, changed_ns, size, head, why) "
		  "VALUES (?1, ?2, ?3, ?4, ?5)",
	[Q_ADD_NODE] = "INSERT OR REPLACE INTO node (run, node, body) "
		       "VALUES (?1, ?2, ?3)",
	[Q_FORGET_NODES] = "DELETE FROM node WHERE run IN "
			   "(SELECT id FROM run WHERE name = ?1)",
	[Q_FORGET] = "DELETE FROM run WHERE name = ?1",
	[Q_OLD_NODES] = "DELETE FROM node WHERE run IN "
			"(SELECT id FROM run WHERE name < ?1)",
	[Q_OLD] = "DELETE FROM run WHERE name < ?1",
	[Q_RUN] = "SELECT id, head, why, changed_ns, size FROM run "
		  "WHERE name = ?1",
	[Q_NODES] = "SELECT body FROM node WHERE run = ?1 ORDER BY place",
	/* pretend nodes of a machine are HOST/n0, ...; '0' is behind '/' */
	[Q_NODE] = "SELECT body FROM node WHERE run = ?1 AND (node = ?2 OR "
		   "(node >= ?2 || '/' AND node < ?2 || '0'))",
};

static const char tables[] =
	"CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT UNIQUE, "
	"changed_ns INTEGER, size INTEGER, head TEXT, why TEXT);"
	"CREATE TABLE node (place INTEGER PRIMARY KEY, run INTEGER, "
	"node TEXT COLLATE NOCASE, body TEXT, UNIQUE (run, node));";

struct index {
	sqlite3 *db;
	sqlite3_stmt *q[QUERIES];
	const char *dir;	/* of the files; borrowed */
};

static int broken(struct index *x, const char *what, struct err *e)
{
	return err_set(e, 0, "cannot %s the index of the history: %s", what,
		       x->db ? sqlite3_errmsg(x->db) : "no memory");
}

static int run_text(struct index *x, const char *sql, struct err *e)
{
	return sqlite3_exec(x->db, sql, NULL, NULL, NULL) == SQLITE_OK ?
		       0 : broken(x, "set up", e);
}

static int format_of(struct index *x)
{
	sqlite3_stmt *q = NULL;
	int format = -1;

	if (sqlite3_prepare_v2(x->db, "PRAGMA user_version", -1, &q, NULL) ==
		    SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
		format = sqlite3_column_int(q, 0);
	}
	sqlite3_finalize(q);
	return format;
}

static int set_up(struct index *x, struct err *e)
{
	char version[64];
	const int format = format_of(x);

	snprintf(version, sizeof(version), "PRAGMA user_version = %d",
		 INDEX_FORMAT);
	/* what is lost in a crash is made anew */
	if (run_text(x, "PRAGMA synchronous = OFF", e) < 0 ||
	    run_text(x, "BEGIN IMMEDIATE", e) < 0) {
		return -1;
	}
	if (format != 0 && format != INDEX_FORMAT) {
		return err_set(e, 0, "the index of the history has format %d",
			       format);
	}
	if (format_of(x) == 0 && (run_text(x, tables, e) < 0 ||
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

void index_close(struct index *x)
{
	if (!x) {
		return;
	}
	for (int i = 0; i < QUERIES; i++) {
		sqlite3_finalize(x->q[i]);
	}
	if (x->db) {
		sqlite3_exec(x->db, "COMMIT", NULL, NULL, NULL);
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
static void bind_json(sqlite3_stmt *q, int at, json_t *json)
{
	struct str text = STR_INIT;

	json_add(json, JSON_COMPACT | JSON_REAL_PRECISION(9), &text);
	bind_text(q, at, str_text(&text));
	str_release(&text);
	json_decref(json);
}

static int add_nodes(struct index *x, const struct summary *s, struct err *e)
{
	const sqlite3_int64 run = sqlite3_last_insert_rowid(x->db);

	for (size_t i = 0; i < s->n_nodes; i++) {
		sqlite3_stmt *q = begin(x, Q_ADD_NODE);

		sqlite3_bind_int64(q, 1, run);
		bind_text(q, 2, s->nodes[i].name);
		bind_json(q, 3, summary_node_json(&s->nodes[i]));
		if (finish(x, q, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/** Read @f, and keep it; one that is no summary as such. */
static int add(struct index *x, const struct index_file *f, struct err *e)
{
	sqlite3_stmt *q = begin(x, Q_ADD);
	struct summary s = { 0 };
	struct err why = { 0 };
	size_t len = 0;
	char *text = rundir_read_text(x->dir, f->name, SUMMARY_BYTES, &len,
				      &why);
	const bool good = text && summary_parse(text, len, &s, &why) == 0;
	struct summary head = s;
	int rc;

	free(text);
	head.n_nodes = 0;
	bind_text(q, 1, f->name);
	sqlite3_bind_int64(q, 2, f->changed_ns);
	sqlite3_bind_int64(q, 3, f->size);
	if (good) {
		bind_json(q, 4, summary_json(&head));
	} else {
		bind_text(q, 5, why.text);
	}
	rc = finish(x, q, e);
	rc = rc == 0 && good ? add_nodes(x, &s, e) : rc;
	summary_release(&s);
	return rc;
}

static struct index *open_once(const char *path, const char *dir,
			       const char *oldest, bool *busy, struct err *e)
{
	struct index *x = calloc(1, sizeof(*x));
	int rc = -1, code;

	*busy = true;
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
	code = x->db ? sqlite3_errcode(x->db) : SQLITE_NOMEM;
	*busy = code == SQLITE_BUSY || code == SQLITE_FULL ||
		code == SQLITE_NOMEM || code == SQLITE_READONLY ||
		code == SQLITE_CANTOPEN;
	index_close(x);
	return NULL;
}

struct index *index_open(const char *path, const char *dir, const char *oldest,
			 struct err *e)
{
	bool busy;
	struct index *x = open_once(path, dir, oldest, &busy, e);

	if (!x && !busy) {
		/* it is damaged, or of another version */
		unlink(path);
		x = open_once(path, dir, oldest, &busy, e);
	}
	if (x) {
		*e = (struct err){ 0 };
	}
	return x;
}

/* ---- one run ------------------------------------------------------------ */

static int take_nodes(struct index *x, sqlite3_int64 run, const char *node,
		      struct summary *s, struct err *e)
{
	sqlite3_stmt *q = begin(x, node ? Q_NODE : Q_NODES);
	int rc, bad = 0;

	sqlite3_bind_int64(q, 1, run);
	if (node) {
		bind_text(q, 2, node);
	}
	while (!bad && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		const char *body = (const char *)sqlite3_column_text(q, 0);

		bad = summary_parse_node(body ? body : "",
					 (size_t)sqlite3_column_bytes(q, 0), s,
					 e);
	}
	sqlite3_reset(q);
	return bad ? -1 : rc == SQLITE_DONE ? 0 : broken(x, "read", e);
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
	return sqlite3_column_int64(q, 3) == f->changed_ns &&
	       sqlite3_column_int64(q, 4) == f->size;
}

/** Of the row that Q_RUN is at. */
static int take_row(struct index *x, const char *node, struct summary *s,
		    struct err *e)
{
	sqlite3_stmt *q = x->q[Q_RUN];
	const char *head = (const char *)sqlite3_column_text(q, 1);
	int rc;

	if (!head) {
		const char *why = (const char *)sqlite3_column_text(q, 2);

		err_set(e, 0, "%s", why ? why : "no summary");
		return 1;
	}
	rc = summary_parse(head, (size_t)sqlite3_column_bytes(q, 1), s, e);
	rc = rc == 0 ? take_nodes(x, sqlite3_column_int64(q, 0), node, s, e) :
		       rc;
	if (rc < 0) {
		summary_release(s);
	}
	return rc;
}

int index_run(struct index *x, const struct index_file *f, const char *node,
	      struct summary *s, struct err *e)
{
	int known = is_known(x, f, e);
	int rc = known < 0 ? -1 : 0;

	*s = (struct summary){ 0 };
	if (known == 0) {
		sqlite3_reset(x->q[Q_RUN]);
		rc = forget(x, Q_FORGET_NODES, Q_FORGET, f->name, e) < 0 ||
		     add(x, f, e) < 0 ? -1 : 0;
		known = rc == 0 ? is_known(x, f, e) : -1;
	}
	rc = known > 0 ? take_row(x, node, s, e) :
	     rc == 0 ? broken(x, "read", e) : rc;
	sqlite3_reset(x->q[Q_RUN]);
	return rc;
}
