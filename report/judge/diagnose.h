/* SPDX-License-Identifier: BSD-3-Clause */
/* The layered tests of --diagnose and their results. */
#ifndef REPORT_JUDGE_DIAGNOSE_H
#define REPORT_JUDGE_DIAGNOSE_H

#include "lib/base/clock.h"
#include "lib/data/record_rows.h"
#include "report/judge/verdict.h"

/**
 * The tests of a failed pair: the layers below it one by one, then the
 * settings that people change by hand, from the smallest change to the
 * largest.  A slow pair has the same, with a good pair beside it: the fault is
 * in the layer at which the rate is lost.  Pure: which pairs, which steps they
 * get, what came of it.  The steps are run by cli/run/diagnose.c; their rows
 * are run->diagnose.
 */

/** Number of pairs tested for a finding of failed tests, and for all findings
 *  together; and with good pairs to compare slow ones with. */
#define DIAGNOSE_PER_FINDING 2
#define DIAGNOSE_BAD_PAIRS   6
#define DIAGNOSE_MAX_PAIRS   (2 * DIAGNOSE_BAD_PAIRS)
/** All steps together, and one of them; --time-limit may leave less. */
#define DIAGNOSE_NS	 (240 * NS_PER_S)
#define DIAGNOSE_STEP_NS (60 * NS_PER_S)
/** ... which is this share of the time that the run leaves, since others of a
 *  larger run want some of it, too. */
#define DIAGNOSE_SHARE 2

/** Variables that one knob, or several together, set. */
#define DIAGNOSE_MAX_ENV 4

/** One step.  To add a setting: a row in diagnose_steps. */
struct diagnose_step {
	const char *name;	/* in rows and of its directory */
	const char *says;	/* what a layer tests, what a knob costs */
	const char *command;	/* of gpucheck; knobs take the run's own */
	const char *option;	/* of that command, of knobs one more; NULL =
				 * none */
	unsigned of;		/* enum diagnose_base, a mask */
	unsigned base;		/* the one that it is, by a transport */
	enum diagnose_where {
		DIAGNOSE_ANYWHERE, DIAGNOSE_INTER, DIAGNOSE_INTRA,
		DIAGNOSE_CROSS	/* between nodes and rails */
	} where;
	bool ports;		/* between HCA ports */
	unsigned on;		/* KIND() of the parts that it adds to the
				 * layers below, if these are the only ones */
	bool rate;		/* a layer whose rate says something, or a
				 * setting that may raise it; other settings
				 * are for pairs that failed */
	const char *env[DIAGNOSE_MAX_ENV + 1];	/* NAME=VALUE; a knob's */
	/** Why this knob is not for the pair, NULL = it is; may be NULL. */
	const char *(*not_for)(const struct run *run, int src, int dst);
};

/** Transport of the run, which decides the layers that apply. */
enum diagnose_base {
	BASE_NCCL = 1 << 0, BASE_CUDA = 1 << 1, BASE_TCP = 1 << 2,
	BASE_SIM = 1 << 3
};

/** Layers from the lowest up, then knobs from the smallest change; a NULL name
 *  ends. */
extern const struct diagnose_step diagnose_steps[];

static inline bool diagnose_is_knob(const struct diagnose_step *s)
{
	return s->env[0] != NULL;
}

/** The layer that the run itself was, the topmost one; NULL: its transport
 *  has no layers. */
const struct diagnose_step *diagnose_top(const struct run *run);

/** Returns true if @run has tested what the setting @text ("A=1 B=2") does: it
 *  helps, which diagnose_tell() says first, or it does not. */
bool diagnose_settles(const struct run *run, const char *text);

/** Cells that are tested: bad ones for the findings, then good ones. */
struct diagnose_pairs {
	struct grid_pair list[DIAGNOSE_MAX_PAIRS];
	size_t n;
	size_t findings;	/* faults, whatever shows them */
	size_t covered;		/* of these, with a pair in the list */
};

void diagnose_choose(const struct run *run, const struct verdict *v,
		     struct diagnose_pairs *pairs);

/** Return true if @f is about slow pairs that --diagnose can test layer by
 *  layer, and has not. */
bool diagnose_can(const struct run *run, const struct finding *f);

/** Returns the finding that a pair stands for; NULL = none. */
struct finding *diagnose_finding(const struct run *run,
				 const struct verdict *v, int src, int dst);

/**
 * Return true if @s should be tried for the pair, after the results in
 * run->diagnose. False with @why NULL if it is not a step for it or no longer
 * needed; with @why in words if it is impossible.
 */
