/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_RESUME_H
#define CLI_RUN_RESUME_H

#include <limits.h>
#include <stdbool.h>

#include <jansson.h>

#include "cli/front/command.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/spec/spec.h"

/**
 * gpucheck @probe --resume DIR: what is missing of a run, and what was bad in
 * it, is measured in the place and with the options of the first time.
 * Returns an enum exit_code.
 */
int resume_main(struct session *s, const char *probe);

/**
 * Make the options of @s those of the run, @stored; left are those of now that
 * do not change what is measured: limits of time, what is printed.  -1 with
 * @e: another one was typed that would.  @drill is the text of the run's drill,
 * "" without one, which --faults may name again.
 */
int resume_options(struct session *s, const struct spec *stored,
		   const char *drill, struct err *e);

/** --@word=DIR does not go with option @o, which the run has as @stored has it:
 *  -1 with @e. */
int resume_refuse(const struct session *s, const struct spec *stored,
		  const struct spec_option *o, const char *word,
		  struct err *e);

/** What run.json is to keep of the options @now of a resumed run: not what is
 *  about this one command only, which stays as in @stored. */
void resume_kept_options(const struct spec *stored, struct spec *now);

/** Where @dir's run ended with @code: what to type to go on with it. */
void resume_say_how(const char *dir, int code);

/** A run that is to go on, and what is left of it. */
struct left {
	char dir[PATH_MAX];
	json_t *run;		/* its run.json */
	struct spec spec;	/* its options */
	char launcher[16];
	struct str nodelist;
	char **extra;		/* of its command line; the words are run's */
	bool foreign;		/* of its options none but the harmless are
				 * obeyed, and of its words none */
	size_t n_nodes;		/* 0: it never had a plan */
	size_t cells, done;	/* of all passes: planned, good */
};

/** Fill in all but the cells from the run.json of l->dir, a run of @probe; -1
 *  with @e, whose hint has the option @word, "resume" or "retest".
 *  left_release() in any case. */
int left_read(struct left *l, const char *probe, const char *word,
	      struct err *e);
/** Fill in the cells from its rows; 0, or -1 with @e. */
int left_count(struct left *l, struct err *e);
/** Did it go to its end, with nothing missing and nothing bad? */
bool left_is_whole(const struct left *l);
void left_release(struct left *l);

#endif
