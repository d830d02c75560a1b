/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_RUN_JSON_H
#define CLI_FRONT_RUN_JSON_H

#include <jansson.h>

#include "cli/front/command.h"

/** What other probes found before this one, a sentence a line, "PROBE: ...":
 *  run.json keeps it as "expect". */
#define STEP_EXPECT_ENV "GPUCHECK_STEP_EXPECT"

/** The run directory of a whole that was submitted from elsewhere: what it
 *  says of that shell holds for its steps. */
#define STEP_SHELL_ENV "GPUCHECK_STEP_SHELL"

/** The run directory of the whole that a step is a part of: what was typed for
 *  it, run.json of the step keeps as "whole". */
#define STEP_WHOLE_ENV "GPUCHECK_STEP_WHOLE"

/**
 * The first state of run.json: what was asked for and by which program.  The
 * coordinator adds what it found.  New reference, or NULL with @e.
 */
json_t *run_json_new(const struct session *s, const char *probe,
		     const char *launcher, const char *drill, struct err *e);

/**
 * Make of @run, which has ended one way or another, one that goes on: under
 * @launcher, with the options @s of now; that it does is written down under
 * "resumes".  0, or -1 with @e.
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
 * Did the coordinator write into run.json of @dir why it could not measure?
 * Then true, with @e, the exit code @code it asks for, and @absent (NULL: who
 * asks does not care): what the probe measures is not there at all, no GPU, no
 * HCA, no second node.
 */
bool run_json_failed(const char *dir, int *code, bool *absent, struct err *e);
/** The same of @run, which is run.json or RUN_RESUME. */
bool run_json_error(const json_t *run, int *code, bool *absent, struct err *e);
/** Members of @more into DIR/run.json; @more is released.  0, or -1 with
 *  @e. */
int run_json_note(const char *dir, json_t *more, struct err *e);

#endif
