/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/exit_code.h"
#include "cli/front/run_json.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/data/record_collective.h"
#include "lib/data/record_ping.h"
#include "lib/data/rundir.h"
#include "report/import/import.h"

#define LAUNCHER "import"

/** How much was understood, and with -v what was not. */
static void say(const struct session *s, struct import *x)
{
	char *notes = x->notes.data, *shown = x->shown.data;
	char unknown[96] = "";

	if (x->unknown > 0) {
		snprintf(unknown, sizeof(unknown),
			 "; %zu of %zu line%s %s not understood%s", x->unknown,
			 x->lines, x->lines == 1 ? "" : "s",
			 x->unknown == 1 ? "was" : "were",
			 s->spec.verbose ? "" : " (-v shows them)");
	}
	talk("%zu row%s from %d file%s%s", x->n, x->n == 1 ? "" : "s",
	     s->n_args, s->n_args == 1 ? "" : "s", unknown);
	while (notes && *notes) {
		talk("%s", strsep(&notes, "\n"));
	}
	while (s->spec.verbose && shown && *shown) {
		talk_quote(strsep(&shown, "\n"));
	}
	if (s->spec.verbose && x->unknown > x->n_shown) {
		talk("and %zu more lines", x->unknown - x->n_shown);
	}
}

static void print_csv(const struct import *x)
{
	struct str out = STR_INIT;

	record_add_header(x->schema, &out);
	for (size_t i = 0; i < x->n; i++) {
		record_add_csv(x->schema, import_row(x, i), &out);
		if (out.len > 65536) {
			fwrite(out.data, 1, out.len, stdout);
			str_reset(&out);
		}
	}
	fwrite(str_text(&out), 1, out.len, stdout);
	str_release(&out);
}

/** The probe that such rows come from: what report makes of them. */
static const char *probe_of(const struct import *x)
{
	const struct collective_row *first;

	if (x->schema == &schema_ping) {
		return "ping";
	}
	if (x->schema != &schema_collective) {
		return x->pairs ? "p2p" : "ib";
	}
	first = import_row(x, 0);
	for (size_t i = 1; i < x->n; i++) {
		const struct collective_row *row = import_row(x, i);

		if (strcmp(row->op, first->op) != 0) {
			return "allreduce";
		}
	}
	return collective_parse(first->op) != COLLECTIVES ? first->op :
							    "allreduce";
}

/** run.json as of a run that came to its end. */
static json_t *make_run(const struct session *s, const struct import *x,
			struct err *e)
{
	json_t *json = run_json_new(s, probe_of(x), LAUNCHER, "", e);
	json_t *layout, *files = json_array();
	char utc[CLOCK_UTC_SIZE];

	if (!json) {
		json_decref(files);
		return NULL;
	}
	for (int i = 0; i < s->n_args; i++) {
		json_t *name = json_string(s->args[i]);

		json_array_append_new(files, name ? name : json_null());
	}
	json_object_set_new(json, "imported", files);
	json_object_set_new(json, "ended_utc", json_string(clock_utc(utc)));
	layout = x->schema == &schema_ping ? import_ping_layout(x) :
		 x->pairs ? import_pairs_layout(x) : NULL;
	json_object_update(json, layout);
	json_decref(layout);
	if (x->pairs) {
		json_object_set_new(json, "transport", json_string("nccl"));
		json_object_set_new(json, "schedule", json_string("serial"));
		json_object_set_new(json, "size_B", json_integer(8));
	}
	return json;
}

/** -o: a run directory, which report reads as any other. */
static int keep(const struct session *s, const struct import *x)
{
	struct rundir_table results = { 0 };
	struct err e = { 0 };
	json_t *run = make_run(s, x, &e);
	char dir[PATH_MAX];
	int rc = 0;

	if (!run) {
		return talk_fail(&e, CODE_USAGE);
	}
	if (rundir_create(s->spec.out, "import", dir, &e) < 0) {
		json_decref(run);
		return talk_fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
							   CODE_UNABLE);
	}
	if (rundir_write_json(dir, RUN_JSON, run, &e) < 0 ||
	    rundir_table_open(&results, dir, x->schema, &e) < 0) {
		rc = -1;
	}
	for (size_t i = 0; i < x->n && rc == 0; i++) {
		rc = rundir_table_add(&results, import_row(x, i), &e);
	}
	rundir_table_close(&results);
	json_decref(run);
	/* rows of one queue pair have no matrix to show */
	if (rc == 0 && (x->schema != &schema_p2p || x->pairs)) {
		rc = show_run(dir, &s->spec, &e) < 0 ? -1 : 0;
	}
	return rc < 0 ? talk_fail(&e, CODE_UNABLE) : CODE_HEALTHY;
}

static void print_json(const struct import *x)
{
	const char *before = "\n";

	fputs("{\"rows\": [", stdout);
	for (size_t i = 0; i < x->n; i++) {
		json_t *row = record_json(x->schema, import_row(x, i));

		fputs(before, stdout);
		json_dumpf(row, stdout,
			   JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(row);
		before = ",\n";
	}
	printf("],\n\"lines\": %zu, \"unknown\": %zu}\n", x->lines,
	       x->unknown);
}

static int convert(const struct session *s, struct import *x)
{
	struct err e = { 0 };
	int rc = 0;

	for (int i = 0; i < s->n_args && rc == 0; i++) {
		rc = import_file(x, s->args[i], &e);
	}
	if (rc < 0 || import_end(x, &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	say(s, x);
	if (x->n == 0) {
		err_set(&e, 0, "no known table in %s",
			s->n_args == 1 ? s->args[0] : "these files");
		err_hint(&e, "gpucheck reads tables of nccl-tests, MSCCL++ and "
			 "perftest, and logs of pairs; see "
			 "gpucheck-import(1)");
		return talk_fail(&e, CODE_UNABLE);
	}
	if (s->spec.out[0]) {
		return keep(s, x);
	}
	if (s->spec.json) {
		print_json(x);
	} else if (!s->spec.quiet) {
		print_csv(x);
	}
	return CODE_HEALTHY;
}

static int run_import(struct session *s)
{
	struct import x = { 0 };
	int code = convert(s, &x);

	import_release(&x);
	return code;
}

static const char *const examples[] = {
	"gpucheck import all_reduce.log >results.csv",
	"gpucheck import -o run nccl-tests.log && gpucheck report run",
	"gpucheck import -o run p2p-test-*.out p2p-test-*.err",
	NULL
};

const struct command cmd_import = {
	.name = "import",
	.summary = "Convert results of other tools to rows of gpucheck.",
	.usage = "[OPTION...] FILE ...",
	.examples = examples,
	.takes = SPEC_CMD_IMPORT,
	.min_args = 1,
	.needs = "a file",
	.max_args = 1000000,
	.run = run_import,
};
