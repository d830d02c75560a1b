/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/exit_code.h"
#include "cli/run/going.h"
#include "cli/run/resume.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

/** Does the run in @dir go on?  Then who is at work on it is in @g. */
static bool goes_on(const char *dir, struct going *g)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	bool going = run && !json_member(run, "ended_utc")[0] &&
		     going_find(dir, json_member(run, "launcher"), false, g,
				NULL) > 0;

	json_decref(run);
	return going;
}

static int run_report(struct session *s)
{
	char dir[PATH_MAX], out[PATH_MAX];
	struct err e = { 0 };
	struct going g;
	int code;
	bool going, made;

	if (spec_check(&s->spec, &e) < 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	if (!realpath(s->args[0], dir)) {
		err_set(&e, errno, "cannot open run directory '%s'",
			s->args[0]);
		err_hint(&e, "the run directory is the DIR of -o DIR, or "
			 "gpucheck-p2p-<UTC>-<id>");
		return talk_fail(&e, e.code == ENOENT ? CODE_USAGE :
							CODE_UNABLE);
	}
	going = goes_on(dir, &g);
	memcpy(out, dir, sizeof(out));
	made = s->spec.out[0] && !going;
	if (made && rundir_create(s->spec.out, "report", out, &e) < 0) {
		return talk_fail(&e, e.code == ENOTEMPTY ? CODE_USAGE :
							   CODE_UNABLE);
	}
	code = show_run_to(dir, out, &s->spec, going ? g.who : NULL, &e);
	if (code < 0) {
		if (made) {
			rundir_discard(out, false);
		}
		return talk_fail(&e, CODE_UNABLE);
	}
	if (!going) {
		resume_say_how(dir, code);
	}
	return code;
}

static const char *const examples[] = {
	"gpucheck report gpucheck-p2p-20260131T091502-7f3a",
	"gpucheck report --json DIR | jq .verdict.findings",
	"gpucheck report -o mine /home/alice/DIR",
	NULL
};

const struct command cmd_report = {
	.name = "report",
	.summary = "Judge a run again from its files.",
	.usage = "[OPTION...] DIR",
	.examples = examples,
	.takes = SPEC_CMD_REPORT,
	.min_args = 1,
	.needs = "a run directory",
	.max_args = 1,
	.run = run_report,
};
