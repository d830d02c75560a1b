/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"

/* Diagnoses that are kept of one run. */
#define MAX_ASIDE 1000

struct run_log *run_log_open(const char *dir, struct err *e)
{
	struct run_log *log = calloc(1, sizeof(*log));

	if (log == NULL) {
		err_set(e, ENOMEM, "no memory for a run");
		return NULL;
	}
	log->dir = dir;
	log->room_fd = -1;
	if (rundir_check_trust(dir, e) == 0) {
		log->run = rundir_read_run(dir, e);
		log->resumes = log->waits = rundir_has(dir, RUN_RESUME);
	}
	if (log->run == NULL) {
		run_log_close(log);
		return NULL;
	}
	return log;
}

/* Say in run.json, once, that @t lacks lines. */
static void note_lost(json_t *run, const struct rundir_table *t)
{
	json_t *notes = run_file(run).notes, *note;
	bool noted = t->lost == 0;
	char text[256];
	size_t i;

	if (!noted) {
		snprintf(text, sizeof(text), "%s lacks lines: %s",
			 t->schema->name, strerror(t->lost));
	}
	if (!noted && notes == NULL) {
		notes = json_array();
		json_object_set_new(run, "notes", notes);
	}
	json_array_foreach(notes, i, note) {
		noted = noted || (json_is_string(note) &&
				  strcmp(json_string_value(note), text) == 0);
	}
	if (!noted) {
		json_array_append_new(notes, json_string(text));
	}
}

int run_log_write(struct run_log *log, struct err *e)
{
	char folder[32], rows[64];
	int n = 0, at;

	note_lost(log->run, &log->facts);
	note_lost(log->run, &log->events);
	if (log->waits) {
		return rundir_write_json(log->dir, RUN_RESUME, log->run, e);
	}
	if (rundir_write_json(log->dir, RUN_JSON, log->run, e) < 0) {
		return -1;
	}
	if (!log->resumes) {
		return 0;
	}
	/* The diagnosis of the run before says nothing about this one: move it,
	 * if there is one, to DIR/diagnose-N. */
	do {
		snprintf(folder, sizeof(folder), "diagnose-%d", ++n);
	} while (rundir_has(log->dir, folder) && n < MAX_ASIDE);
	snprintf(rows, sizeof(rows), "diagnose/%s.csv", folder);
	at = rundir_at(log->dir);
	renameat(at, RUN_DIAGNOSE, at, rows);
	renameat(at, "diagnose", at, folder);
	rundir_shut(at);
	rundir_remove(log->dir, RUN_RESUME);
	log->resumes = false;
	return 0;
}

void run_log_close(struct run_log *log)
{
	if (log != NULL) {
		/* the rendezvous has a secret, and says that there is a
		 * coordinator */
		if (log->results.schema != NULL) {
			rundir_remove(log->dir, RUN_RENDEZVOUS);
		}
		if (log->waits) {
			str_reset(&log->events.lines);
		}
		rundir_table_close(&log->results);
		rundir_table_close(&log->facts);
		rundir_table_close(&log->events);
		run_log_use_room(log);
		json_decref(log->run);
		free(log);
	}
}

void run_log_use_room(struct run_log *log)
{
	if (log->room_fd >= 0) {
		close(log->room_fd);
		log->room_fd = -1;
	}
}

static int take_event(void *arg, const void *row, struct err *e)
{
	struct run_log *log = arg;
	const struct event_row *r = row;

	(void)e;
	if (r->seq >= log->event_seq && r->seq < INT64_MAX) {
		log->event_seq = r->seq + 1;
	}
	return RUNDIR_KEEP;
}

int run_log_begin(struct run_log *log, const struct schema *schema,
		  struct err *e)
{
	if (rundir_table_open(&log->events, log->dir, &schema_events, e) < 0 ||
	    rundir_hold(log->events.fd, e) < 0 ||
	    rundir_table_walk(log->dir, &schema_events, false, take_event, log,
			      NULL, e) < 0) {
		return -1;
	}
	if (rundir_table_open(&log->facts, log->dir, &schema_facts, e) < 0) {
		return -1;
	}
	return rundir_table_open(&log->results, log->dir, schema, e);
}

int run_log_sift(struct run_log *log,
		 int (*look)(void *arg, const void *row, struct err *e),
		 int (*keep)(void *arg, const void *row, struct err *e),
		 void *arg, size_t *left_out, struct err *e)
{
	const struct schema *s = log->results.schema;

	rundir_table_close(&log->results);
	if (rundir_table_walk(log->dir, s, false, look, arg, NULL, e) < 0 ||
	    rundir_table_walk(log->dir, s, true, keep, arg, left_out, e) < 0) {
		return -1;
	}
	return rundir_table_open(&log->results, log->dir, s, e);
}

void run_log_fact(struct run_log *log, const char *node, const char *scope,
		  const char *fact, const char *value, const char *unit,
		  const char *source)
{
	struct fact_row r;

	record_init(&schema_facts, &r);
	STR_COPY(r.node, node);
	STR_COPY(r.scope, scope);
	STR_COPY(r.fact, fact);
	STR_COPY(r.value, value);
	STR_COPY(r.unit, unit);
	STR_COPY(r.source, source);
	rundir_table_put(&log->facts, &r, NULL);
}

void run_log_event(struct run_log *log, const char *node, int rank,
		   const char *event, const char *fmt, ...)
{
	char detail[sizeof(((struct event_row *)0)->detail)];
	struct event_row r;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	record_init(&schema_events, &r);
	clock_utc(r.utc);
	r.seq = log->event_seq++;
	if (node != NULL) {
		STR_COPY(r.node, node);
	}
	if (rank >= 0) {
		r.rank = rank;
	}
	STR_COPY(r.event, event);
	STR_COPY(r.detail, detail);
	/* a full disk shows at the results, which matter more */
	if (log->waits) {
		rundir_table_put(&log->events, &r, NULL);
	} else {
		rundir_table_add(&log->events, &r, NULL);
	}
}

void run_log_sign(struct run_log *log, int64_t now_ns)
{
	if (now_ns - log->sign_ns >= RUN_SIGN_NS) {
		log->sign_ns = now_ns;
		futimens(log->events.fd, NULL);
	}
}
