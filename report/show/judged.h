/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_SHOW_JUDGED_H
#define REPORT_SHOW_JUDGED_H

#include "report/draw/draw.h"

/**
 * A run that was read and judged, whatever its probe: the one door for those
 * who show it.
 */
struct judged;

/**
 * Read DIR, judge, write verdict.json and the pictures.  Returns 0 with *@j;
 * 1 with *@j and @e when the answer is whole but a file is missing (no gnuplot,
 * a directory that may only be read); 2 the same, but it should be there (the
 * disk is full); -1 with @e.  judged_free() frees.
 */
int judged_make(const char *dir, struct judged **j, struct err *e);
/** The same beside @reference (a name, file or directory; NULL: none), which
 *  is an error where the probe knows of none. */
int judged_make_against(const char *dir, const char *reference,
			struct judged **j, struct err *e);
void judged_free(struct judged *j);

/** Exit code by what was measured and found: 0 1 3 4. */
int judged_exit(const struct judged *j);
/** Lines of results.csv that count. */
size_t judged_rows(const struct judged *j);
/** What words in a file are broken to. */
#define JUDGED_FILE_WIDTH 80
/** The verdict in words, and what can be drawn, for a screen of @width columns,
 *  0: it goes to a file, where tables need not be cut; -1 without memory. */
int judged_words(const struct judged *j, int width, bool color,
		 enum term_style style, struct str *out);
/** Each finding with all that speaks for it, as --verbose has it; nothing where
 *  the words have it all. */
void judged_details(const struct judged *j, int width, struct str *out);
/** The file of the run directory that --csv prints. */
const char *judged_csv(const struct judged *j);
/** {run, verdict, rows}; 0, or -1 with @e. */
int judged_json(const struct judged *j, const char *dir, FILE *out,
		struct err *e);

/**
 * What a probe's run becomes.  To add one: a row in judged.c.
 */
struct judged_kind {
	const char *probe;	/* as in run.json, or ... */
	bool (*takes)(const char *probe);	/* ... one of several */
	/** As judged_make(), the state in *@state. */
	int (*make)(const char *dir, void **state, struct err *e);
	/** The same beside a reference; NULL: there is none for this probe. */
	int (*make_against)(const char *dir, const char *reference,
			    void **state, struct err *e);
	void (*free)(void *state);
	int (*code)(const void *state);	/* its exit code */
	size_t (*rows)(const void *state);
	int (*words)(const void *state, int width, bool color,
		     enum term_style style, struct str *out);
	bool tables;	/* its words know a width of 0 */
	const char *csv;	/* the file of --csv; NULL: results.csv */
	/** NULL: the words have it all. */
	void (*details)(const void *state, int width, struct str *out);
	int (*json)(const void *state, const char *dir, FILE *out,
		    struct err *e);
};

extern const struct judged_kind judged_pairs, judged_memlock, judged_group,
	judged_ping, judged_ladder, judged_info;

#endif
