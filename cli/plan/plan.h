/* SPDX-License-Identifier: BSD-3-Clause */
/* Forecast of a run, reduced to fit a budget, and cheaper samples. */
#ifndef CLI_PLAN_PLAN_H
#define CLI_PLAN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/front/help.h"
#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/spec/spec.h"
#include "probes/plan/layout.h"
#include "probes/plan/plan.h"
#include "probes/probe.h"
#include "probes/transport/xport.h"

/* ---- budget -------------------------------------------------------------- */

/**
 * Make a run of @probe by @launcher fit into s->budget_ns if that is set:
 * reduce partners, messages and sizes that were not given, the least loss
 * first, and set a --time-limit that leaves time for the report.
 * @probe  NULL: several in turn, each of which is given its share
 * @says   one sentence on what was left out; "" if nothing was
 */
void budget_fit(struct spec *s, const struct probe *probe,
		const char *launcher, struct str *says);

/** Check that @percent of s->budget_ns lets a run measure for a second, the
 *  minimum of --time-limit.  Returns 0, or -1 with @e. */
int budget_check(const struct spec *s, int percent, struct err *e);

/* ---- forecast ------------------------------------------------------------ */

/** A longer plan suggests shorter ones. */
#define FORECAST_LONG_S 600
/** Pairs of more ranks take seconds to count, and hours to measure. */
#define FORECAST_RANKS	2048

/** Maximum ranks for which a plan counts all pairs: it may take seconds, a
 *  start may not. */
#define PLAN_RANKS 8192

/** A run before there is one.  0, NULL and NAN: not known. */
struct forecast {
	struct spec spec;	/* with the options that the launcher sets by
				 * default */
	const struct probe *probe;
	bool here;		/* all of it on this machine */
	bool assumed;		/* the ranks per node are not known */
	int64_t most_ranks;	/* above this not all pairs are counted */
	int64_t nodes, ranks;	/* ranks: 0 also of probes without any */
	const struct xport_ops *ops;
	struct layout layout;
	struct plan plan;	/* of PROBE_PAIRS */
	int64_t sizes, variants; /* of PROBE_COLLECTIVE */
	size_t cells;
	size_t turns;		/* pairs that must follow each other */
	int64_t neighbours;	/* of ping: maximum per interface */
	int64_t kept;		/* neighbours that a kernel keeps for all of its
				 * interfaces with the settings of this machine:
				 * gc_thresh3 */
	double time_s;		/* estimate for a healthy run */
	double least_s, most_s;	/* if only bounds are known */
	double bytes;		/* from node to node, about */
	bool paced;		/* and --rate-limit decides the time */
	double retry_s;		/* second attempts, at most */
	double follow_s;	/* the follow-up, at most */
	double diagnose_s;	/* --diagnose, at most; NAN also without it */
	int64_t diagnosed;	/* bad pairs that it tests, at most */
};

/**
 * Forecasts a run of @probe by @launcher, as far as the options and this
 * machine allow.  Above @max_ranks, pairs are counted only if few of them are
 * measured.  The caller calls forecast_release().
 */
void forecast_make(const struct spec *s, const struct probe *probe,
		   const char *launcher, int64_t max_ranks,
		   struct forecast *f);
void forecast_release(struct forecast *f);

/** Returns @f, a forecast of pairs, with the options @s about them; it shares
 *  the layout of @f and has no tasks, so that nothing is to be freed. */
struct forecast forecast_of(const struct forecast *f, const struct spec *s);

/**
 * For a forecast above FORECAST_LONG_S: returns the largest number of partners
 * per rank (a power of two) that takes less time, and that time in *@time_s.
 * 0: there is no such sample.
 */
int forecast_sample(const struct forecast *f, double *time_s);

/** "4 s", "11 min"; returns @buf. */
const char *forecast_time(double time_s, char *buf, size_t size);

/**
 * Prints where a run of @probe will be (@why @launcher), and, as far as the
 * options allow, how many cells it has and how long a healthy run takes; above
 * ten minutes also the time of a sample.
 */
void forecast_say(const struct spec *s, const char *probe,
		  const char *launcher, const char *why);

/* ---- tiers --------------------------------------------------------------- */

/**
 * Appends ways to measure fewer or more pairs than the forecast @f, each with
 * its time and the probability that it detects a fault: for p2p, if the user
 * chose neither a list nor a kind of pairs, and if it makes a difference.
 */
void tiers_words(const struct forecast *f, struct str *out);
/** Returns the same as a list, empty if there is no choice; NULL without
 *  memory. */
json_t *tiers_json(const struct forecast *f);

/* ---- NICs ---------------------------------------------------------------- */

/** Print why each GPU of this machine has its NIC, for --explain-nics; returns
 *  the exit code. */
int explain_nics(const struct session *s);

#endif
