/* SPDX-License-Identifier: BSD-3-Clause */
/* Before a run: expected values of the site, run.json, checks of options. */
#ifndef CLI_FRONT_AHEAD_H
#define CLI_FRONT_AHEAD_H

#include <jansson.h>

#include "cli/front/help.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/rundir.h"
#include "lib/spec/spec.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"
#include "probes/probe.h"
#include "probes/transport/xport.h"

/* ---- site ---------------------------------------------------------------- */

/** Folder in which a site states the expected values of its hardware, and the
 *  variable that replaces it. */
#define SITE_EXPECTED_D	  "/etc/gpucheck/expected.d"
#define SITE_EXPECTED_ENV "GPUCHECK_EXPECTED_D"

/* ---- run json ------------------------------------------------------------ */

/** Findings of earlier probes, a sentence a line, "PROBE: ...": run.json keeps
 *  them as "expect". */
#define STEP_EXPECT_ENV "GPUCHECK_STEP_EXPECT"

/** Run directory of a whole run that was submitted from elsewhere: its facts
 *  about that shell apply to its steps. */
#define STEP_SHELL_ENV "GPUCHECK_STEP_SHELL"

/** The run directory of the whole that a step is a part of: what was typed for
 *  it, run.json of the step keeps as "whole". */
#define STEP_WHOLE_ENV "GPUCHECK_STEP_WHOLE"

/**
 * Returns the first state of run.json: the request, and the program that runs
 * it.  The coordinator adds its results.  New reference, or NULL with @e.
 */
json_t *run_json_new(const struct session *s, const char *probe,
		     const char *launcher, const char *drill, struct err *e);

/**
 * Turns @run, which has ended in any way, into one that continues under
 * @launcher with the options @s; "resumes" records that.  Returns 0, or -1 with
 * @e.
 */
int run_json_resume(json_t *run, const struct session *s,
		    const struct spec *options, const char *launcher,
		    struct err *e);

/**
 * That of one of the jobs of the run @whole, which measures what @options say,
 * or NULL with @e.
 */
json_t *run_json_part(const json_t *whole, const struct spec *options,
		      struct err *e);

/**
 * Returns true if the coordinator wrote into run.json of @dir why it could not
 * measure, with @e and the exit code @code that it asks for.  Sets @absent (may
 * be NULL) if the hardware that the probe measures does not exist: no GPU, no
 * HCA, no second node.
 */
bool run_json_failed(const char *dir, int *code, bool *absent, struct err *e);
/** The same of @run, which is run.json or RUN_RESUME. */
bool run_json_error(const json_t *run, int *code, bool *absent, struct err *e);
/** Write the members of @f that are set into DIR/run.json; 0, or -1 with
 *  @e. */
int run_json_note(const char *dir, const struct run_file *f, struct err *e);

/* ---- ahead --------------------------------------------------------------- */

/**
 * Everything that can be found wrong before anything starts: a job that waits
 * an hour for its nodes must not end on a typing error.
 *
 * Checks the options against each other and against @probe, --transport,
 * --pairs and the drill file, and these two against the layout where the
 * numbers of nodes and GPUs are known already.  @drill gets the text of
 * --inject.  Returns 0, or -1 with @e; the caller releases @drill either way.
 */
int ahead_check(const struct spec *s, const char *probe, struct str *drill,
		struct err *e);

/** Writes the absolute path of --reference of a run of pairs into @s, for a
 *  judge that runs elsewhere.  Returns 0, or -1 with @e if it is not an earlier
 *  run of @probe or of all. */
int ahead_take_reference(struct spec *s, const char *probe, struct err *e);
/** The same for all: one of its probes must know it. */
int ahead_take_references(struct spec *s, struct err *e);

/** The same for a collective; what the environment says and means nothing to
 *  it is taken out of @s. */
int ahead_check_collective(struct session *s, struct str *drill,
			   struct err *e);
/** Check what depends on the number of nodes and ranks, as far as it is known:
 *  the drill file, and the pairs or sizes of @probe if it has any. */
int ahead_check_shape(const struct spec *s, const struct probe *probe,
		      struct str *drill, struct err *e);

/**
 * The layout that the options promise, nodes named n0, n1, ... as --local
 * does.  Returns 1 with @l (layout_release() frees), 0 when it is not known
 * yet, -1 with @e.
 */
int ahead_layout(const struct spec *s, struct layout *l, struct err *e);

/**
 * Plans the requested pairs into @p (the caller calls plan_release()).  The
 * plan is empty if it cannot be known yet, without @l, and for all pairs of
 * more than @most_ranks.  @ops is the transport; NULL: not known yet.  Returns
 * 0, or -1 with @e.
 */
int ahead_plan(const struct spec *s, const struct xport_ops *ops,
	       const struct layout *l, int most_ranks, struct plan *p,
	       struct err *e);

/** Maximum bytes of a drill file. */
#define DRILL_FILE_MAX (1024 * 1024)

/** "gpucheck p2p 0 9" is --pairs=0-9.  0, or -1 with @e. */
int ahead_take_pair(struct session *s, struct err *e);

#endif
