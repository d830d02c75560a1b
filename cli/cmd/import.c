/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck import: convert the output of another benchmark into a run. */
#include "cli/front/help.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/data/cells.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/import/import.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

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
	talk("%zu row%s from %d file%s%s", x->rows.n, x->rows.n == 1 ? "" : "s",
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

	record_add_header(x->rows.schema, &out);
	for (size_t i = 0; i < x->rows.n; i++) {
		union import_row row;

		record_list_get(&x->rows, i, &row);
		record_add_csv(x->rows.schema, &row, &out);
		if (out.len > 65536) {
			fwrite(out.data, 1, out.len, stdout);
			str_reset(&out);
		}
	}
	fwrite(str_text(&out), 1, out.len, stdout);
	str_release(&out);
}

/** Returns run.json of a run that ended normally.  The probe is the one that
 *  writes such rows. */
static json_t *make_run(const struct session *s, const struct import *x,
			json_t *layout, struct err *e)
{
	const bool ping = x->rows.schema == &schema_ping;
	const char *probe = ping && layout ? "ping" :
			    layout	   ? "p2p" :
			    ping	   ? PROBE_TARGETS : PROBE_ROWS;
	json_t *json, *files = json_array();
	struct collective_row first, row;
	char utc[CLOCK_UTC_SIZE];
	enum collective op;
	struct p2p_row pair;

	if (x->rows.schema == &schema_collective) {
		record_list_get(&x->rows, 0, &first);
		op = collective_parse(first.op);
		for (size_t i = 1; i < x->rows.n; i++) {
			record_list_get(&x->rows, i, &row);
			if (strcmp(row.op, first.op) != 0) {
				op = COLLECTIVES;
			}
		}
		probe = op == COLLECTIVES ? PROBE_TABLES : collective_names[op];
	}
	json = run_json_new(s, probe, LAUNCHER, "", e);
	if (!json) {
		json_decref(files);
		return NULL;
	}
	for (int i = 0; i < s->n_args; i++) {
		json_t *name = json_string(s->args[i]);

		json_array_append_new(files, name ? name : json_null());
	}
	json_object_set_new(json, "imported", files);
	if (x->means) {
		json_object_set(json, "means", x->means);
	}
	json_object_set_new(json, "ended_utc", json_string(clock_utc(utc)));
	json_object_update(json, layout);
	if (layout && x->rows.schema == &schema_p2p) {
		/* all rows of a matrix were measured as the first one */
		record_list_get(&x->rows, 0, &pair);
		json_object_set_new(json, "transport",
				    json_text(pair.transport));
		json_object_set_new(json, "schedule", json_text(pair.schedule));
		if (pair.size_B != RECORD_NONE) {
			json_object_set_new(json, "size_B",
					    json_integer(pair.size_B));
		}
	}
	return json;
}

/** -o: a run directory, which report reads as any other. */
static int import_keep(const struct session *s, const struct import *x)
{
	struct rundir_table results = { 0 };
	struct err e = { 0 };
	/* nodes of the rows and planned tests, or NULL if rows have no nodes */
	json_t *layout = x->rows.schema == &schema_ping ?
				 import_ping_layout(x) :
			 x->pairs ? import_pairs_layout(x) :
				    import_matrix_layout(x);
	json_t *run = make_run(s, x, layout, &e);
	char dir[PATH_MAX];
	int rc = 0;

	json_decref(layout);
	if (!run) {
		return talk_fail(&e, CODE_USAGE);
	}
	if (rundir_create(s->spec.out, "import", dir, &e) < 0) {
		json_decref(run);
		return talk_fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
							   CODE_UNABLE);
	}
	if (rundir_write_json(dir, RUN_JSON, run, &e) < 0 ||
	    rundir_table_open(&results, dir, x->rows.schema, &e) < 0) {
		rc = -1;
	}
	for (size_t i = 0; i < x->rows.n && rc == 0; i++) {
		union import_row row;

		record_list_get(&x->rows, i, &row);
		rc = rundir_table_add(&results, &row, &e);
	}
	rundir_table_close(&results);
	json_decref(run);
	if (rc == 0) {
		rc = show_run(dir, &s->spec, &e) < 0 ? -1 : 0;
	}
	return rc < 0 ? talk_fail(&e, CODE_UNABLE) : CODE_HEALTHY;
}

