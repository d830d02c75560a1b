/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_ENGINE_COORD_TASK_H
#define PROBES_ENGINE_COORD_TASK_H

#include "probes/engine/coord/coordinator.h"

/**
 * Tasks of two ranks, shared by their files only:
 *   task.c     orders out, one end in, the other, the end
 *   join.c     pairs that join before they are measured
 *   reports.c  what agents say of ranks and tasks
 */

/* Workers watch their deadline, agents the workers, we the agents. */
#define TASK_GRACE_NS (5 * NS_PER_S)

/* task.c */

/** A task that is about to start; NULL without memory. */
struct active *active_new(struct coord *c, const struct task *t);
void active_free(struct active *a);
/** Its order to both ends, to join only or to go through with it @now. */
void active_orders(struct coord *c, const struct active *a, bool now);
/** To end @end of @a, a message that only names the task. */
void active_word(struct coord *c, const struct active *a, int end,
		 const char *word);
/** One end is in: finish, or tell the other end not to wait in vain. */
void active_end_in(struct coord *c, struct active *a, int end, bool failed);

/* join.c */

/** The one of @t that has joined and waits to be measured; NULL. */
struct active *join_find(struct coord *c, const struct task *t);
/** The next rounds may join. */
void join_wave(struct coord *c);
/** May what is joined run now? */
bool join_quiet(const struct coord *c);
/** Leave stage JOINING, whatever comes of it. */
void join_over(struct coord *c, struct active *a);
/** End @end of @a has joined. */
void join_end(struct coord *c, struct active *a, int end);

#endif
