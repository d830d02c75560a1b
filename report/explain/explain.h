/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_EXPLAIN_EXPLAIN_H
#define REPORT_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "report/symptoms/symptom.h"

/**
 * What the messages of anybody's log mean: the output of NCCL_DEBUG, a .err of
 * Slurm, perftest, dmesg.  Memory does not grow with the log.
 */

/** One symptom as met in a log. */
struct met {
	const struct symptom *symptom;
	uint64_t count;		/* lines */
	uint64_t line;		/* the first of them, from 1 */
	const char *first;	/* that line, while it is in memory */
	char text[240];		/* that line, without what a terminal obeys */
	uint64_t overruled_by;	/* line of the fact that rules it out, or 0 */
};

struct explain {
	const struct symptoms *symptoms;	/* borrowed */
	struct met *met;	/* one a section; a count of 0: not met */
	struct met **order;	/* the ones met; explain_end() sorts them */
	size_t n;
	uint64_t lines, bytes;
	bool open_line;		/* the text ended within a line */
};

/** 0, or -1 with @e (memory). */
int explain_begin(struct explain *x, const struct symptoms *s, struct err *e);
/** Read @len bytes more: whole lines, but for the last ones of a file and for
 *  lines longer than the caller's buffer, which count as several. */
void explain_feed(struct explain *x, const char *text, size_t len);
/** All was read: sort, the first cause first. */
void explain_end(struct explain *x);
void explain_release(struct explain *x);

/** All of @f through the three above; 0, or -1 with @e (the read failed). */
int explain_file(struct explain *x, FILE *f, struct err *e);

/** Is one of the messages a fault, or comes from one? */
bool explain_fault(const struct explain *x);

/** In words for @width columns; @name is the file's, for people. */
void explain_words(const struct explain *x, const char *name, int width,
		   bool color, struct str *out);
/** {"file", "lines", "bytes", "symptoms": [...]}; NULL without memory. */
json_t *explain_json(const struct explain *x, const char *name);
/** code,effect,count,line,overruled_by,text with a header. */
void explain_csv(const struct explain *x, struct str *out);

/** What a code means. */
void explain_code_words(const struct symptom *s, int width, bool color,
			struct str *out);
json_t *explain_code_json(const struct symptom *s);

#endif
