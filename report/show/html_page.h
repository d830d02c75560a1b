/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_HTML_PAGE_H
#define REPORT_SHOW_HTML_PAGE_H

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "report/show/judged.h"

/**
 * Parts of every report.html, of any probe. @out fails when memory runs out,
 * and show_html() reports it.
 */

/** DIR/NAME, an SVG file, as a picture: names in it stay text, and nothing in
 *  it can act on the page.  False when it is not there, or too large. */
bool html_picture(const char *dir, const char *name, const char *alt,
		  struct str *out);
/** "<table>" and its first row; @names ends with NULL. */
void html_header_row(const char *const names[], struct str *out);
/** A row of texts; @cells ends with NULL. */
void html_row(const char *const cells[], struct str *out);

/** Write a cell for a number into @buf; "" if there is none. */
const char *html_int(int64_t value, char buf[UNITS_REAL_SIZE]);
const char *html_real(double value, int digits, char buf[UNITS_REAL_SIZE]);

/** Add a figure to the tiles at the top. */
void html_tile(struct str *out, const char *name, const char *value);
/** Add the tables of @j, each below @heading ("h2"). */
void html_tables(const struct judged *j, const char *heading, struct str *out);

/** Write DIR/report.html, self-contained: @title of a tab, @status as
 *  wrap_status_word() takes it, and what was found.  Returns 0, or -1 with
 *  @e. */
int html_write(const char *dir, const char *title, const char *status,
	       const char *headline, const struct str *body, struct err *e);

/** Add the data of pairs for the script of the page, compressed. */
void html_data(const struct judged *j, struct str *out);

#endif
