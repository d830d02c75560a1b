/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_COLLECTIVE_ORDER_H
#define PROBES_COLLECTIVE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/collective/collective.h"
#include "probes/nccl/chosen.h"
#include "probes/collective/samples.h"
#include "probes/transport/xport.h"

/**
 * What the coordinator asks of each member of a collective, and what it
 * answers: JSON members of the messages "collective" and "collective_done".
 * All members get an order of one kind at a time, and the next when all have
 * answered.
 */
enum collective_do {
	DO_TICKET,	/* the lead: make what the others need to join */
	DO_JOIN,	/* become a member, reserve memory */
	DO_STEP,	/* check, warm up, take samples of one size */
	DO_LEAVE,	/* give the collective up; another may follow */
};

/** Operations of verify that one step may have. */
#define COLLECTIVE_STEP_VERIFY 60

/** A worker that is so late is killed by its agent: it should have said that it
 *  waits in vain.  Long enough for a machine that is busy with other things. */
#define COLLECTIVE_LATE_NS (8 * NS_PER_S)

struct collective_order {
	enum collective_do what;
	int64_t id;
	char nonce[33];
	int64_t rank;		/* of the run */
	int64_t budget_ns;	/* the worker answers by then */
	/* the collective */
	int64_t me, ranks, nodes;
	enum collective op;
	const struct dtype *dtype;
	const struct redop *redop;
	char variant[64], algo[32], proto[16];	/* asked for, "" */
	char ticket[XPORT_TICKET_MAX];
	int64_t size_B;		/* of the step; to reserve */
	int64_t factor;		/* to lower it by where memory is short */
	/* the step */
	bool inplace, check;
	int64_t warmup, samples, batch;
	bool held;		/* queue first, then run: what has connected */
	int64_t seed;
	int64_t verify, verify_from;	/* checked operations of the step, and
					 * how many of the size were before */
	enum xport_drill drill;
	bool silent;		/* of a drill: the way hangs, not the rank */
	double slow_factor;	/* 1 = none */
	double wrong_rate;	/* of a drill: how often a member spoils what it
				 * sends */
	int64_t wrong_by;	/* which one */
};

struct collective_result {
	int64_t id, rank;
	enum collective_do what;
	enum outcome outcome;
	char code[48];
	char detail[300];
	bool echo;		/* only waited in vain for somebody */
	char ticket[XPORT_TICKET_MAX];
	char lib[160];		/* version of the library */
	int64_t size_B;		/* that there is memory for */
	int64_t wrong;		/* elements; RECORD_NONE */
	uint64_t bad;		/* a bit for each operation of verify that
				 * had any, from the lowest */
	char algo[NCCL_CHOSEN_ALGO], proto[NCCL_CHOSEN_PROTO];	/* used */
	int n;
	double us[COLLECTIVE_SAMPLES];	/* an operation */
};

/** The data of operation number @i of verify, of the run's seed. */
uint64_t collective_verify_seed(const struct collective_order *o, int64_t i);
/** Is operation number @i of verify (-1: that of check) one in which a drill
 *  makes wrong_by spoil what it sends?  All members agree. */
bool collective_is_spoilt(const struct collective_order *o, int64_t i);

json_t *collective_order_json(const struct collective_order *o);
int collective_order_parse(const json_t *msg, struct collective_order *o,
			   struct err *e);

void collective_result_init(struct collective_result *r,
			    const struct collective_order *o);
json_t *collective_result_json(const struct collective_result *r);
int collective_result_parse(const json_t *msg, struct collective_result *r,
			    struct err *e);
/** Fill in outcome, code and detail; -1. */
int collective_fail(struct collective_result *r, enum outcome o,
		    const char *code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