static void print_json(const struct import *x)
{
	const char *before = "\n";

	fputs("{\"rows\": [", stdout);
	for (size_t i = 0; i < x->rows.n; i++) {
		union import_row row;
		json_t *json;

		record_list_get(&x->rows, i, &row);
		json = record_json(x->rows.schema, &row);
		fputs(before, stdout);
		json_print(json, stdout,
			   JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(json);
		before = ",\n";
	}
	printf("],\n\"lines\": %zu, \"unknown\": %zu}\n", x->lines,
	       x->unknown);
}

/** If the file to read is one of gpucheck's own, hint at the command for it;
 *  false otherwise. */
static bool hint_report(const char *arg, struct err *e)
{
	static const char *const files[] = {
		RUN_RESULTS, RUN_FINAL, RUN_FACTS, RUN_JSON, RUN_VERDICT, NULL
	};
	const char *slash = strrchr(arg, '/');
	char dir[PATH_MAX], path[PATH_MAX], word[PATH_MAX];

	if (str_index(files, slash ? slash + 1 : arg) < 0) {
		snprintf(dir, sizeof(dir), "%s", arg);
	} else if (slash) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - arg), arg);
	} else {
		snprintf(dir, sizeof(dir), ".");
	}
	if (rundir_path(dir, RUN_JSON, path, NULL) < 0 ||
	    access(path, F_OK) < 0) {
		return false;
	}
	err_hint(e, "that is of a run of gpucheck: \"gpucheck report %s\"",
		 str_quoted_dir(dir, word, sizeof(word)));
	return true;
}

/** Return true unless all tests failed. */
static bool any_ok(const struct import *x)
{
	bool ok = false;

	for (size_t i = 0; i < x->rows.n && !ok; i++) {
		union import_row row;

		record_list_get(&x->rows, i, &row);
		ok = !cells_outcome_failed(
			x->rows.schema == &schema_ping ? row.ping.outcome :
			x->rows.schema == &schema_p2p  ? row.p2p.outcome :
						row.collective.outcome);
	}
	return ok;
}

static int convert(const struct session *s, struct import *x)
{
	bool failed;
	struct str names = STR_INIT;
	struct err e = { 0 };
	const char *name;
	int rc = 0;

	for (int i = 0; i < s->n_args && rc == 0; i++) {
		rc = import_file(x, s->args[i], &e);
		if (rc < 0) {
			hint_report(s->args[i], &e);
		}
	}
	if (rc < 0 || import_end(x, &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	say(s, x);
	if (x->rows.n == 0) {
		err_set(&e, 0, "no known table in %s",
			s->n_args == 1 ? s->args[0] : "these files");
		for (size_t i = 0; (name = import_format_name(i)); i++) {
			str_addf(&names, "%s%s",
				 names.len && *name ? ", " : "", name);
		}
		if (!hint_report(s->args[0], &e)) {
			err_hint(&e, "gpucheck reads %s; see "
				 "gpucheck-import(1)", str_text(&names));
		}
		str_release(&names);
		return talk_fail(&e, CODE_UNABLE);
	}
	failed = !any_ok(x);
	if (s->spec.out[0]) {
		rc = import_keep(s, x);
		return rc ? rc : failed ? CODE_FAULT : CODE_HEALTHY;
	}
	if (s->spec.json) {
		print_json(x);
	} else if (!s->spec.quiet) {
		print_csv(x);
	}
	return failed ? CODE_FAULT : CODE_HEALTHY;
}

/** Check the machine that the options name; 0, or an exit code. */
static int check_machine(const struct spec *s)
{
	struct expected known;
	struct str names = STR_INIT;
	struct err e = { 0 };
	double GB_s;
	int n, code = 0;

	if (s->rails[0] && machine_rails_parse(s->rails, &n, &GB_s) < 0) {
		err_set(&e, 0, "--rails='%s' is not a number of NICs and their "
			"rate", s->rails);
		err_hint(&e, "--rails=8x400G: 1 to %d NICs of up to %dG",
			 MACHINE_RAILS_MAX, MACHINE_RATE_MAX);
		return talk_fail(&e, CODE_USAGE);
	}
	if (expected_read(NULL, &known, &e) < 0) {
		code = talk_fail(&e, CODE_UNABLE);
	} else if (s->machine[0] && !expected_machine(&known, s->machine)) {
		for (size_t i = 0; i < known.n_machines; i++) {
			str_addf(&names, "%s%s", i ? ", " : "",
				 known.machines[i].name);
		}
		err_set(&e, 0, "there is no machine '%s'", s->machine);
		err_hint(&e, "one of %s; or --rails=8x400G", str_text(&names));
		code = talk_fail(&e, CODE_USAGE);
	}
	str_release(&names);
	expected_release(&known);
	return code;
}

static int run_import(struct session *s)
{
	struct import x = { 0 };
	int code = check_machine(&s->spec);

	code = code ? code : convert(s, &x);

	import_release(&x);
	return code;
}

static const char *const examples[] = {
	"gpucheck import all_reduce.log >results.csv",
	"gpucheck import -o run nccl-tests.log && gpucheck report run",
	"gpucheck import --machine=dgx-h100 -o shares nccl-tests.log",
	"gpucheck import -o pairs p2p-test-*.out p2p-test-*.err",
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
