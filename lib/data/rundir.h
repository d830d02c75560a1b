/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RUNDIR_H
#define LIB_DATA_RUNDIR_H

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/data/record.h"

/* ---- run.json and verdict.json ------------------------------------------- */

/**
 * run.json, read as far as it is what it should be: a missing text is "", a
 * missing tree NULL, another missing member 0.  All is borrowed from the JSON.
 * A part in braces is given if run.json has a member of that name.
 */
struct run_file {
	const char *probe, *version, *nonce, *id, *drill_text, *launcher;
	const char *started_utc, *ended_utc, *stop_reason, *job_end;
	const char *transport, *schedule;
	bool drill;
	bool complete;		/* it ended, and was not cut short */
	json_t *argv, *options, *nodes, *environment, *settings, *notes;
	json_t *dropped, *shell, *expect, *resumes, *imported, *means, *sizes;
	struct {
		bool given, absent;
		const char *text, *hint;
		int exit;		/* 0: not known */
	} error;
	struct {
		bool given, rails_apart, cross, by_rail;
		const char *kind, *rails_by, *hca, *op;
		int64_t cells, passes, seed, probes_per_s, n_groups, n_nodes;
		json_t *pairs, *groups, *rungs, *fabrics, *sample;
	} planned;
	struct {
		bool given;
		const char *since_utc;
		int64_t after_B;	/* -1: not known */
	} measuring;
	struct {
		bool given;
		int64_t rounds, tests;
	} follow_up;
	struct {
		const char *reference, *exclude;
	} typed;			/* of the options */
	struct {
		bool given;
		const char *kind, *pass;
	} contrast;
	struct {
		bool given;
		const char *kind, *says;
		int tests;
		int64_t repeats, size_B;
		json_t *parts;		/* run_entry() */
	} bisect;
	struct {
		bool given;
		json_t *argv, *options;
	} whole;
	struct {
		bool given;
		const char *dir;
		json_t *parts;		/* run_entry() */
	} retest;
	struct {
		bool given;
		const char *id, *kind;
		int gpus, minutes, lanes;
		json_t *nodes, *parts;
	} jobs;
};

struct run_file run_file(const json_t *json);
/** The members of @f that are set, among them the parts that are given, as
 *  run.json has them: new reference, NULL without memory. */
json_t *run_file_json(const struct run_file *f);
/** The part of @f in braces that is called @name in the same way. */
json_t *run_part_json(const char *name, const struct run_file *f);

/** verdict.json, read alike. */
struct verdict_file {
	const char *status, *reason, *unwritten;
	json_t *cells, *findings, *retest;
};

struct verdict_file verdict_file(const json_t *json);

/** Entry @i of a list of either, read alike: a node, a finding, a part of a
 *  retest, a rank.  A missing number of a part is -1, a missing score NAN. */
struct run_entry {
	const char *kind, *node, *peer_node, *name, *peer_name, *direction;
	const char *severity, *code, *says, *act, *nic, *detail, *utc, *version;
	const char *source, *names;	/* names: a host list */
	const char *stopped;
	int index, peer_index, gpus, peer_gpus, gpu, rank, nics, first_rank;
	int64_t cells, explained, judged;
	double score;
	bool uplinks, fail, drain, here, missing;
	json_t *members, *peer_members, *others, *evidence, *pairs;
	json_t *nic_of, *nic_used, *nic_names, *ends, *parts, *argv;
};

/** An entry of which nothing is known, and the start of one to write. */
#define RUN_ENTRY_NONE \
	.index = -1, .peer_index = -1, .gpu = -1, .rank = -1, \
	.first_rank = -1, .score = NAN

struct run_entry run_entry(const json_t *list, size_t i);
struct run_entry run_entry_of(const json_t *json);

/** The members of @r that are set, as JSON: new reference, NULL without
 *  memory. */
json_t *run_entry_json(const struct run_entry *r);
/** The same of a node of run.json. */
json_t *run_node_json(const char *name, int first_rank, int gpus, int nics);

