/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HANG_LOOK_H
#define PROBES_HANG_LOOK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/data/record_hang.h"
#include "probes/hang/gpu_watch.h"
#include "probes/hang/procs.h"
#include "probes/hang/ras.h"
#include "probes/hang/stacks.h"

/** What the files of hang_child() share. */

/** What is looked at on a node. */
struct look {
	char node[64], root[PATH_MAX];
	char job[32];
	int64_t end_ns;
	struct procs procs;
	struct ras_answer ras[HANG_LOOKS];
	int answers;		/* that came */
	char utc[CLOCK_UTC_SIZE];
	struct gpu_use use[GPU_WATCH_MAX];
	struct stack *stacks;	/* of procs, or of the first of them; NULL */
	size_t n_stacks;
};

/** The end of a part of it that takes so long at most. */
int64_t look_within_ns(const struct look *l, int64_t ns);
/** A fact of the node. */
void look_fact(const char *fact, const char *value);

/** Ask RAS, until @until_ns at the latest; did it answer?  An answer counts by
 *  the processes that are here: without any nobody needs be asked. */
bool look_ask(const struct look *l, int64_t until_ns, struct ras_answer *a);
/** The rank of @a that is @like in its communicator; NULL: it has none. */
const struct ras_rank *look_rank(const struct ras_answer *a,
				 const struct ras_rank *like);
/** Words do not tell of ranks while all agree: those of another look stand for
 *  that with no number, which is not the same one. */
void look_complete(struct look *l);
/** Looks that had another rank of the communicator further than this one; in
 *  RECORD_NONE where it did not answer each time. */
int64_t look_behind(const struct look *l, const struct ras_rank *like);

/** All rows. */
void look_say(const struct look *l);

#endif
