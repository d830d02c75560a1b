/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/node/child.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"

/* Options and a node's name are a page of text; where nodes meet, the
 * addresses of a thousand of them. */
#define LINE_MAX_BYTES (4 * 1024 * 1024)

static void say(const char *what, json_t *json)
{
	json_t *line = json_pack("{s:o}", what, json);
	struct str out = STR_INIT;

	json_add(line, JSON_COMPACT, &out);
	str_addch(&out, '\n');
	/* one write: a child that is killed leaves whole lines */
	if (!out.failed && write(STDOUT_FILENO, out.data, out.len) < 0) {
		_exit(3);	/* nobody listens any more */
	}
	str_release(&out);
	json_decref(line);
}

void node_task_row(const struct schema *schema, const void *row)
{
	say("row", record_json(schema, row));
}

void node_task_fact(const char *scope, const char *fact, const char *source,
		    const char *fmt, ...)
{
	struct fact_row row = { 0 };
	char value[sizeof(row.value)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	STR_COPY(row.scope, scope);
	STR_COPY(row.fact, fact);
	STR_COPY(row.value, value);
	STR_COPY(row.source, source);
	say("fact", record_json(&schema_facts, &row));
}

void node_task_facts(json_t *facts)
{
	struct fact_row row;
	json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		if (record_from_json(&schema_facts, f, &row, NULL) == 0) {
			say("fact", record_json(&schema_facts, &row));
		}
	}
	json_array_clear(facts);
}

void node_task_expected(const struct spec *s)
{
	const char *slurm = getenv("SLURM_GPUS_ON_NODE");
	int64_t n = s->gpus_per_node;

	if (s->local) {
		return;		/* pretend nodes share what is here */
	}
	if (!n && slurm) {
		units_parse_int(slurm, 1, SPEC_MAX_GPUS, &n, NULL);
	}
	if (n) {
		node_task_fact("node", INFO_EXPECTED,
			       s->gpus_per_node ? "--gpus-per-node" :
						  "SLURM_GPUS_ON_NODE",
			       "%" PRId64, n);
	}
}

void node_task_ready(json_t *what)
{
	say("ready", what);
}

void node_task_finished(void)
{
	say("finished", json_true());
}

/* The first line of what has been heard, 1, or 0 when it has no end yet. */
static int take_first(struct node_ear *ear, json_t **line, struct err *e)
{
	const char *text = str_text(&ear->text);
	const char *eol = memchr(text, '\n', ear->text.len);
	size_t len = eol != NULL ? (size_t)(eol - text) : ear->text.len;
	struct str rest = STR_INIT;

	if (eol == NULL && (!ear->ended || len == 0)) {
		return 0;
	}
	*line = json_parse(text, len, e);
	if (eol != NULL) {
		str_addmem(&rest, eol + 1, ear->text.len - len - 1);
	}
	str_release(&ear->text);
	ear->text = rest;
	return *line != NULL ? 1 : -1;
}

int node_task_hear(struct node_ear *ear, json_t **line, struct err *e)
{
	char part[65536];
	ssize_t n = read(STDIN_FILENO, part, sizeof(part));
	int rc;

	if (n < 0) {
		return errno == EINTR || errno == EAGAIN ? 0 : -1;
	}
	ear->ended = n == 0;
	str_addmem(&ear->text, part, (size_t)n);
	if (ear->text.len > LINE_MAX_BYTES) {
		return err_set(e, EMSGSIZE, "a line of more than %d bytes",
			       LINE_MAX_BYTES);
	}
	rc = take_first(ear, line, e);
	return rc == 0 && ear->ended ? -1 : rc;
}

void node_ear_release(struct node_ear *ear)
{
	str_release(&ear->text);
}

static json_t *read_args(struct err *e)
{
	struct node_ear ear = { 0 };
	json_t *args = NULL;
	int rc;

	do {
		rc = node_task_hear(&ear, &args, e);
	} while (rc == 0);
	node_ear_release(&ear);
	if (rc < 0 && e->text[0] == '\0') {
		err_set(e, EPROTO, "nothing was received on stdin");
	}
	return args;
}

int node_task_child_main(int (*child)(const json_t *args, struct err *e),
			 struct err *e)
{
	json_t *args = read_args(e);
	int rc;

	if (args == NULL) {
		err_hint(e, "this process is started by gpucheck itself");
		return 3;
	}
	rc = child(args, e);
	json_decref(args);
	return rc < 0 ? 3 : 0;
}
