/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/run_error.h"

#include <errno.h>

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

int run_error_note(const char *dir, const struct err *why, int exit_code)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	int rc = -1;

	if (run && json_object_set_new(run, "error",
				       run_error_json(why, exit_code)) == 0) {
		rc = rundir_write_json(dir, RUN_JSON, run, NULL);
	}
	json_decref(run);
	return rc;
}
