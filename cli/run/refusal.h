/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_RUN_REFUSAL_H
#define CLI_RUN_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

/** Who asks again and again for what is refused: ever more rarely, and with a
 *  word only where the reason is another.  Zeroed: nothing was refused. */
struct refusal {
	char why[320];
	int64_t wait_ns;	/* after the next refusal */
	int64_t next_ns;	/* not before, by clock_now_ns() */
};

/** Is it time to ask? */
bool refusal_is_over(const struct refusal *r, int64_t now_ns);
/** It was refused at @now_ns for reason @why, or done (NULL).  True: to be
 *  said. */
bool refusal_note(struct refusal *r, const char *why, int64_t now_ns);

#endif
