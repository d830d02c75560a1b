/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/coordinator.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"

int coord_files_open(struct coord *c, struct err *e)
{
	if (rundir_table_open(&c->events, c->dir, &schema_events, e) < 0 ||
	    rundir_hold(c->events.fd, e) < 0 ||
	    coord_resume_events(c, e) < 0 ||
	    rundir_table_open(&c->facts, c->dir, &schema_facts, e) < 0 ||
	    rundir_table_open(&c->results, c->dir, c->probe->schema,
			      e) < 0) {
		return -1;
	}
	return 0;
}

void coord_files_close(struct coord *c)
{
	rundir_table_close(&c->results);
	rundir_table_close(&c->facts);
	rundir_table_close(&c->events);
}

void coord_event(struct coord *c, const char *node, int rank,
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
	r.seq = c->event_seq++;
	if (node != NULL) {
		STR_COPY(r.node, node);
	}
	if (rank >= 0) {
		r.rank = rank;
	}
	STR_COPY(r.event, event);
	STR_COPY(r.detail, detail);
	/* a full disk shows at the results, which matter more */
	rundir_table_add(&c->events, &r, NULL);
}

void coord_fact(struct coord *c, const char *node, const char *scope,
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
	rundir_table_add(&c->facts, &r, NULL);
}

static const char *member(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s != NULL ? s : "";
}

bool coord_fact_of_run(const json_t *fact)
{
	return strcmp(member(fact, "scope"), "run") == 0;
}

/*
 * What @a calls gpu0 and its node otherwise: other GPUs than its only one are
 * hidden from it, and for others to speak of; NULL then.
 */
static const char *node_scope(const struct coord_agent *a, const char *scope,
			      char buf[64])
{
	if (a->only_gpu < 0 || !str_starts(scope, "gpu") ||
	    !isdigit((unsigned char)scope[3])) {
		return scope;
	}
	if (scope[3] != '0' || isdigit((unsigned char)scope[4])) {
		return NULL;
	}
	snprintf(buf, 64, "gpu%d%s", a->only_gpu, scope + 4);
	return buf;
}

void coord_facts(struct coord *c, const char *name,
		 const struct coord_agent *a, const json_t *facts)
{
	const char *scope;
	char buf[64];
	size_t i;
	json_t *f;

	json_array_foreach(facts, i, f) {
		if (coord_fact_of_run(f)) {
			continue;	/* once, in run.json */
		}
		scope = node_scope(a, member(f, "scope"), buf);
		if (scope != NULL) {
			coord_fact(c, name, scope, member(f, "fact"),
				   member(f, "value"), member(f, "unit"),
				   member(f, "source"));
		}
	}
}

void coord_inventory_facts(struct coord *c, const char *name,
			   const struct coord_agent *a)
{
	coord_facts(c, name, a, json_object_get(a->inventory, "facts"));
	if (!a->sees_dir) {
		coord_fact(c, name, "node", "sees_run_dir", "no", "", "agent");
	}
}

int coord_write_run(struct coord *c, bool ended, struct err *e)
{
	char utc[CLOCK_UTC_SIZE];

	if (!coord_resume_misfit(c)) {
		c->work->put_plan(c);
	}
	json_object_set_new(c->run, "strict", json_boolean(c->spec.strict));
	if (c->agents != NULL && c->agents->inventory != NULL) {
		json_object_set(c->run, "environment",
				json_object_get(c->agents->inventory, "env"));
	}
	if (c->error.text[0] != '\0') {
		json_object_set_new(c->run, "error",
				    json_pack("{s:s,s:s,s:i,s:b}", "text",
					      c->error.text, "hint",
					      c->error.hint, "exit",
					      c->error_exit, "absent",
					      c->error.code == ENODEV));
	}
	if (ended) {
		json_object_set_new(c->run, "ended_utc",
				    json_string(clock_utc(utc)));
	}
	if (ended || c->stop_reason[0] != '\0') {
		json_object_set_new(c->run, "stop_reason",
				    json_string(c->stop_reason));
	}
	return rundir_write_json(c->dir, RUN_JSON, c->run, e);
}
