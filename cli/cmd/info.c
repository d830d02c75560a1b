/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/probe_run.h"
#include "lib/base/str.h"

/* One that is empty is what a run left that did not start. */
static int make_new(const char *path)
{
	int rc = mkdir(path, 0700);

	if (rc < 0 && errno == EEXIST) {
		rc = rmdir(path) == 0 ? mkdir(path, 0700) : -1;
		errno = rc < 0 ? EEXIST : errno;
	}
	return rc;
}

/* The folder of --record is there before the nodes are: they may start
 * elsewhere, and find it by its whole path. */
static int make_record(struct session *s, struct str *drill, struct err *e)
{
	char path[PATH_MAX];

	(void)drill;
	if (spec_check(&s->spec, e) < 0) {
		return -1;
	}
	if (s->spec.record[0] == '\0' || s->spec.dry_run) {
		return 0;
	}
	if (make_new(s->spec.record) < 0 ||
	    realpath(s->spec.record, path) == NULL) {
		err_set(e, errno, "cannot make the folder '%s'",
			s->spec.record);
		return err_hint(e, "--record wants a new one");
	}
	STR_COPY(s->spec.record, path);
	return 0;
}

static int run_info(struct session *s)
{
	return probe_run(s, make_record, NULL);
}

static const char *const examples[] = {
	"gpucheck info",
	"gpucheck info -N 16 -- --partition=gpu",
	"gpucheck info -N 16 --csv",
	"gpucheck info -N 2 --record=cluster",
	NULL
};

const struct command cmd_info = {
	.name = "info",
	.summary = "Show the facts of each node, and which nodes differ.",
	.usage = "[OPTION...] [-- SLURM-OPTION...]",
	.examples = examples,
	.takes = SPEC_CMD_INFO,
	.run = run_info,
};
