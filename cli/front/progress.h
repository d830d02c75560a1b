/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FRONT_PROGRESS_H
#define CLI_FRONT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/spec/spec.h"

/**
 * How far a run is, on stderr: a bar on a terminal that we are in the
 * foreground of, else one plain line per 10 %; nothing in the first second,
 * at most 4 drawings a second.
 */
struct progress {
	enum { PROGRESS_NONE, PROGRESS_LINES, PROGRESS_BAR } form;
	const char *name;	/* borrowed: the probe */
	int64_t start_ns;
	int64_t last_ns;	/* of the last drawing */
	int tenths;		/* last line said: 10 % each */
	bool drawn;		/* a bar is on the screen */
};

/** @when is --progress; "always" draws the bar whatever stderr is. */
void progress_init(struct progress *p, const char *name, enum spec_when when,
		   bool quiet);
/** What there is to show. */
struct progress_now {
	size_t done, total;	/* 0 = not known yet */
	int64_t left_ns;	/* -1 = nobody knows */
	const char *waits;	/* while nothing is known: what for */
};
void progress_update(struct progress *p, const struct progress_now *now);
/** Wipe the bar, before other talk and at the end. */
void progress_clear(struct progress *p);

#endif
