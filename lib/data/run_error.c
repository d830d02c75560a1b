/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>

#include "lib/base/limit.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

json_t *run_error_json(const struct err *why, int exit_code)
{
	char full[sizeof(why->text) + 64];
	const char *text = limit_code(why->code) ?
				   err_str(why, full, sizeof(full)) : why->text;

	return json_pack("{s:o,s:o,s:i,s:b}", "text", json_text(text),
			 "hint", json_text(why->hint), "exit", exit_code,
			 "absent", why->code == ENODEV);
}

int run_check_new(const json_t *run, const char *dir, struct err *e)
{
	const json_t *plan = json_object_get(run, "planned");

	if (json_integer_value(json_object_get(plan, "cells")) == 0) {
		return 0;
	}
	err_set(e, 0, "the run in '%s' has begun before, and was cut short%s",
		dir, getenv("SLURM_RESTART_COUNT") != NULL ?
		", and Slurm has started its job once more" : "");
	return err_hint(e, "its rows are kept; start a new run, or, but for "
			   "\"gpucheck all\", continue it with --resume");
}

int run_error_note(const char *dir, const struct err *why, int exit_code)
{
	json_t *run = rundir_check_own(dir, NULL) == 0 ?
			      rundir_read_json(dir, RUN_JSON, NULL) : NULL;
	int rc = -1;

	if (run && json_object_set_new(run, "error",
				       run_error_json(why, exit_code)) == 0) {
		rc = rundir_write_json(dir, RUN_JSON, run, NULL);
	}
	json_decref(run);
	return rc;
}
