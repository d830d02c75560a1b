/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_RECORD_MEMLOCK_H
#define LIB_DATA_RECORD_MEMLOCK_H

#include "lib/data/record.h"

/** "unlimited" in a column of bytes: comparisons come out right. */
#define MEMLOCK_UNLIMITED INT64_MAX

/** Where a limit holds, in the order in which it is handed on. */
enum memlock_context {
	MEMLOCK_LOGIN,		/* the shell that submits */
	MEMLOCK_SLURMD,
	MEMLOCK_BATCH,
	MEMLOCK_STEP,
	MEMLOCK_CONTAINER,
	MEMLOCK_HERE,		/* a process outside of any job */
	MEMLOCK_CONTEXTS
};

/** As in the column context. */
const char *memlock_context_name(enum memlock_context c);
/** MEMLOCK_CONTEXTS when @text is none. */
enum memlock_context memlock_context_parse(const char *text);

/*
 * Values of the column check that the verdict looks for; probes/ has more of
 * them, which it only shows.
 */
#define CHECK_SOFT	  "memlock_soft"
#define CHECK_HARD	  "memlock_hard"
#define CHECK_CAP	  "cap_ipc_lock"
#define CHECK_UNIT	  "systemd_unit"
#define CHECK_LIMITS_CONF "limits_conf"
#define CHECK_PROPAGATION "propagation"
#define CHECK_CQ	  "ibv_create_cq"
#define CHECK_QP	  "ibv_create_qp"
#define CHECK_MR	  "ibv_reg_mr"
#define CHECK_MLOCK	  "mlock"

/* Values of the column code. */
#define CODE_BELOW_NEED	 "below_need"	 /* a limit under needed_B */
#define CODE_UNKNOWN	 "unknown"	 /* it is there and not readable */
#define CODE_ABSENT	 "absent"	 /* there is no such context here */
#define CODE_PROPAGATED	 "propagated"
#define CODE_KEPT	 "not_propagated"
#define CODE_HAS_CAP	 "cap_ipc_lock"	 /* the process may exceed limits */
#define CODE_ENOMEM	 "memlock_enomem" /* broke at the limit */
#define CODE_IGNORED	 "memlock_unit_ignored" /* systemd passes a line over */

/** One line of results.csv of memlock. */
#define MEMLOCK_COLUMNS(TEXT, INT, REAL, OUTCOME) \
	TEXT(node, 64, "node that the row is about") \
	TEXT(context, 16, "login, slurmd, batch, step, container, here") \
	TEXT(check, 32, "what was read or tried") \
	TEXT(hca, 64, "HCA that it was tried on") \
	INT(limit_B, "the limit, bytes; 2^63-1 is unlimited") \
	INT(needed_B, "what an NCCL job needs, bytes") \
	INT(max_ok_B, "largest size that worked, bytes") \
	INT(min_fail_B, "smallest size that failed, bytes") \
	TEXT(source, 160, "where the number comes from") \
	OUTCOME(outcome, "ok, error, timeout, crashed, skipped, not_run") \
	TEXT(code, 48, "kind of failure, one word") \
	TEXT(detail, 400, "the same in one sentence") \
	TEXT(start_utc, 32, "when it was read, RFC 3339")
struct memlock_row {
	RECORD_FIELDS(MEMLOCK_COLUMNS)
};

extern const struct schema schema_memlock;

#endif
