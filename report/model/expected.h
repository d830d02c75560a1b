/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_MODEL_EXPECTED_H
#define REPORT_MODEL_EXPECTED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "report/model/part.h"

/* ---- reference ----------------------------------------------------------- */

/**
 * Finds the run of @probe that --reference names: the run directory @reference,
 * or its step for @probe if it is a run of all.  Writes its absolute path to
 * @dir.  Returns 0; -1 with @e if it is not a run directory or has another
 * probe; 1 with @e if it is not a directory at all.
 */
int reference_find(const char *reference, const char *probe,
		   char dir[PATH_MAX], struct err *e);

/* ---- expected ------------------------------------------------------------ */

/**
 * Bandwidth of healthy paths: data/expected.ini, which is part of the program
 * and explains itself, after DIR/expected.ini with the site's additions.
 */
#define EXPECTED_WORDS	   12
#define EXPECTED_MAX	   200	/* sections */
#define EXPECTED_MAX_BYTES (256 << 10)

struct expected_line {
	char name[48];
	char path[48];
	char gpu[EXPECTED_WORDS][40], not_gpu[EXPECTED_WORDS][40];
	size_t n_gpu, n_not;
	int64_t gpus;		/* of the node, at least */
	double line_GB_s;	/* NAN: the NICs say it */
	double percent;		/* of the line */
	struct {
		char transport[16];
		double percent;
	} by[EXPECTED_WORDS];
	size_t n_by;
	char source[200];
};

/**
 * Add the sections of @text to @x.  Returns 0, or -1 with @e naming the line:
 * no such key, a number out of range, a section without line_GB_s or percent,
 * too many.  expected_release() frees, after an error too.
 */
int expected_parse(const char *text, struct expected *x, struct err *e);
void expected_release(struct expected *x);

/** Those of the site in DIR, if any, then the built-in ones; DIR may be NULL.
 *  0, or -1 with @e. */
int expected_read(const char *dir, struct expected *x, struct err *e);

/**
 * Set expected_GB_s of every measured cell of @run whose row has none, and
 * cell_line: the number of its section + 1.  At the size of the cells and their
 * own latency: size / (latency + size / line), of which a healthy pair reaches
 * percent.  0, or -1 when memory runs out.
 */
int expected_apply(struct run *run, const struct expected *x);

/** Percent of the line that counts for @transport. */
double expected_percent(const struct expected_line *l, const char *transport);

#endif
