/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PLAN_DISPATCH_H
#define PROBES_PLAN_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "probes/plan/layout.h"
#include "probes/plan/plan.h"

/**
 * Starts tasks when their resources are free: no barrier between rounds, so
 * one slow pair does not stall the rest.  A pure state machine: no clock, no
 * sockets; the caller says what became free and asks what may start.
 *
 * Resources: a rank is in one task at a time; under "nic" so is each NIC of an
 * inter-node task; under "serial" the whole machine.  The mates of a task are
 * taken as its ends are.  A rank that is not
 * ready (its worker is starting) keeps its tasks waiting.
 */
enum dispatch_rule { DISPATCH_NIC, DISPATCH_PARALLEL, DISPATCH_SERIAL };

struct dispatch;

/**
 * NULL when memory runs out.  @l is borrowed until dispatch_free() (safe on
 * NULL); ranks start as not ready.
 */
struct dispatch *dispatch_new(const struct layout *l, enum dispatch_rule rule);
void dispatch_free(struct dispatch *d);

/** Queue one task behind the others; 0, or -1 when memory runs out. */
int dispatch_add(struct dispatch *d, const struct task *t);

/** Says that @rank can (again) / cannot work. */
void dispatch_ready(struct dispatch *d, int rank, bool ready);

/** While it is @held, no task starts whose ends are on different leaves. */
void dispatch_hold(struct dispatch *d, bool held);

/**
 * The next task that may start now: its resources are taken.  Returns false
 * when none can.  The rank that has been free the longest goes first and takes
 * the oldest task that it can; the same calls give the same answers.  Cost:
 * one look at each rank that could be its peer now, few while many tasks wait.
 */
bool dispatch_next(struct dispatch *d, struct task *out);

/** Give back the resources of @t. */
void dispatch_done(struct dispatch *d, const struct task *t);

/**
 * Take the oldest queued task of @rank (-1: of anybody) out of the queue
 * without running it: for ranks that are retired and for the end of time.
 */
bool dispatch_drop(struct dispatch *d, int rank, struct task *out);

size_t dispatch_queued(const struct dispatch *d);
size_t dispatch_running(const struct dispatch *d);

#endif