/** The member "error" of run.json: why nothing, or nothing more, could be
 *  measured, with the name of a limit that was met, and the exit code it comes
 *  to.  NULL without memory. */
json_t *run_error_json(const struct err *why, int exit_code);

/** Checks that the run of @dir with run.json @run has not begun.  Returns 0, or
 *  -1 with @e: rows of two plans must not be mixed, even for the same nodes,
 *  and a run that was killed could not record its end. */
int run_check_new(const json_t *run, const char *dir, struct err *e);

/** Write that into run.json of @dir.  The caller knows that no other process
 *  writes there.  Returns 0, or -1: the error is only printed then. */
int run_error_note(const char *dir, const struct err *why, int exit_code);

/** Write to @fd, which the coordinator reads, that @n->node has no agent, or
 *  without that of @n->rank (-1: not known): a line of JSON with code, source
 *  and detail, by one write(2). */
void run_absent_tell(int fd, const struct run_entry *n);
/** Append that line to DIR/absent; 0, or -1 with @e. */
int run_absent_note(const char *dir, const struct run_entry *n, struct err *e);

/** Version of this program. */
const char *version_own(void);

/** Check that @version, that of @whose ("the agent of n1"), is ours; "": not
 *  known.  Returns 0, or -1 with both in @e, code EPROTONOSUPPORT. */
int version_check(const char *whose, const char *version, struct err *e);

/** The same for the front that began or last resumed the run @run (run.json);
 *  0 if it does not say. */
int version_check_run(const json_t *run, struct err *e);

/* ---- rundir -------------------------------------------------------------- */

/** Files of a run directory (design: nothing else is ever read by report). */
#define RUN_JSON	"run.json"
/** run.json as a --resume is to make it, until that begins to measure. */
#define RUN_RESUME	"resume.json"
#define RUN_RESULTS	"results.csv"
#define RUN_FINAL	"results-final.csv"	/* of pairs: one line each */
#define RUN_SCHEMA	"schema.csv"	/* the columns of the others */
#define RUN_FACTS	"facts.csv"
#define RUN_EVENTS	"events.csv"
#define RUN_DIAGNOSE	"diagnose.csv"
#define RUN_EXPECTED	"expected.ini"	/* what the site adds to ours */
#define RUN_SWITCHES	"switches"	/* --switches, as it was typed */
#define RUN_ACCEPT	"accept"	/* the tests of --accept */
#define RUN_VERDICT	"verdict.json"
#define RUN_RENDEZVOUS	"rendezvous"
/** The coordinator touches RUN_RENDEZVOUS this often: its sign of life. */
#define RUN_SIGN_NS	(2 * NS_PER_S)
/** Nodes without an agent: lines of run_absent_tell(). */
#define RUN_ABSENT	"absent"
#define RUN_LOGS	"logs"
#define RUN_JOB_SCRIPT	"job.sbatch"
#define RUN_JOB_OUT	"job.out"
#define RUN_HOLDER	"holder"	/* while a front is at work */

/**
 * From here on, in this process and those that it starts, nothing is made that
 * others may write, whatever the umask was: 0755 and 0644, with the umask 002
 * of a project's folder 0775 and 0664, root's 0700 and 0600.
 */
void rundir_umask(void);

/**
 * Make the run directory.  @wanted is -o, or NULL for
 * gpucheck-<probe>-<UTC>-<id> below the working directory.  An existing empty
 * directory is taken; one with anything in it is an error with code ENOTEMPTY
 * (usage); a missing parent, no permission or a full disk are errors with
 * their errno; so is one that rundir_check_own() refuses.  logs/ is made
 * inside.  The absolute path goes to @path.
 * Returns 0, or -1 with @e set and nothing made.
 */
int rundir_create(const char *wanted, const char *probe, char path[PATH_MAX],
		  struct err *e);

/**
 * Check that this process may write to @dir, a path without links: it is the
 * caller's own and not writable by all users; for root, not by a group either,
 * and no other user can rename a folder above it.  -1 with @e and its hint.
 *
 * A directory that passes stays open: from then on the functions below find it,
 * and what is in it, from there and not by its path, which may be relative to a
 * working directory that stays.  One that was removed is looked for again by
 * the next check.
 */
