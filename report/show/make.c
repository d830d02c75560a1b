/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/judge/levels.h"
#include "report/show/show.h"
#include "report/judge/pairs.h"

#include <errno.h>

#include "lib/data/rundir.h"

static int write_verdict(const char *dir, const struct run *run,
			 const struct verdict *v, struct err *e)
{
	json_t *json = verdict_json(run, v);
	int rc;

	if (!json) {
		return err_set(e, ENOMEM, "cannot write the verdict");
	}
	rc = rundir_write_json(dir, RUN_VERDICT, json, e);
	json_decref(json);
	return rc;
}

/** An archive that may only be read can be judged all the same. */
static bool read_only(const struct err *e)
{
	return e->code == EACCES || e->code == EPERM || e->code == EROFS;
}

int report_write(const char *dir, const struct run *run,
		 const struct verdict *v, struct err *e)
{
	if (write_verdict(dir, run, v, e) < 0 ||
	    html_render(dir, run, v, e) < 0) {
		return read_only(e) ? 1 : 2;
	}
	return heatmap_render(dir, run, v, e) == 0 ? 0 : 1;
}

int report_make(const char *dir, struct run *run, struct verdict *v,
		struct err *e)
{
	struct err why = { 0 };
	int rc;

	if (levels_read(dir, run, e) < 0) {
		return -1;
	}
	if (verdict_compute(run, v) < 0) {
		run_release(run);
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	rc = report_write(dir, run, v, &why);
	if (rc != 0 && e) {
		*e = why;
	}
	return rc;
}
