/* SPDX-License-Identifier: BSD-3-Clause */
/* How a run ends, whatever its work is. */
#include "probes/engine/coord/work.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"

#define LEAVE_NS      (5 * NS_PER_S)
#define LEAVE_TICK_MS 5 /* the front end waits for the end */
/* Slurm ends the processes of a step within so long. */
#define SETTLE_NS     (2 * NS_PER_S)

/* Sets the error that ends the run, with a hint if it is a resource limit.
 * From here on the disk space kept for the end of the run may be used. */
static void take_error(struct coord *c, const struct err *e, int exit_code)
{
	c->error = *e;
	c->error_exit = exit_code;
	limit_hint(&c->error, &(struct limit_user){ .who = "coordinator",
						   .dir = c->log->dir });
	run_log_use_room(c->log);
}

int coord_write_run(struct coord *c, bool ended, struct err *e)
{
	json_t *run = c->log->run;
	const struct coord_agent *a = agents_next(c->agents, NULL);
	char utc[CLOCK_UTC_SIZE];
	struct stat st;

	if (c->work != NULL) {
		c->kind->put_plan(c->work, run);
	}
	/* when the first test could begin, and the size of results.csv then:
	 * what is added since tells how fast this run is */
	if (c->work != NULL && run_file(run).planned.given &&
	    !run_file(run).measuring.given &&
	    fstat(c->log->results.fd, &st) == 0) {
		json_object_set_new(run, "measuring", run_part_json(
			"measuring", &(struct run_file){ .measuring = {
				.since_utc = clock_utc(utc),
				.after_B = st.st_size } }));
	}
	json_object_set_new(run, "strict", json_boolean(c->spec.strict));
	if (c->spec.slow_percent > 0) {
		json_object_set_new(run, "slow_percent",
				    json_integer(c->spec.slow_percent));
	}
	if (a != NULL) {
		json_object_set(run, "environment",
				inventory_seen(a->inventory).env);
	}
	if (c->error.text[0] != '\0') {
		json_object_set_new(run, "error",
				    run_error_json(&c->error, c->error_exit));
	}
	if (ended) {
		json_object_set_new(run, "ended_utc",
				    json_string(clock_utc(utc)));
	}
	if (ended || c->stop_reason[0] != '\0') {
		json_object_set_new(run, "stop_reason",
				    json_string(c->stop_reason));
	}
	return run_log_write(c->log, e);
}

void coord_leave(struct coord *c)
{
	struct err e = { 0 };
	struct rusage u;
	double cpu_us;

	if (c->phase == COORD_RUN && c->lost_ns > 0 &&
	    c->error.text[0] == '\0') {
		c->phase = COORD_SETTLE;
		c->settle_ns = c->lost_ns + SETTLE_NS < c->end_ns ?
				       c->lost_ns + SETTLE_NS : c->end_ns;
	}
	if (c->phase == COORD_LEAVE ||
	    (c->phase == COORD_SETTLE && clock_now_ns() < c->settle_ns)) {
		return;
	}
	coord_flush_rows(c);
	run_log_use_room(c->log);
	c->phase = COORD_LEAVE;
	c->leave_deadline_ns = clock_now_ns() + LEAVE_NS;
	if (c->work != NULL && !c->full) {
		c->kind->write_facts(c->work);
		rundir_table_flush(&c->log->facts, NULL);
	}
	getrusage(RUSAGE_SELF, &u);
	cpu_us = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
		 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	run_log_event(c->log, NULL, -1, "coordinator_cpu",
		      "%.0f us, %zu tasks, %.1f us a task, max rss %ld KiB",
		      cpu_us, c->tasks_done,
		      c->tasks_done > 0 ? cpu_us / (double)c->tasks_done : 0,
		      u.ru_maxrss);
	run_log_event(c->log, NULL, -1, "end", "%s",
		      c->stop_reason[0] ? c->stop_reason : "complete");
	if (coord_write_run(c, true, &e) < 0 && c->error.text[0] == '\0') {
		take_error(c, &e, 3);
		coord_write_run(c, true, NULL);
	}
	agents_dismiss(c->agents);
	uv_timer_set_repeat(&c->tick, LEAVE_TICK_MS);
	uv_timer_again(&c->tick);
}

void coord_fail(struct coord *c, const struct err *e, int exit_code)
{
	take_error(c, e, exit_code);
	STR_COPY(c->stop_reason, "failed");
	run_log_event(c->log, NULL, -1, "failed", "%s", e->text);
	coord_leave(c);
}

void coord_stop(struct coord *c, const char *reason)
{
	if (c->phase >= COORD_STOP) {
		return;
	}
	STR_COPY(c->stop_reason, reason);
	c->stop_code = strcmp(reason, "max_time") == 0 ? "out_of_time"
						       : "interrupted";
	run_log_event(c->log, NULL, -1, "stop", "%s", reason);
	if (c->phase == COORD_BOOT) {
		coord_leave(c);
		return;
	}
	c->phase = COORD_STOP;
	coord_write_run(c, false, NULL); /* there may be no time later */
	c->stop_deadline_ns = clock_now_ns() + COORD_STOP_NS;
	if (c->kind->stop != NULL) {
		c->kind->stop(c->work);
	}
}

void coord_break(struct coord *c, const struct err *e, const char *reason)
{
	if (c->error.text[0] == '\0') {
		take_error(c, e, 3);
		coord_stop(c, reason);
	}
}

const char *coord_missing(const struct coord *c, const char *code)
{
	return c->hurried ? "out_of_time" :
	       c->starved ? RECORD_STARVED : code;
}

/* No row of what was not measured takes the room of why. */
static void disk_failed(struct coord *c, const struct err *e)
{
	c->full = true;
	coord_break(c, e, "write_error");
}

void coord_write_row(struct coord *c, const void *row)
{
	struct err e = { 0 };

	if (!c->full && rundir_table_put(&c->log->results, row, &e) < 0) {
		disk_failed(c, &e);
	}
}

void coord_flush_rows(struct coord *c)
{
	struct err e = { 0 };

	rundir_table_flush(&c->log->facts, NULL);
	if (!c->full && rundir_table_flush(&c->log->results, &e) < 0) {
		disk_failed(c, &e);
	}
}