int rundir_check_own(const char *dir, struct err *e);
/**
 * Check that the contents of @dir can be trusted, such as options or the
 * address of the coordinator: the same, but root may own it as well.  Returns
 * 0, or -1 with @e (its errno if @dir does not exist).
 */
int rundir_check_trust(const char *dir, struct err *e);
/** Close what a check keeps open of @dir: of many that are below one that is
 *  kept. */
void rundir_forget(const char *dir);
/** Open the directory @dir (O_PATH), as it was checked; -1 with errno. */
int rundir_at(const char *dir);
/** Its path, without links; -1 with @e. */
int rundir_real_path(int fd, char path[PATH_MAX], struct err *e);
/** Open @path as openat(2) with O_PATH does.  Root follows no link of another
 *  user: -1 with errno EPERM and @e.  @links: 0. */
int rundir_find(int from, const char *path, int links, struct err *e);
/** Close @fd unless it is -1; errno is kept. */
void rundir_shut(int fd);

/**
 * Take back the directory @dir of a run that never began: its files and logs/,
 * unless anything else is there, and then, with @whole, itself.
 * Returns 0, or -1 where it is kept.
 */
int rundir_discard(const char *dir, bool whole);

/** rundir_has() returns true if DIR/@name exists; rundir_remove() removes it if
 *  it does. */
bool rundir_has(const char *dir, const char *name);
void rundir_remove(const char *dir, const char *name);

/** Remove half-written files that killed writers left in @dir and its logs/.
 *  Call it after the last process of the run has stopped writing. */
void rundir_sweep(const char *dir);

/** "DIR/NAME" into @buf; -1 with @e set when too long. */
int rundir_path(const char *dir, const char *name, char buf[PATH_MAX],
		struct err *e);

/**
 * Replace DIR/NAME by @json (indented, keys in insertion order) or @text:
 * written beside, fsync'ed, renamed, so that a reader sees the old or the new
 * whole file.  @mode as in open(2).
 */
int rundir_write_json(const char *dir, const char *name, const json_t *json,
		      struct err *e);
int rundir_write_text(const char *dir, const char *name, const char *text,
		      unsigned mode, struct err *e);
/** Replace DIR/NAME by the output of @write (0, or -1 with errno), without
 *  fsync: for files that can be made again. */
int rundir_write_with(const char *dir, const char *name, unsigned mode,
		      int (*write)(void *arg, FILE *f), void *arg,
		      struct err *e);

/**
 * Open DIR/NAME ("logs/x", too) with @flags of open(2) if it is a file; reading
 * anything else might never end.  Links are followed in DIR, which a user
 * typed, but not below, where others may have put them.  Returns -1 with @e on
 * failure (code ENOENT: it does not exist).
 */
int rundir_open_fd(const char *dir, const char *name, int flags,
		   struct err *e);
/** The folder DIR/@folder ("" for DIR itself) in the same way; NULL with
 *  errno. */
DIR *rundir_folder(const char *dir, const char *folder);
/** A file for reading; NULL with @e. */
FILE *rundir_open(const char *dir, const char *name, struct err *e);
/** Read DIR/NAME, at most @max bytes, into a malloc'ed NUL-ended text; NULL
 *  with @e: ENOENT, EFBIG, ... */
char *rundir_read_text(const char *dir, const char *name, size_t max,
		       size_t *len, struct err *e);
/** Set @e: run directory @dir cannot be opened, by errno.  Returns -1. */
int rundir_missing(const char *dir, struct err *e);
/** Parse DIR/NAME, depth- and size-limited, as a JSON object; new reference,
 *  or NULL with @e. */
json_t *rundir_read_json(const char *dir, const char *name, struct err *e);
/** run.json for the processes of a run: RUN_RESUME if there is one. */
json_t *rundir_read_run(const char *dir, struct err *e);

/**
 * A CSV file that grows by whole lines, each by one write(2), so that a killed
 * run leaves whole lines.  The header is written if the file is empty; half a
 * line at the end, from a writer that was killed, is removed.
 * Closing a zeroed one, or one twice, does nothing.
 */
