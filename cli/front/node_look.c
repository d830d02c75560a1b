/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/node_look.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/exit_code.h"
#include "cli/front/run_json.h"
#include "cli/front/screen.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/engine/agent/node_task.h"
#include "report/judge/memlock_verdict.h"
#include "report/show/judged.h"

/** The look is a child of this process: no launcher. */
#define LAUNCHER "node"

/** As Slurm calls this node, else as it calls itself: as much of it as rows
 *  have room for. */
static const char *node_name(char buf[64])
{
	const char *name = getenv("SLURMD_NODENAME");
	char own[HOST_NAME_MAX + 1] = "";

	if (!name || !name[0]) {
		gethostname(own, sizeof(own) - 1);
		name = own;
	}
	str_copy(buf, 64, name);
	return buf;
}

/** The child's "node_done" about this node; NULL with @e. */
static json_t *look(const struct session *s, const struct probe *probe,
		    struct err *e)
{
	char host[64];
	json_t *args = json_pack("{s:s, s:o}", "node",
				 node_name(host), "options",
				 spec_json(&s->spec));
	json_t *said = args ? node_task_run(probe, args, e) :
			      (err_set(e, ENOMEM, "no memory to look"), NULL);

	json_decref(args);
	return said;
}

/** @node NULL: @json names it. */
static int add_row(struct judged *run, const json_t *json, const char *node,
		   struct err *e)
{
	struct memlock_row row;

	if (record_from_json(&schema_memlock, json, &row, e) < 0) {
		return -1;
	}
	if (node) {
		STR_COPY(row.node, node);
	}
	return memlock_run_add(&run->run, run->more, &row) < 0 ?
		       err_set(e, ENOMEM, "no memory for the rows") : 0;
}

static int add_rows(struct judged *run, const json_t *rows, struct err *e)
{
	json_t *json;
	size_t i;

	json_array_foreach(rows, i, json) {
		if (add_row(run, json, NULL, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/** The run as its directory would have it. */
static int fill_run(const struct session *s, json_t *said,
		    struct judged *run, struct err *e)
{
	char utc[CLOCK_UTC_SIZE], host[64];

	json_object_set_new(run->run.json, "strict",
			    json_boolean(s->spec.strict));
	json_object_set_new(run->run.json, "ended_utc",
			    json_string(clock_utc(utc)));
	run->run.ended = true;
	run->run.strict = s->spec.strict;
	if (add_rows(run, json_object_get(run->run.json, "shell"), e) < 0 ||
	    add_rows(run, json_object_get(said, "rows"), e) < 0) {
		return -1;
	}
	/* a child that crashed or hung has a last row that says so */
	return strcmp(json_member(said, "outcome"), "ok") == 0 ?
		       0 : add_row(run, said, node_name(host), e);
}

/** -o: the same files as any run, then the same words. */
static int keep(const struct session *s, const char *probe,
		const struct judged *run)
{
	const struct memlock_rows *rows = run->more;
	struct rundir_table results = { 0 };
	char dir[PATH_MAX];
	struct err e = { 0 };
	int code = 0;

	if (rundir_create(s->spec.out, probe, dir, &e) < 0) {
		return talk_fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
							   CODE_UNABLE);
	}
	if (rundir_write_json(dir, RUN_JSON, run->run.json, &e) < 0 ||
	    rundir_table_open(&results, dir, &schema_memlock, &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	for (size_t i = 0; i < rows->n && code == 0; i++) {
		code = rundir_table_add(&results, &rows->rows[i], &e);
	}
	rundir_table_close(&results);
	if (code == 0) {
		code = show_run(dir, &s->spec, &e);
	}
	return code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
}

static void print_csv(const struct memlock_rows *rows, struct str *out)
{
	record_add_header(&schema_memlock, out);
	for (size_t i = 0; i < rows->n; i++) {
		record_add_csv(&schema_memlock, &rows->rows[i], out);
	}
}

/** As judged_json(), of rows that are in no file. */
static int print_json(const struct judged *run, struct err *e)
{
	const struct memlock_rows *m = run->more;
	json_t *rows = json_array(), *all;
	int rc;

	for (size_t i = 0; i < m->n; i++) {
		json_array_append_new(rows, record_json(&schema_memlock,
							&m->rows[i]));
	}
	all = json_pack("{s:O, s:o, s:o}", "run", run->run.json, "verdict",
			verdict_json(&run->run, &run->verdict), "rows", rows);
	rc = all ? json_print(all, stdout, JSON_COMPACT) : -1;
	putchar('\n');
	json_decref(all);
	return rc < 0 ? err_set(e, ENOMEM, "cannot write JSON") : 0;
}

static int show(const struct session *s, struct judged *run)
{
	struct str text = STR_INIT;
	struct err e = { 0 };
	int code;

	if (memlock_judge(&run->run, run->more, &run->verdict) < 0) {
		err_set(&e, ENOMEM, "cannot judge the node");
		return talk_fail(&e, CODE_UNABLE);
	}
	code = judged_exit(run);
	if (s->spec.json && print_json(run, &e) < 0 && !ferror(stdout)) {
		code = talk_fail(&e, CODE_UNABLE);
	} else if (s->spec.csv) {
		print_csv(run->more, &text);
	} else if (!s->spec.json && !s->spec.quiet) {
		judged_words(run, screen_width(STDOUT_FILENO),
			     screen_color(&s->spec),
			     TERM_ASCII, &text);
	}
	screen_print(&text, stdout);
	str_release(&text);
	verdict_release(&run->verdict);
	return code;
}

int node_look(const struct session *s, const char *name)
{
	struct memlock_rows rows = { 0 };
	struct judged run = { .kind = &judged_memlock, .more = &rows };
	struct err e = { 0 };
	json_t *said;
	int code;

	run.run.json = run_json_new(s, name, LAUNCHER, "", &e);
	if (!run.run.json) {
		return talk_fail(&e, CODE_USAGE);
	}
	STR_COPY(run.run.probe, name);
	said = look(s, probe_find(name), &e);
	if (!said || fill_run(s, said, &run, &e) < 0) {
		code = talk_fail(&e, CODE_UNABLE);
	} else {
		code = s->spec.out[0] ? keep(s, name, &run) : show(s, &run);
	}
	json_decref(said);
	memlock_rows_release(&rows);
	run_release(&run.run);
	return code;
}
