/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/node/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/data/cbor.h"
#include "lib/data/record_rows.h"
#include "lib/data/schema.h"
#include "probes/engine/net/wire.h"

static struct wire_fd wire = { .fd = STDIN_FILENO, .way = MSG_TO_WORKER };

void node_task_say(const char *what, json_t *json)
{
	json_t *said = json_pack("{s:o}", what, json);
	struct str entry = STR_INIT;

	cbor_add(said, &entry);
	if (wire_fd_send_entry(&wire, MSG_NODE_SAID, &entry, INT64_MAX,
			       NULL) < 0) {
		_exit(3);	/* the agent is gone */
	}
	str_release(&entry);
	json_decref(said);
}

void node_task_row(const struct schema *schema, const void *row)
{
	node_task_say("row", record_json(schema, row));
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
	node_task_say("fact", record_json(&schema_facts, &row));
}

void node_task_facts(json_t *facts)
{
	struct fact_row row;
	json_t *f;
	size_t i;

	json_array_foreach(facts, i, f) {
		if (record_from_json(&schema_facts, f, &row, NULL) == 0) {
			node_task_say("fact", record_json(&schema_facts, &row));
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

static void hear_message(void *arg, json_t *msg)
{
	const char *what = message_type(msg) == MSG_NODE_TASK ? "args" : "line";
	json_t **told = arg;

	json_decref(*told);
	*told = json_incref(json_object_get(msg, what));
}

int node_task_hear(json_t **told, int64_t deadline_ns)
{
	static const struct wire_events events = { .message = hear_message };
	int rc;

	*told = NULL;
	rc = wire_fd_hear(&wire, &events, told, deadline_ns, NULL);
	return rc > 0 && *told == NULL ? -1 : rc;
}

const struct field node_args_fields[] = {
	FIELD(node_args, node, "node", TEXT, 0, 0, ""),
	FIELD(node_args, number, "number", INT, 0, SPEC_MAX_NODES, "",
	      .optional = FIELD_OMITTED),
	FIELD(node_args, options, "options", OBJECT, 0, 0, ""),
	FIELD(node_args, drill, "drill", LINK, 0, 0, "",
	      .optional = FIELD_OMITTED), { 0 }
};

int node_task_child_main(int (*child)(const struct node_args *args,
				      struct err *e), struct err *e)
{
	struct node_args a = { .number = 0 };
	json_t *args;
	int rc;

	/* what a library prints is no message, nor is the socket for others */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	fcntl(STDIN_FILENO, F_SETFD, FD_CLOEXEC);
	if (node_task_hear(&args, INT64_MAX) <= 0) {
		err_set(e, EPROTO, "no task was received on stdin");
		err_hint(e, "this process is started by gpucheck itself");
		return 3;
	}
	rc = schema_read(node_args_fields, &a, args, e) < 0 ||
			     spec_from_json(&a.spec, a.options, e) < 0 ?
		     -1 : child(&a, e);
	json_decref(args);
	wire_buf_release(&wire.in);
	return rc < 0 ? 3 : 0;
}
