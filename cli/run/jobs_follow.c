/* SPDX-License-Identifier: BSD-3-Clause */
/* Follow a run of many jobs, or show its state once. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/front/follow.h"
#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "cli/run/jobs.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/hosts.h"
#include "lib/data/rundir.h"

/* ---- refusal ------------------------------------------------------------- */

#define FIRST_NS (4 * NS_PER_S)
#define LAST_NS	 (60 * NS_PER_S)

bool refusal_is_over(const struct jobs_refusal *r, int64_t now_ns)
{
	return now_ns >= r->next_ns;
}

bool refusal_note(struct jobs_refusal *r, const char *why, int64_t now_ns)
{
	bool other;

	if (!why) {
		*r = (struct jobs_refusal){ 0 };
		return false;
	}
	other = strcmp(r->why, why) != 0;
	if (other) {
		STR_COPY(r->why, why);
		r->wait_ns = FIRST_NS;
	}
	r->next_ns = now_ns + r->wait_ns;
	r->wait_ns = r->wait_ns * 2 < LAST_NS ? r->wait_ns * 2 : LAST_NS;
	return other;
}

/* ---- jobs follow --------------------------------------------------------- */

/** Interval at which a followed run is checked. */
#define LOOK_NS	   (2 * NS_PER_S)
/** A report at most so often. */
#define SAY_NS	   (10 * NS_PER_S)
/** Without an answer of Slurm for so long it is left. */
#define PATIENCE_NS (600 * NS_PER_S)

/** Checks the run and submits missing jobs, which @r may delay while others
 *  run.  Returns 1 if it continues, 0 if not, or -1 with @e. */
static int look(const char *dir, struct jobs_refusal *r, char *text,
		size_t size, struct err *e)
{
	const int64_t now_ns = clock_now_ns();
	/* first, so that the checked directory is the one that is read */
	const bool own = rundir_check_own(dir, NULL) == 0;
	struct jobs j;
	struct err why = { 0 };
	int rc = jobs_look(&j, dir, e);

	if (rc == 0) {
		if (own && (refusal_is_over(r, now_ns) || !jobs_go_on(&j))) {
			jobs_tend(&j, &why);
			if (refusal_note(r, why.text[0] ? why.text : NULL,
					 now_ns)) {
				talk("jobs cannot be submitted: %s", why.text);
			}
		}
		jobs_text(&j, text, size);
		rc = jobs_go_on(&j);
		if (rc == 0 && own && jobs_merge(&j, true, e) < 0) {
			rc = -1;
		}
	}
	jobs_release(&j);
	return rc;
}

void jobs_say_cancel(const char *dir)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	const char *id = run_file(run).jobs.id;

	/* scancel takes one name, and each lane has its own */
	if (id[0] && id[strspn(id, "0123456789abcdef")] == '\0') {
		talk_hint("to cancel the jobs: squeue --all --noheader "
			  "--format='%%j %%i' | sed -n "
			  "'s/^gpucheck-%s-.* //p' | xargs -r scancel", id);
	}
	json_decref(run);
}

/** Handles ^C: the jobs continue without this process. */
static int leave(const char *dir, const char *text)
{
	char word[PATH_MAX];

	talk("stopped following; the jobs go on (%s)", text);
	talk_hint("for the result: \"gpucheck attach %s\"",
		  str_quoted_dir(dir, word, sizeof(word)));
	jobs_say_cancel(dir);
	return CODE_PARTIAL;
}

int jobs_follow(const char *dir, const struct session *s)
{
	char text[320] = "", said[320] = "";
	int64_t heard_ns = clock_now_ns(), said_ns = 0;
	struct jobs_refusal refusal = { 0 };
	bool asked = false;
	struct err e = { 0 };
	sigset_t before;
	int rc = 1, code;

	follow_hold_signals(&before);
	while (rc != 0 && !asked &&
	       clock_now_ns() - heard_ns < PATIENCE_NS) {
		e = (struct err){ 0 };
		rc = look(dir, &refusal, text, sizeof(text), &e);
		heard_ns = rc >= 0 ? clock_now_ns() : heard_ns;
		if (rc >= 0 && strcmp(text, said) != 0 &&
		    (rc == 0 || said_ns == 0 ||
		     clock_now_ns() - said_ns > SAY_NS) && !s->spec.quiet) {
			talk("%s", text);
			STR_COPY(said, text);
			said_ns = clock_now_ns();
		}
		asked = rc != 0 && follow_take_signal(LOOK_NS);
	}
	follow_release_signals(&before);
	if (asked) {
		return leave(dir, text);
	}
	if (rc != 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	code = show_run(dir, &s->spec, &e);
	code = code < 0 ? talk_fail(&e, CODE_UNABLE) : code;
	talk("run directory: %s", dir);
	resume_say_how(dir, code);
	return code;
}

/** "; busy: n1, n2" to @text: nodes of the run that are @down, or that others
 *  have. */
static void add_nodes(const struct jobs *j, bool down, struct str *text)
{
	size_t n = 0;

	for (size_t i = 0; i < j->nodes.n; i++) {
		const struct slurm_node *node = &j->nodes.list[i];
		const bool out = slurm_lane_is_down(node->state);
		bool meant = false, ours = false;

		if (out != down || (!out && str_starts(node->state, "idle"))) {
			continue;
		}
		for (size_t k = 0; k < j->n && !ours; k++) {
			if (hostlist_has(j->list[k].nodes, node->name)) {
				meant = true;
				ours = !down && j->list[k].state == JOB_RUNS;
			}
		}
		if (meant && !ours && ++n <= JOBS_NAMED) {
			str_addf(text, "%s%s", n > 1 ? ", " :
				 down ? "; down: " : "; busy: ", node->name);
		}
	}
	if (n > JOBS_NAMED) {
		str_addf(text, " and %zu more", n - JOBS_NAMED);
	}
}

int jobs_collect(const char *dir, char *text, size_t size, struct err *e)
{
	const bool own = rundir_check_own(dir, NULL) == 0;
	struct str all = STR_INIT;
	struct jobs j;
	int rc = jobs_look(&j, dir, e);

	if (rc == 0) {
		str_add(&all, jobs_text(&j, text, size));
		/* without, no node is named */
		slurm_lane_nodes(&j.left.spec, j.left.extra, &j.nodes, NULL);
		/* whoever tends it next may submit more */
		rc = jobs_go_on(&j) || jobs_owes(&j);
		if (rc > 0 && !jobs_go_on(&j)) {
			str_add(&all, "; \"gpucheck attach\" submits what is "
				"missing");
		}
		add_nodes(&j, false, &all);
		add_nodes(&j, true, &all);
		str_copy(text, size, str_text(&all));
		if (own) {
			jobs_merge(&j, rc == 0, NULL);
		}
	}
	str_release(&all);
	jobs_release(&j);
	return rc;
}
