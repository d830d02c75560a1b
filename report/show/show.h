/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_SHOW_H
#define REPORT_SHOW_SHOW_H

#include "report/draw/draw.h"
#include "report/judge/verdict.h"

/** The verdict in words, cut for @width columns. */
void words_render(const struct run *run, const struct verdict *v, int width,
		  bool color, struct str *out);
/** The same of a run that only asked its nodes. */
void words_of_info(const struct run *run, const struct verdict *v, int width,
		   bool color, struct str *out);
/** report.html, self-contained. */
int html_render(const char *dir, const struct run *run,
		const struct verdict *v, struct err *e);
/**
 * {run, verdict, rows} for --json to @out, row by row: a million rows need no
 * memory.  0, or -1 with @e (the disk is full, results.csv is gone).
 */
int report_json(const char *dir, const struct run *run,
		const struct verdict *v, FILE *out, struct err *e);
/**
 * The same of rows that are few: @verdict and @rows are taken, @run is not.
 * 0, or -1 with @e.
 */
int report_json_write(json_t *run, json_t *verdict, json_t *rows, FILE *out,
		      struct err *e);

/**
 * The whole room: read DIR, judge, write verdict.json, report.html and the
 * heat maps.  @run and @v are the caller's to release unless -1 is returned.
 * Returns 0; 1 with @e when the answer is whole but a file is missing (no
 * gnuplot, a directory that may only be read); 2 with @e when one that should
 * be there could not be written (the disk is full); -1.
 */
int report_make(const char *dir, struct run *run, struct verdict *v,
		struct err *e);
/** The second half of it: the files of a run that is read and judged.  0, 1 or
 *  2 with @e. */
int report_write(const char *dir, const struct run *run,
		 const struct verdict *v, struct err *e);

#endif
