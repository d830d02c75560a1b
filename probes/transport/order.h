/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_TRANSPORT_ORDER_H
#define PROBES_TRANSPORT_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "probes/transport/xport.h"

/**
 * What the coordinator asks of one end of a pair, and what that end answers;
 * both as JSON members of the messages "task" and "done".
 */

/** Direction d of a task: bit 1 << d of task.dirs; 0 = a to b, 1 = b to a. */
struct order_dir {
	bool wanted;
	bool sender;		/* this end sends */
	enum xport_drill drill;	/* of this end */
	double slow_factor;	/* 1 = none */
};

struct order {
	int64_t id;
	int64_t attempt;
	char nonce[33];
	int64_t rank, peer;
	bool now;		/* become a pair and measure; else only begin:
				 * "joined" is the answer, "go" will follow */
	bool lead;		/* makes the ticket */
	char ticket[XPORT_TICKET_MAX];	/* "" = it will follow */
	struct xport_seat seat;	/* of a mate: it joins, and nothing else */
	int64_t setup_ns, run_ns;	/* budgets: join, everything after */
	int64_t sizes[SPEC_MAX_SIZES];	/* bytes, rising */
	int n_sizes;
	int64_t iters, warmup;
	bool check;
	struct order_dir dirs[2];
};

/** *@how: what all orders of a run have in common, made for the first one of
 *  them (NULL) and borrowed by the others; the caller's. */
json_t *order_json(const struct order *o, json_t **how);
int order_parse(const json_t *msg, struct order *o, struct err *e);

/** One direction at one size as this end saw it. */
struct order_result {
	int dir;
	int64_t size_B;
	struct xport_result r;
};

json_t *order_result_json(const struct order_result *r);
int order_result_parse(const json_t *j, struct order_result *r, struct err *e);

/** Where the log of one end of a pair goes: DIR/logs/pair-3-9-try1-rank9.log;
 *  returns @buf. */
const char *order_log_path(const char *dir, int64_t rank, int64_t peer,
			   int64_t attempt, char *buf, size_t size);

#endif
