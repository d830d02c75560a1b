/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/node_look.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/exit_code.h"
#include "cli/front/run_json.h"
#include "cli/front/screen.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "probes/engine/agent/node_task.h"
#include "report/judge/memlock_verdict.h"

/** The look is a child of this process: no launcher. */
#define LAUNCHER "node"

static int fail(const struct err *e, int code)
{
	talk_err(e);
	return code;
}

/** As Slurm calls this node, else as it calls itself. */
static const char *node_name(char *buf, size_t size)
{
	const char *name = getenv("SLURMD_NODENAME");

	if (name && name[0]) {
		return name;
	}
	buf[0] = '\0';
	gethostname(buf, size - 1);
	buf[size - 1] = '\0';
	return buf;
}

/** The child's "node_done" about this node; NULL with @e. */
static json_t *look(const struct session *s, const struct probe *probe,
		    struct err *e)
{
	char host[65];
	json_t *args = json_pack("{s:s, s:o}", "node",
				 node_name(host, sizeof(host)), "options",
				 spec_json(&s->spec));
	json_t *said = args ? node_task_run(probe, args, e) :
			      (err_set(e, ENOMEM, "no memory to look"), NULL);

	json_decref(args);
	return said;
}

static int add_rows(struct memlock_run *run, const json_t *rows,
		    struct err *e)
{
	struct memlock_row row;
	json_t *json;
	size_t i;

	json_array_foreach(rows, i, json) {
		if (record_from_json(&schema_memlock, json, &row, e) < 0) {
			return -1;
		}
		if (memlock_run_add(run, &row) < 0) {
			return err_set(e, ENOMEM, "no memory for the rows");
		}
	}
	return 0;
}

/** A child that crashed or hung has a last row that says so. */
static int add_end(struct memlock_run *run, const json_t *said, struct err *e)
{
	const char *outcome =
		json_string_value(json_object_get(said, "outcome"));
	struct memlock_row row;
	char host[65];

	if (outcome && strcmp(outcome, "ok") == 0) {
		return 0;
	}
	if (record_from_json(&schema_memlock, said, &row, e) < 0) {
		return -1;
	}
	STR_COPY(row.node, node_name(host, sizeof(host)));
	return memlock_run_add(run, &row) < 0 ?
		       err_set(e, ENOMEM, "no memory for the rows") :
		       0;
}

/** The run as its directory would have it. */
static int fill_run(const struct session *s, json_t *said,
		    struct memlock_run *run, struct err *e)
{
	char utc[CLOCK_UTC_SIZE];

	json_object_set_new(run->json, "strict", json_boolean(s->spec.strict));
	json_object_set_new(run->json, "ended_utc",
			    json_string(clock_utc(utc)));
	run->ended = true;
	run->strict = s->spec.strict;
	if (add_rows(run, json_object_get(run->json, "shell"), e) < 0 ||
	    add_rows(run, json_object_get(said, "rows"), e) < 0) {
		return -1;
	}
	return add_end(run, said, e);
}

/** -o: the same files as any run, then the same words. */
static int keep(const struct session *s, const char *probe,
		const struct memlock_run *run)
{
	struct rundir_table results = { 0 };
	char dir[PATH_MAX];
	struct err e = { 0 };
	int code = 0;

	if (rundir_create(s->spec.out, probe, dir, &e) < 0) {
		return fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
						      CODE_UNABLE);
	}
	if (rundir_write_json(dir, RUN_JSON, run->json, &e) < 0 ||
	    rundir_table_open(&results, dir, &schema_memlock, &e) < 0) {
		return fail(&e, CODE_UNABLE);
	}
	for (size_t i = 0; i < run->n && code == 0; i++) {
		code = rundir_table_add(&results, &run->rows[i], &e);
	}
	rundir_table_close(&results);
	if (code == 0) {
		code = show_run(dir, &s->spec, &e);
	}
	return code < 0 ? fail(&e, CODE_UNABLE) : code;
}

static void print_csv(const struct memlock_run *run, struct str *out)
{
	record_add_header(&schema_memlock, out);
	for (size_t i = 0; i < run->n; i++) {
		record_add_csv(&schema_memlock, &run->rows[i], out);
	}
}

static int show(const struct session *s, const struct memlock_run *run)
{
	struct memlock_verdict v;
	struct str text = STR_INIT;
	struct err e = { 0 };
	int code;

	if (memlock_judge(run, &v) < 0) {
		err_set(&e, ENOMEM, "cannot judge the node");
		return fail(&e, CODE_UNABLE);
	}
	code = memlock_exit(run, &v);
	if (s->spec.json && memlock_json(run, &v, stdout, &e) < 0 &&
	    !ferror(stdout)) {
		code = fail(&e, CODE_UNABLE);
	} else if (s->spec.csv) {
		print_csv(run, &text);
	} else if (!s->spec.json && !s->spec.quiet) {
		memlock_words(run, &v, screen_width(STDOUT_FILENO),
			      screen_color((enum spec_when)s->spec.color),
			      &text);
	}
	fputs(str_text(&text), stdout);
	str_release(&text);
	memlock_verdict_release(&v);
	return code;
}

int node_look(const struct session *s, const char *name)
{
	struct memlock_run run = { 0 };
	struct err e = { 0 };
	json_t *said;
	int code;

	run.json = run_json_new(s, name, LAUNCHER, "", &e);
	if (!run.json) {
		return fail(&e, CODE_USAGE);
	}
	said = look(s, probe_find(name), &e);
	if (!said || fill_run(s, said, &run, &e) < 0) {
		code = fail(&e, CODE_UNABLE);
	} else {
		code = s->spec.out[0] ? keep(s, name, &run) : show(s, &run);
	}
	json_decref(said);
	memlock_run_release(&run);
	return code;
}
