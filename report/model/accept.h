/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_ACCEPT_H
#define REPORT_MODEL_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/**
 * The file of --accept: what a run must reach.  Each line is a test:
 *
 *	COLLECTIVE NODES GPUS SIZE BUSBW_MIN_GB_s TIME_MAX_us
 *	p2p PATH BW_MIN_GB_s LATENCY_MAX_us
 *
 * GPUS counts those of all nodes; "-" is any number, or no limit; "#" begins a
 * comment.
 */

/** The copy of the file in a run directory; lib/data/rundir.c has it as well. */
#define RUN_ACCEPT "accept"
/** Maximum bytes of the file, and lines with a test. */
#define ACCEPT_MAX_BYTES 65536
#define ACCEPT_MAX	 1000
/** Maximum length of a line; longer is an error. */
#define ACCEPT_LINE	 200

struct accept_test {
	int line;		/* in the file, from 1 */
	char words[ACCEPT_LINE];	/* the line, blanks as one */
	char op[16];		/* the collective; "": p2p */
	int64_t nodes, gpus, size_B;	/* RECORD_NONE: any */
	char path[48];		/* beginning of the column path; "": any */
	double bw_min_GB_s, max_us;	/* NAN: no limit */
};

struct accept {
	struct accept_test *list;
	size_t n;
};

/** Replace the tests of @a by those of @text; NULL: they stay.  Returns 0, or -1
 *  with @e, which names the line.  accept_release() frees, after an error too. */
int accept_parse(const char *text, struct accept *a, struct err *e);
void accept_release(struct accept *a);

/** Parse the copy in the run @dir; without one @a stays empty. Returns 0, or -1
 *  with @e. */
int accept_read(const char *dir, struct accept *a, struct err *e);

#endif
