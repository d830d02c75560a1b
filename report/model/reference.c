/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/str.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

/** The probe of the run in @dir; -1 with @e. */
static int probe_of(const char *dir, char probe[32], struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, e);
	int rc = run ? json_get_text(run, "probe", probe, 32, e) : -1;

	json_decref(run);
	return rc;
}

int reference_find(const char *reference, const char *probe,
		   char dir[PATH_MAX], struct err *e)
{
	char full[PATH_MAX], is[32];
	struct stat st;
	int rc = -1;

	if (!realpath(reference, full) || stat(full, &st) < 0) {
		rc = 1;
		err_set(e, errno, "there is no reference '%.300s'", reference);
	} else if (!S_ISDIR(st.st_mode)) {
		rc = 1;
		err_set(e, 0, "the reference '%.300s' is no directory",
			reference);
	} else if (probe_of(full, is, e) == 0) {
		if (strcmp(is, probe) == 0) {
			str_copy(dir, PATH_MAX, full);
			return 0;
		}
		if (strcmp(is, "all") == 0 &&
		    rundir_path(full, probe, dir, e) == 0 &&
		    probe_of(dir, is, e) == 0 && strcmp(is, probe) == 0) {
			return 0;
		}
		err_set(e, 0, "the reference '%.300s' has no run of %s: it is "
			"one of %s", reference, probe, is);
	}
	err_hint(e, "--reference names the directory of an earlier run of %s, "
		 "or of all", probe);
	return rc;
}
