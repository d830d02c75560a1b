/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_HISTORY_HISTORY_H
#define REPORT_HISTORY_HISTORY_H

#include "report/base/wrap.h"
#include "report/history/summary.h"
#include "report/history/trend.h"

/**
 * Many runs beside each other: which part was found how often, what its level
 * does, which node fails again and again.  Pure.
 *
 * A part is compared with itself in runs of the same setup alone, as
 * summary_alike() has it; a run in which it was neither found nor measured does
 * not count.
 */

/** A node is a lemon when so many of its last runs found a fault in it or in
 *  one of its parts; faults between two nodes are nobody's. */
#define HISTORY_LEMON_FAILS 3
/** A part flaps when it went from found to good or back so often in them. */
#define HISTORY_FLAP_TURNS 3
#define HISTORY_LAST 10

enum history_state { HISTORY_GOOD, HISTORY_WARN, HISTORY_FAIL };

/** A run in which a part counts. */
struct history_point {
	size_t run;		/* index in history.runs */
	enum history_state state;
	double level_GB_s;	/* NAN = not measured */
};

#define HISTORY_NAME 340
struct history_part {
	char name[HISTORY_NAME];	/* "n7 NIC 2" */
	struct summary_finding is;	/* kind, node, indexes; the code of its
					 * last finding */
	size_t setup;			/* index in history.setups */
	struct history_point *points;	/* by time */
	size_t n;
	size_t failed, warned;		/* in so many of them */
	size_t first, last;		/* of the runs that found it, if any */
	size_t turns;			/* in its last HISTORY_LAST */
	bool flaps;
	struct trend trend;
};

struct history_node {
	char name[SUMMARY_NODE];
	uint8_t *failed;	/* of each of its runs, of any setup, by time */
	size_t n, run;		/* how many, index of the last of them */
	size_t fails;		/* in the last HISTORY_LAST of them */
	bool lemon;
	char parts[200];	/* in which: "NIC 2, GPU 3" */
};

struct history {
	const struct summary *runs;	/* by time; borrowed */
	size_t n_runs;
	size_t *setups;		/* the last run of each */
	size_t n_setups;
	struct history_part *parts;	/* found most often first */
	size_t n_parts;
	struct history_node *nodes;	/* lemons first */
	size_t n_nodes;
};

/** Of @n runs that count, by time, which outlive @h; 0, or -1 without memory.
 *  history_release() frees, also then. */
int history_make(const struct summary *runs, size_t n, struct history *h);
void history_release(struct history *h);

/** The last step of it: what the points of each part and node come to, and
 *  their order.  0, or -1 without memory. */
int history_judge(struct history *h);

/** Is the part what somebody called @name: itself, or a part of it?  "n7" is
 *  the node with its GPUs and NICs; case does not matter.  NULL: any. */
bool history_is(const struct history_part *p, const char *name);
/** Should it be shown to who asked for no part: was it found, or does it get
 *  slower? */
bool history_tells(const struct history_part *p);
/** A part without findings is told of from so many percent a month. */
#define HISTORY_SLOWER 2.0

/** ".": good, "w", "x": the last of its runs, at most HISTORY_LAST; @buf. */
const char *history_pattern(const struct history_part *p,
			    char buf[HISTORY_LAST + 1]);

/** What was read, for those who show it; texts are borrowed. */
struct history_about {
	const char *dir;
	const char *part;	/* that was asked for; NULL: none */
	size_t left_out;	/* drills and runs of the model cluster */
	size_t no_result;	/* that came to nothing */
	size_t unread;		/* files that are no summaries */
	bool verbose;
};

/** For a screen of @w. */
void history_words(const struct history *h, const struct history_about *a,
		   const struct wrap *w);
/** All of it; NULL without memory. */
json_t *history_json(const struct history *h, const struct history_about *a);
/** A line a part, with a header. */
void history_csv(const struct history *h, const struct history_about *a,
		 struct str *out);

/** history.svg, .png: what is drawn, and history.html. */
#define HISTORY_PICTURE "history"
/** The levels of the parts that are told of, by gnuplot, into DIR: 0, 1 with @e
 *  where there is none, or -1 with @e. */
int history_draw(const char *dir, const struct history *h,
		 const struct history_about *a, struct err *e);
/** A page of it all, self-contained, with the picture of DIR if it has one; 0,
 *  or -1 with @e. */
int history_page(const char *dir, const struct history *h,
		 const struct history_about *a, struct err *e);

#endif
