/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_BASE_WRAP_H
#define REPORT_BASE_WRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/str.h"
#include "lib/data/cells.h"

/* ---- palette ------------------------------------------------------------- */

/**
 * The colours and marks of all pictures.  The scale runs from dark blue to
 * yellow, even in lightness and without red against green, so that colour-blind
 * readers see it too; what is not good has a colour off the scale, and a mark.
 */

/** 0xRRGGBB of a place on the scale, 0 ... 1. */
uint32_t palette_scale(double place);
/** 0xRRGGBB of a place between worse (0, brown), equal (0.5) and better (1,
 *  teal). */
uint32_t palette_diverging(double place);
/** Colour of a slow test: @loss is the share of the usual bandwidth that it
 *  lacks, lighter for 0.2 and darker for 0.95. */
uint32_t palette_slow(double loss);
/** Colour of a test that passed and has no figure. */
#define PALETTE_NO_FIGURE 0xb0b0b0

enum palette_mark {
	MARK_NONE, MARK_CROSS, MARK_TRIANGLE, MARK_DIAMOND, MARK_BAR,
	MARK_RING, MARK_DOT
};

struct palette_entry {
	const char *word;	/* in legends */
	char letter;		/* on terminals */
	uint32_t fill, ink;
	enum palette_mark mark;
};

/** How a class is shown; NULL for CELL_PASS, which is on the scale. */
const struct palette_entry *palette_class(unsigned class);

/** Black or white, whichever is legible on @rgb. */
uint32_t palette_ink(uint32_t rgb);

/* ---- html text ----------------------------------------------------------- */

/** Append @text so that HTML and SVG show it as it stands, harmless. */
void html_text(struct str *out, const char *text);

/** "<@tag>text</@tag>"; @tag may carry attributes and is trusted. */
void html_element(struct str *out, const char *tag, const char *text);

/** @n bytes in base64, as RFC 4648 has it. */
void html_base64(struct str *out, const void *bytes, size_t n);

/** Append @n bytes compressed, in zlib's format (RFC 1950).  @out fails without
 *  memory. */
void pack_add(const void *bytes, size_t n, struct str *out);

/* ---- table --------------------------------------------------------------- */

/**
 * A table of texts.  A screen shows it in columns, report.html as a table that
 * a reader can sort, and --csv as it is: all from the same rows.
 */
struct table_column {
	const char *name;	/* heading */
	int width;		/* least columns on a screen */
	int most;		/* most columns on a screen; 0: no limit */
	bool right;		/* a number */
	bool page;		/* not on a screen */
	bool link;		/* in a page, to the element of that id */
	bool spare;		/* left out if no row has a value */
	bool tail;		/* on a screen, what has no room loses its
				 * beginning: the end of a path tells more */
};

struct table {
	const char *title;	/* in a page; NULL: none */
	const char *note;	/* below; NULL: none */
	const struct table_column *columns;
	size_t n_columns;
	int indent;		/* on a screen */
	bool bare;		/* no headings on a screen */
	size_t shown;		/* rows on a screen; 0: all */
	size_t left;		/* rows that are not in the table */
	struct table_cell {
		size_t at;	/* of its text */
		float bar;	/* length of the bar, 0 ... 1; NAN: none */
	} *cells;
	size_t n;		/* of cells */
	struct str text;	/* of the cells, NUL-terminated; failed without
				 * memory */
};

/** Add a cell behind the last one, row by row, and ... */
void table_add(struct table *t, const char *text);
__attribute__((format(printf, 2, 3)))
void table_addf(struct table *t, const char *fmt, ...);
/** The same for @value with @digits digits; empty if it is not finite. */
void table_real(struct table *t, int digits, double value);
/** ... a @bar in it, in a page, that is 1 if full. */
void table_bar(struct table *t, double bar);
size_t table_rows(const struct table *t);
const char *table_cell(const struct table *t, size_t row, size_t column);
/** Append the table in columns for a screen of @width columns; 0: a file, in
 *  which nothing is broken or cut. */
void table_text(const struct table *t, int width, struct str *out);
/** Append the table as HTML, TABLE_PAGE_ROWS rows at most, its title as the
 *  element @heading ("h2"). */
#define TABLE_PAGE_ROWS 1000
void table_html(const struct table *t, const char *heading, struct str *out);
/** Append the table as CSV, with a header. */
void table_csv(const struct table *t, struct str *out);
void table_release(struct table *t);

/** The tables of a run. */
#define TABLES_MAX 8
struct tables {
	struct table list[TABLES_MAX];
	size_t n;
};

/** The next table of @to, with the rows of @like; the last one if there is no
 *  room. */
struct table *tables_add(struct tables *to, const struct table *like);
void tables_release(struct tables *t);

/* ---- wrap ---------------------------------------------------------------- */

/** Where words go, and how wide that is. */
struct wrap {
	struct str *out;
	int width;
	bool color;
	bool whole_quotes;	/* what stands in "", a command to copy, is not
				 * broken; one of gpucheck never is */
};

/**
 * Append @text to the last line, broken at blanks so that lines, @indent deep
 * from the second one on, fit the width, and a newline.  A number keeps its
 * unit beside it.
 */
void wrap_text(const struct wrap *w, int indent, const char *text);

/** The same for each line of @text, the first of which goes on in the last line
 *  of @out: those that begin with four blanks are commands, and are never
 *  broken. */
void wrap_lines(const struct wrap *w, int indent, const char *text);

/** A word at the start of a line, 6 wide, in the ANSI colour @color. */
void wrap_tag(const struct wrap *w, const char *tag, int color);
/** PASS, WARN, FAIL, PARTIAL, PENDING, RUNNING or UNKNOWN in its colour, for
 *  @status as verdict.json has it. */
void wrap_status(const struct wrap *w, const char *status);
/** The same with @aside in brackets, on a line of its own.  Returns false if
 *  @aside is "": then the caller continues the line. */
bool wrap_status_aside(const struct wrap *w, const char *status,
		       const char *aside);

/** The same word, without a colour. */
const char *wrap_status_word(const char *status);

/** A line of its own below a tag, as deep as the text behind it; what is too
 *  long goes on @more deeper. */
void wrap_line(const struct wrap *w, int more, const char *text);
/** The finding @says, behind an empty line and FAIL or WARN ... */
void wrap_finding(const struct wrap *w, bool fail, const char *says);
/** ... and, below its evidence, what to do about it. */
void wrap_act(const struct wrap *w, const char *act);

#endif
