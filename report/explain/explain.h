/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_EXPLAIN_EXPLAIN_H
#define REPORT_EXPLAIN_EXPLAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/str.h"
#include "report/symptoms/symptom.h"

/* ---- about --------------------------------------------------------------- */

/** The part that a line of a log names, as far as it does. Names consist of
 *  letters, digits and a few signs in between, so that they may stand in a
 *  command. */
struct about {
	char host[64];	/* "" */
	char bus[16];	/* of a device on PCIe, "0000:9b:00"; "" */
	char hca[24];	/* "mlx5_0"; "" */
	int port;	/* of it, from 1; 0 */
	int rank;	/* -1 */
	int gpu;	/* index within the node; -1 */
	long pid;	/* 0 */
	double time;	/* s since 1970, in the zone of the log; 0 */
	bool no_year;	/* the time is of 1972 */
	const char *file;	/* borrowed, for its remedy; NULL: not known */
};

/** Copy @line, cut to @size - 1 bytes, with @nul in place of zero bytes. */
void about_copy(const char *line, size_t len, char nul, char *to, size_t size);

/** Pure. */
void about_line(const char *line, size_t len, struct about *a);

/** The same of a line of NCCL, its host and process alone: cheaper. */
void about_nccl(const char *line, size_t len, struct about *a);

/** The same of a line "exitcode : -9 (pid: 7)" of torchrun, whose rank, host
 *  and time stand in the lines before it, back to @text. */
void about_exit(const char *text, const char *line, struct about *a);

/** The rank in the name of a file, "rank_3.log" or "3/stderr.log"; or -1. */
int about_file(const char *name);

/* ---- unknown ------------------------------------------------------------- */

/**
 * Lines that look like errors but match no symptom: their number and the most
 * frequent kinds, ignoring numbers.  Memory does not grow with the log: if
 * there are too many kinds, a new one replaces the rarest and takes over its
 * count, so that frequent ones stay.
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

/* ---- works --------------------------------------------------------------- */

/**
 * Find the rank that others wait for. PyTorch's watchdog numbers the
 * collectives of a group: joining the lines of all ranks shows which wait for
 * number 118 and which enqueued only 117.
 */

/** More ranks and groups than these are not told apart. */
#define WORKS_MAX 16384

struct works {
	struct work {
		char group[24];
		int rank;
		long waits, enqueued;	/* the last; 0: not said */
	} *list;
	size_t n;
	int ranks;		/* how many the job has, by NCCL; 0 */
	struct str named;	/* "4, 5": a line named them as missing */
	/* what works_judge() finds: the group with the most ranks behind */
	char group[24];
	long work;		/* what is waited for; 0: nothing known */
	size_t waiting;		/* ranks */
	struct str behind;	/* "3, 9": they never enqueued it */
	size_t n_behind;
	struct str silent;	/* the same of ranks that say nothing */
	size_t n_silent;
};

void works_release(struct works *w);

/** Take what the line of @rank (-1: it says not) has of it. */
void works_line(struct works *w, const char *line, size_t len, int rank);

/** Find the group with the most ranks behind. */
void works_judge(struct works *w);

/* ---- flight -------------------------------------------------------------- */

/** Dumps of PyTorch's flight recorder, of all ranks. */
struct flight;

/** Lines of flight_judge() about dumps begin so. */
#define FLIGHT_SAYS "flight recorder: "

struct flight *flight_new(void);	/* NULL without memory */
void flight_release(struct flight *f);
/** Add the dump @json of the file @name, which has its rank.  0, or -1 with
 *  @e. */
int flight_add(struct flight *f, const json_t *json, const char *name,
	       struct err *e);
/** Add a line of NCCL Inspector, a JSON object. */
void flight_add_line(struct flight *f, const char *line, size_t len);
/** Compare the last calls of all ranks: add lines to @out that name ranks which
 *  never called a collective, called another one, or one of another size; the
 *  end of a chain of sends and receives; ranks that are late in most
 *  collectives that NCCL Inspector timed, and their bandwidth. */
void flight_judge(struct flight *f, struct str *out);

/* ---- explain ------------------------------------------------------------- */

/**
 * Meaning of messages in foreign logs: output of NCCL_DEBUG, a .err file of
 * Slurm, perftest, dmesg; one log or those of all ranks, joined by time and
 * rank. Memory does not grow with the logs.
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
	uint64_t file_lines;	/* of this one */
	int file_rank;		/* by its name; -1 */
	double file_time;	/* the last that a line of it said */
	int year;		/* of lines that say none; 0: not known */
	bool open_line;		/* the text ended within a line */
	struct about *places;	/* of ranks, by NCCL: host, GPU and its bus */
	size_t n_places;
	/* the bytes of one explain_feed(); file_lines counts up to @counted */
	const char *text, *end, *counted;
	struct works works;
	struct unknown unknown;
	struct met first_unknown;	/* no symptom; count 0: there is none */
	bool file_unknown;	/* this file has had its first one */
	struct flight *flight;	/* NULL: no dump was read */
	size_t n_dumps;
	struct str said;	/* lines about dumps, for explain_end() */
};

/** 0, or -1 with @e (memory). */
int explain_begin(struct explain *x, const struct symptoms *s, struct err *e);
/** Read @len bytes more: whole lines, but for the last ones of a file and for
 *  lines longer than the caller's buffer, which count as several. */
void explain_feed(struct explain *x, const char *text, size_t len);
/** All was read: sort, the first cause first. */
void explain_end(struct explain *x);
void explain_release(struct explain *x);

/** Name of the log of a pipe. */
#define EXPLAIN_STDIN "standard input"
/** All of @f, named @name, through explain_feed(), one file after another; a
 *  dump of PyTorch's flight recorder is kept for explain_end().  0, or -1 with
 *  @e: the read failed, or the dump is damaged, which has code 0. */
int explain_file(struct explain *x, const char *name, FILE *f, struct err *e);
/** Report the dump @name as refused, for the reason @e, and continue. */
void explain_refuse(struct explain *x, const char *name, const struct err *e);

/** Return true if a message is a fault or the consequence of one. */
bool explain_fault(const struct explain *x);
/** Return the first message if it is a fault or a wait, else NULL. */
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

/** Add the explanation of a code. */
void explain_code_words(const struct symptom *s, int width, bool color,
			struct str *out);
json_t *explain_code_json(const struct symptom *s);

#endif
