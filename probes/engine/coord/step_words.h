/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_STEP_WORDS_H
#define PROBES_ENGINE_COORD_STEP_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * What srun says of its tasks in job.out of the run directory: that those of a
 * node have ended, or never began.  Nobody need wait for them.
 */
struct step_words {
	int64_t look_ns;	/* when it is read again */
	int64_t at;		/* bytes read so far */
};

/** Whose tasks. */
struct step_word {
	char nodes[1024];	/* a host list; "": it is said of a task */
	int task;		/* else -1 */
};

/** Of one @line, without its end; false where it says no such thing. */
bool step_words_parse(const char *line, struct step_word *w);

typedef void (*step_said_fn)(void *arg, const struct step_word *w,
			     const char *words);

/** Once a second: what is new in job.out of @dir.  @said hears srun's @words
 *  for each line that says such a thing. */
void step_words_read(const char *dir, struct step_words *w, step_said_fn said,
		     void *arg);

#endif
