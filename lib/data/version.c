/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/version.h"

#include <errno.h>
#include <string.h>

#include "lib/data/json.h"

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
	const json_t *resumes = json_object_get(run, "resumes");
	const size_t n = json_array_size(resumes);
	const char *version = json_member(n > 0 ?
		json_array_get(resumes, n - 1) : run, "version");

	return version[0] ? version_check("the front that started this run",
					  version, e) : 0;
}
