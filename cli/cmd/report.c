/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck report: judge a run again and print or write its report. */
#include "cli/front/help.h"

#include <errno.h>
#include <limits.h>

#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "lib/base/err.h"
#include "lib/base/input.h"
#include "lib/data/rundir.h"
#include "report/model/run.h"

/** Writes the report to the directory of the run, or to the new one of -o;
 *  writes nothing for a run that has not ended. */
static int report(const struct session *s, const struct found *f,
		  struct err *e)
{
	struct judged_ask ask;
	const struct judged_ask *going = found_ask(f, &ask);
	const bool made = s->spec.out[0] && !going;
	struct str accept = STR_INIT;
	char out[PATH_MAX];
	int code;

	if (s->spec.accept[0] &&
	    input_read("file of --accept", s->spec.accept, ACCEPT_MAX_BYTES,
		       &accept, e) < 0) {
		return talk_fail(e, CODE_USAGE);
	}
	if (f->waits) {
		talk("a --resume of this run has not begun: %s", f->by.who);
	}
	STR_COPY(out, f->dir);
	if (made && rundir_create(s->spec.out, "report", out, e) < 0) {
		return talk_fail(e, e->code == ENOTEMPTY ? CODE_USAGE :
							   CODE_UNABLE);
	}
	code = show_run_to(f->dir, out, &s->spec, going,
			   accept.len > 0 ? str_text(&accept) : NULL, e);
	str_release(&accept);
	if (code < 0) {
		if (made) {
			rundir_discard(out, false);
		}
		return talk_fail(e, CODE_UNABLE);
	}
	if (!going) {
		resume_say_how(f->dir, code);
	}
	return code;
}

static int run_report(struct session *s)
{
	struct err e = { 0 };
	struct found f;
	int code;

	if (spec_check(&s->spec, &e) < 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	code = found_open(s->args[0], &f, &e);
	code = code ? talk_fail(&e, code) : report(s, &f, &e);
	found_release(&f);
	return code;
}

static const char *const examples[] = {
	"gpucheck report gpucheck-p2p-20260131T091502Z-7f3a12",
	"gpucheck report --json DIR | jq .verdict.findings",
	"gpucheck report -o mine /home/alice/DIR",
	NULL
};

const struct command cmd_report = {
	.name = "report",
	.summary = "Judge a run again from its files.",
	.usage = "[OPTION...] DIR|JOB",
	.examples = examples,
	.takes = SPEC_CMD_REPORT,
	.min_args = 1,
	.needs = "a run directory or a job",
	.max_args = 1,
	.run = run_report,
};
