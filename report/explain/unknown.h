/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_EXPLAIN_UNKNOWN_H
#define REPORT_EXPLAIN_UNKNOWN_H

#include <stddef.h>
#include <stdint.h>

/**
 * Lines that look like errors and that nobody knows: how many, and which are
 * the most frequent, numbers aside.  Memory does not grow with the log: where
 * there are more kinds than have room a new one takes the place and the count
 * of the rarest, so that what is frequent stays.
 */
#define UNKNOWN_KINDS 64
#define UNKNOWN_SHOWN 3

struct unknown {
	uint64_t lines;
	size_t n;
	struct unknown_kind {
		uint64_t hash;
		uint64_t count, before;	/* seen: at least the difference */
		char text[160];	/* the first of them, harmless */
	} kinds[UNKNOWN_KINDS];
};

void unknown_line(struct unknown *u, const char *line, size_t len);
/** The most frequent first. */
void unknown_sort(struct unknown *u);

#endif
