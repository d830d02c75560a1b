/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_EXPLAIN_EXPLAIN_H
#define REPORT_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "report/explain/about.h"
#include "report/explain/unknown.h"
#include "report/explain/works.h"
#include "report/symptoms/symptom.h"

/**
 * What the messages of anybody's logs mean: the output of NCCL_DEBUG, a .err of
 * Slurm, perftest, dmesg; one of them or those of all ranks, joined by time and
 * rank.  Memory does not grow with the logs.
 */

#define MET_RANKS 8

/** One symptom as met in the logs; of several GPUs or NICs each by itself. */
struct met {
	const struct symptom *symptom;
	uint64_t count;		/* lines */
	uint64_t line;		/* the first of them, from 1 */
	size_t file;		/* in which that is */
	char text[240];		/* that line, without what a terminal obeys */
	struct about about;	/* what it is about */
	int ranks[MET_RANKS];	/* that said it, as met */
	size_t n_ranks;		/* how many of them are known, and kept */
	bool elsewhere;		/* other lines name other hosts */
	uint64_t overruled_by;	/* line that rules it out, or 0 */
	uint32_t next;		/* of the same symptom, + 1 */
};

/** Where a rank is, by NCCL. */
struct place {
	char host[64];
	unsigned long bus_id;
	int gpu, rank;
};

struct explain {
	const struct symptoms *symptoms;	/* borrowed */
	uint32_t *head;		/* of each section: first met, + 1 */
	struct met *met;	/* as they came */
	size_t n_met;
	struct met **order;	/* what is shown: explain_end() makes it */
	size_t n;
	struct str *files;	/* names */
	size_t n_files;
	uint64_t lines, bytes;	/* of all files */
	uint64_t file_lines;	/* of this one, before what is being fed */
	int file_rank;		/* by its name; -1 */
	double file_time;	/* the last that a line of it said */
	int year;		/* of lines that say none; 0: not known */
	bool open_line;		/* the text ended within a line */
	struct place *places;
	size_t n_places;
	struct works works;
	struct works_verdict waits;	/* explain_end() makes it */
	struct unknown unknown;
};

/** 0, or -1 with @e (memory). */
int explain_begin(struct explain *x, const struct symptoms *s, struct err *e);
/** Read @len bytes more: whole lines, but for the last ones of a file and for
 *  lines longer than the caller's buffer, which count as several. */
void explain_feed(struct explain *x, const char *text, size_t len);
/** All was read: sort, the first cause first. */
void explain_end(struct explain *x);
void explain_release(struct explain *x);

/** All of @f, named @name, through explain_feed(), one file after another; 0,
 *  or -1 with @e (the read failed). */
int explain_file(struct explain *x, const char *name, FILE *f, struct err *e);

/** Is one of the messages a fault, or comes from one? */
bool explain_fault(const struct explain *x);
/** What was first, when it is a fault or a wait; or NULL. */
const struct met *explain_first(const struct explain *x);

/** In words for @width columns; @name is the file's, for people. */
void explain_words(const struct explain *x, const char *name, int width,
		   bool color, struct str *out);
/** {"file", "lines", "bytes", "symptoms": [...], "files", "first", "waits",
 *  "unknown"}; NULL without memory. */
json_t *explain_json(const struct explain *x, const char *name);
/** code,effect,count,line,overruled_by,text,file,host,rank,gpu,bus,hca,port,
 *  pid,time with a header. */
void explain_csv(const struct explain *x, struct str *out);

/** What a code means. */
void explain_code_words(const struct symptom *s, int width, bool color,
			struct str *out);
json_t *explain_code_json(const struct symptom *s);

#endif