struct rundir_table {
	const struct schema *schema;	/* NULL = not open */
	char path[PATH_MAX];	/* for messages */
	int fd;
	struct str lines;	/* that are not written yet */
	int lost;		/* errno of the first that could not be; 0 */
};

/** Maximum number of bytes that rundir_table_put() holds back. */
#define RUNDIR_TABLE_BYTES 65536

int rundir_table_open(struct rundir_table *t, const char *dir,
		      const struct schema *s, struct err *e);
/** Write @row, and what was kept back before; 0, or -1 with @e: the lines that
 *  fitted are there, the others are forgotten. */
int rundir_table_add(struct rundir_table *t, const void *row, struct err *e);
/** The same, but hold it back until there is more or rundir_table_flush() is
 *  called, which closing does as well. */
int rundir_table_put(struct rundir_table *t, const void *row, struct err *e);
int rundir_table_flush(struct rundir_table *t, struct err *e);
void rundir_table_close(struct rundir_table *t);
/** Empty the table except for its header. */
int rundir_table_restart(struct rundir_table *t, struct err *e);

/** Result of a callback of rundir_table_walk(): keep or drop the row; -1 with
 *  @e ends the walk. */
enum rundir_row { RUNDIR_KEEP, RUNDIR_DROP };

/**
 * Show every row of DIR/@s to @look, in the order of the file.  With @rewrite
 * the file is replaced by one of the rows that it wants kept, byte for byte as
 * they were, and without malformed ones (such as half a last line); the old
 * file stays until the new one is complete.  @left_out (may be NULL) counts the
 * rows that were, or would be, left out.  A missing file has no rows.
 * Returns 0, or -1 with @e; with @rewrite a first line that is not the header
 * of @s is an error, because rows that are added would not fit below it.
 */
int rundir_table_walk(const char *dir, const struct schema *s, bool rewrite,
		      int (*look)(void *arg, const void *row, struct err *e),
		      void *arg, size_t *left_out, struct err *e);

/**
 * Lock the file @fd for this process until @fd is closed, and wait at most
 * @within_ns for another process that has it.  Returns 0, also on a file system
 * without locks; -1 with @e: EBUSY, or ETIMEDOUT, after which a thread still
 * uses @fd: do not close it.
 */
int rundir_lock(int fd, int64_t within_ns, struct err *e);
/**
 * The coordinator's claim on the directory, by @fd of its events.csv: held as
 * long as its process lives.  -1 with @e EBUSY: another one has it.
 */
int rundir_hold(int fd, struct err *e);
/**
 * Reserve @bytes, or a quarter of the free space, on the file system of @dir
 * for files that must be written when it is full.  Returns a descriptor;
 * closing it, or the end of the process, releases the space.  Returns -1 if
 * there is none.
 */
int rundir_keep_room(const char *dir, size_t bytes);
/** Returns true if a coordinator holds @dir, or a process that makes runs in it
 *  holds its results.csv.  False if its machine is out of reach of locks. */
bool rundir_is_held(const char *dir);
/**
 * The same of a front, which starts coordinators: two must not do so at once in
 * the run directory @dir.  *@fd is the claim, -1 where the file system has no
 * locks, or @dir may not be written; rundir_unclaim() gives it back, as does
 * the end of the process.  Returns 0, or -1: another one has it, "process 5 on
 * n1" in @who.
 */
int rundir_claim(const char *dir, int *fd, char *who, size_t size);
void rundir_unclaim(const char *dir, int fd);
/** Return true if @dir is on a local disk, where file locks are reliable. */
bool rundir_is_here(const char *dir);
/** When the coordinator last gave a sign of life, by the clock of the file
 *  system, since 1970; 0: never. */
int64_t rundir_sign_ns(const char *dir);
/** Return true if the coordinator is alive: wait up to 3 x RUN_SIGN_NS for its
 *  next sign, but not if the last one is older. */
bool rundir_signs(const char *dir);

#endif
