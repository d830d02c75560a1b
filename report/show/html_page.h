/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_HTML_PAGE_H
#define REPORT_SHOW_HTML_PAGE_H

#include "lib/base/str.h"
#include "report/show/judged.h"

/**
 * What every report.html is made of, whatever the probe.  @out fails when
 * memory runs out, and html_write() says so.
 */

/** From the top to the heading, with the word of the verdict as a badge. */
void html_begin(const struct run *run, const char *status, struct str *out);
/** What a reader must know: a drill, a model, a run that was cut off. */
void html_notes(const struct run *run, struct str *out);
/** The findings of a verdict.json, under their heading. */
void html_findings(const json_t *verdict, struct str *out);
/** DIR/NAME, an SVG file, as a picture: names in it stay text, and nothing in
 *  it can act on the page.  False when it is not there, or too large. */
bool html_picture(const char *dir, const char *name, const char *alt,
		  struct str *out);
/** "<table>" and its first row; @names ends with NULL. */
void html_header_row(const char *const names[], struct str *out);
/** Facts, events and run.json, folded up, and the end of the page. */
void html_end(const struct run *run, struct str *out);
/** Of pairs: maps, the ladder of failed pairs, cells that are not good. */
void html_pairs(const struct judged *j, const char *dir, struct str *out);
/** DIR/report.html; 0, or -1 with @e. */
int html_write(const char *dir, const struct str *page, struct err *e);

#endif