bool diagnose_applies(const struct run *run, const struct diagnose_step *s,
		      int src, int dst, const char **why);

/** Return true if the layer @s of the pair should be measured once more: a slow
 *  pair loses its rate there, or fails, or a good pair like that. */
bool diagnose_again(const struct run *run, const struct diagnose_step *s,
		    int src, int dst);

/** Name of the step that tries the top once more, right after @knob had a pair
 *  pass: only if it still fails there, the setting is what helps. */
const char *diagnose_undone_name(const char *knob, char *buf, size_t size);

/**
 * Combine the @n settings that raised the rate of the slow pair @p most, none
 * of which was enough, into the variables of @out; its name is for the caller.
 * Returns false if there are not that many, or the pair does not need them.
 */
bool diagnose_combine(const struct run *run, const struct grid_pair *p,
		      size_t n, struct diagnose_step *out);

/** Returns the row of @s for the pair, NULL = none yet; of a layer that was
 *  measured twice, the faster one.  Only the name of @s is read. */
const struct diagnose_row *diagnose_row_of(const struct run *run,
					   const struct diagnose_step *s,
					   int src, int dst);
/** The row in which a good pair like @src -> @dst passed @s; NULL: none. */
const struct diagnose_row *diagnose_good(const struct run *run,
					 const struct diagnose_step *s,
					 int src, int dst);
/** Return 1 if the pair keeps its rate in @s, 0 if it does not or fails there
 *  although a good pair passes, -1: not known. */
int diagnose_keeps(const struct run *run, const struct diagnose_step *s,
		   int src, int dst);
/** The lowest layer in which, as in all above it, a slow pair lacks its rate;
 *  NULL: it has its rate now, or that is not known. */
const struct diagnose_step *diagnose_lost(const struct run *run, int src,
					  int dst);
/** Return true if the pair of @r passed, and if it is slow, has its rate:
 *  that of a good pair in the top, or without one that of the layer below, or
 *  what is expected if that is less. */
bool diagnose_helps(const struct run *run, const struct diagnose_row *r);

/**
 * Appends the causes that facts show at the slow pair, not at the good pair,
 * and that can slow the layer in which the rate is lost; sets @codes to the
 * symptoms of these.  Returns their number, at most DIAGNOSE_CAUSES.
 */
#define DIAGNOSE_CAUSES 3
size_t diagnose_causes(const struct run *run, int src, int dst,
		       struct str *out, const char *codes[DIAGNOSE_CAUSES]);

/** Fills in a row with its pair and step, without a result. */
void diagnose_row_init(const struct run *run, const struct diagnose_step *s,
		       const struct grid_pair *pair,
		       struct diagnose_row *row);

/** The name of a layer or setting @step as people read it. */
const char *diagnose_says(const char *step);

/** Index of the end of @s on the node of @rank: its GPU, or in a test of HCA
 *  ports the port that it is next to. */
int diagnose_index(const struct run *run, const struct diagnose_step *s,
		   int rank);

/**
 * Reads results.csv of the test in @dir, a run of @s, into the outcome, code
 * and detail of @rows.  A pair without a row does not change.  Returns 0, or -1
 * with @e.
 */
int diagnose_read(const char *dir, const struct run *run,
		  const struct diagnose_step *s, struct diagnose_row *rows,
		  size_t n, struct err *e);

/** Return true if the nodes of the run in @dir had the variables of knob @s;
 *  otherwise the knob was not tried. */
bool diagnose_was_set(const char *dir, const struct diagnose_step *s);

/** Return true if row @i of run->diagnose is the first one of its pair, in a
 *  run whose transport has layers. */
bool diagnose_is_first(const struct run *run, size_t i);
/** ... and that pair is slow. */
bool diagnose_is_slow(const struct run *run, size_t i);

enum { DIAGNOSE_OWN, DIAGNOSE_GOOD, DIAGNOSE_LINK, DIAGNOSE_RATES };
/**
 * Return row @n from 0 with a rate of the pair of @first: the layers from the
 * lowest one up, then the settings; NULL: there is none.  Set @name, and @GB_s
 * to the rates of the pair, of the good pair in the same layer, and of the link
 * (NAN: not known).
 */
const struct diagnose_row *diagnose_rates(const struct run *run,
					  const struct diagnose_row *first,
					  size_t n, const char **name,
					  double GB_s[DIAGNOSE_RATES]);

/** Adds the results of the tests to the findings of @v. */
void diagnose_tell(const struct run *run, struct verdict *v);

#endif
