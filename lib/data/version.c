/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/version.h"

#include <errno.h>
#include <string.h>

#include "lib/data/rundir.h"

const char *version_own(void)
{
	return GPUCHECK_VERSION;
}

int version_check(const char *whose, const char *version, struct err *e)
{
	if (strcmp(version, version_own()) == 0) {
		return 0;
	}
	err_set(e, EPROTONOSUPPORT, "%s is gpucheck %.40s, not %s", whose,
		version[0] ? version : "of an older version", version_own());
	return err_hint(e, "a run needs one gpucheck on all nodes: replace the "
			   "copy there, or use one that all nodes share");
}

int version_check_run(const json_t *run, struct err *e)
{
	const struct run_file f = run_file(run);
	const size_t n = json_array_size(f.resumes);
	const char *version = n > 0 ? run_entry(f.resumes, n - 1).version :
				      f.version;

	return version[0] ? version_check("the front that started this run",
					  version, e) : 0;
}
