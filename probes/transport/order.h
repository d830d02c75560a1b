/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORT_ORDER_H
#define PROBES_TRANSPORT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/schema.h"
#include "probes/transport/xport.h"

/**
 * Orders of the coordinator to one end of a pair, and the answers of that end:
 * an entry each of the lists in the messages "task" and "done", and the words
 * of "ticket", "joined" and "go" in between. They are many and small, so that
 * an entry is CBOR that is read without a tree.
 */

/** Settings common to all orders of a run; agents and workers receive them
 *  once, when they start. */
struct order_how {
	int64_t setup_ns, run_ns;	/* budgets: join, everything after */
	int64_t sizes[SPEC_MAX_SIZES];	/* bytes, rising */
	int n_sizes;
	int64_t iters, warmup;
	bool check;
};

/** Both budgets. */
static inline int64_t order_budget_ns(const struct order_how *h)
{
	return h->setup_ns + h->run_ns;
}

/** The largest size, which decides. */
static inline int64_t order_most_B(const struct order_how *h)
{
	return h->sizes[h->n_sizes - 1];
}

/** Fields of orders, words and reports in the order of their CBOR. */
extern const struct field order_how_fields[], order_fields[],
	order_word_fields[], order_report_fields[], order_flow_fields[];

int order_how_parse(const json_t *j, struct order_how *h, struct err *e);

/** Direction d of a task: bit 1 << d of task.dirs; 0 = a to b, 1 = b to a. */
struct order_dir {
	bool wanted;
	bool sender;		/* this end sends: by its place */
	enum xport_drill drill;	/* of this end */
	double slow_factor;	/* 1 = none */
};

struct order {
	int64_t rank, id;
	char nonce[33];
	int64_t peer;
	struct xport_seat seat;	/* of a mate: it joins, and nothing else */
	bool lead;		/* makes the ticket: by its place */
	bool now;		/* become a pair and measure; else only begin:
				 * "joined" is the answer, "go" will follow */
	int64_t attempt;
	struct order_dir dirs[2];
	char ticket[XPORT_TICKET_MAX];	/* "" = it will follow */
};

/** Append the bytes of @o; read all @n bytes. */
void order_add(const struct order *o, struct str *out);
int order_read(const void *bytes, size_t n, struct order *o, struct err *e);

/** A word about a task of a rank: what @text is, its type says. */
struct order_word {
	int64_t rank, id;
	char text[XPORT_TICKET_MAX];	/* of "go" the nonce; "" of "joined" */
};

/** The same. */
void order_word_add(const struct order_word *o, struct str *out);
int order_word_read(const void *bytes, size_t n, struct order_word *o,
		    struct err *e);

/** One direction at one size as this end saw it. */
struct order_result {
	int dir;
	int64_t size_B;
	struct xport_result r;
};

#define ORDER_RESULTS (2 * SPEC_MAX_SIZES)	/* of a report, at most */
#define ORDER_FACTS   64
#define ORDER_FLOWS   (2 * XPORT_FLOWS_MAX)

/** The end of a task, as one end of the pair tells it. */
struct order_report {
	int64_t rank, id;
	int64_t late_ns;	/* that the sender did not run */
	bool unfit;		/* the worker ends and is replaced */
	int64_t crashed;	/* rank of a model that crashed; RECORD_NONE */
	json_t *facts;		/* array, found out meanwhile; NULL: none */
	json_t *flows;		/* array of order_flow_fields; NULL: none */
	struct order_result *results;
	int n;
};

/** Append @r, which the caller keeps. */
void order_report_add(const struct order_report *r, struct str *out);
/** order_report_release() is due where it returns 0. */
int order_report_read(const void *bytes, size_t n, struct order_report *r,
		      struct err *e);
void order_report_release(struct order_report *r);

/** Where the log of one end of a pair goes: DIR/logs/pair-3-9-try1-rank9.log;
 *  returns @buf. */
const char *order_log_path(const char *dir, int64_t rank, int64_t peer,
			   int64_t attempt, char *buf, size_t size);

/* ---- the worker --------------------------------------------------------- */

/**
 * A worker owns one rank: one GPU, or one slot on a machine without.  It may
 * hang or crash; the agent that started it notices, says why and starts
 * another.  It talks to its agent over WORKER_FD, leaves a struct worker_note
 * of what it is doing in the shared memory behind WORKER_NOTE_FD, and what a
 * library logs in the file behind WORKER_LOG_FD: both outlive it.
 */
#define WORKER_FD      3
#define WORKER_NOTE_FD 4
#define WORKER_LOG_FD  5

/** A rank whose workers died so often is retired. */
#define SLOT_LIVES 2

/** "gpucheck worker": the process.  Returns its exit code. */
int worker_main(struct err *e);

#endif
