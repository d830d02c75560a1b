/* SPDX-License-Identifier: BSD-3-Clause */
/* The other end of node_task.c: what runs in the child. */
#include "probes/node_task.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/str.h"

/* Options and a node's name: a page of text would be much. */
#define ARGS_MAX (256 * 1024)

static void say(const char *what, json_t *json)
{
	json_t *line = json_pack("{s:o}", what, json);
	char *text = json_dumps(line, JSON_COMPACT);
	struct str out = STR_INIT;

	if (text != NULL) {
		str_add(&out, text);
		str_addch(&out, '\n');
	}
	/* one write: a child that is killed leaves whole lines */
	if (out.len > 0 && write(STDOUT_FILENO, out.data, out.len) < 0) {
		_exit(3);	/* nobody listens any more */
	}
	str_release(&out);
	free(text);
	json_decref(line);
}

void node_task_row(const struct schema *schema, const void *row)
{
	say("row", record_json(schema, row));
}

void node_task_fact(const struct fact_row *row)
{
	say("fact", record_json(&schema_facts, row));
}

static json_t *read_args(struct err *e)
{
	struct str text = STR_INIT;
	char part[4096];
	json_t *args;
	ssize_t n;

	while ((n = read(STDIN_FILENO, part, sizeof(part))) != 0 &&
	       text.len <= ARGS_MAX) {
		if (n > 0) {
			str_addmem(&text, part, (size_t)n);
		} else if (errno != EINTR) {
			break;
		}
	}
	args = json_parse(str_text(&text), text.len, e);
	str_release(&text);
	return args;
}

int node_task_child_main(const struct probe *probe, struct err *e)
{
	json_t *args = read_args(e);
	int rc;

	if (args == NULL) {
		err_hint(e, "this process is started by gpucheck itself");
		return 3;
	}
	rc = probe->child(args, e);
	json_decref(args);
	return rc < 0 ? 3 : 0;
}
