/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record.h"

#include "lib/data/record_collective.h"
#include "lib/data/record_diagnose.h"
#include "lib/data/record_gpu.h"
#include "lib/data/record_hang.h"
#include "lib/data/record_info.h"
#include "lib/data/record_memlock.h"
#include "lib/data/record_ping.h"
#include "lib/data/record_step.h"

#define COLUMN(field, kind, text) \
	{ .name = #field, .type = kind, .offset = offsetof(struct ROW, field), \
	  .size = sizeof(((struct ROW *)NULL)->field), .help = text },

#define TEXT(field, bytes, help) COLUMN(field, COLUMN_TEXT, help)
#define INT(field, help) COLUMN(field, COLUMN_INT, help)
#define REAL(field, help) COLUMN(field, COLUMN_REAL, help)
#define OUTCOME(field, help) COLUMN(field, COLUMN_OUTCOME, help)

/** The schema of the rows ROW, and which columns it needs. */
#define SCHEMA(file, COLUMNS, ...) \
	{ \
		.name = file, .row_size = sizeof(struct ROW), \
		.columns = (const struct column[]){ \
			COLUMNS(TEXT, INT, REAL, OUTCOME) { 0 } \
		}, \
		.needs = (const char *const[]){ __VA_ARGS__, NULL }, \
	}

#define ROW p2p_row
const struct schema schema_p2p = SCHEMA("results.csv", P2P_COLUMNS,
					"src_rank", "dst_rank", "bw_GB_s",
					"outcome");
#undef ROW

#define ROW fact_row
const struct schema schema_facts = SCHEMA("facts.csv", FACT_COLUMNS,
					  "node", "fact", "value");
#undef ROW

#define ROW event_row
const struct schema schema_events = SCHEMA("events.csv", EVENT_COLUMNS,
					   "event");
#undef ROW

#define ROW collective_row
const struct schema schema_collective =
	SCHEMA("results.csv", COLLECTIVE_COLUMNS,
	       "size_B", "time_us", "outcome");
#undef ROW

#define ROW diagnose_row
const struct schema schema_diagnose = SCHEMA("diagnose.csv", DIAGNOSE_COLUMNS,
					     "src_rank", "dst_rank", "step",
					     "outcome");
#undef ROW

#define ROW gpu_row
const struct schema schema_gpu = SCHEMA("results.csv", GPU_COLUMNS, "node",
					"gpu", "test", "outcome");
#undef ROW

#define ROW hang_row
const struct schema schema_hang = SCHEMA("results.csv", HANG_COLUMNS,
					 "node", "pid", "state", "outcome");
#undef ROW

#define ROW info_row
const struct schema schema_info = SCHEMA("results.csv", INFO_COLUMNS,
					 "node", "outcome");
#undef ROW

#define ROW memlock_row
const struct schema schema_memlock = SCHEMA("results.csv", MEMLOCK_COLUMNS,
					    "node", "context", "check",
					    "limit_B", "needed_B", "outcome");
#undef ROW

#define ROW ping_row
const struct schema schema_ping = SCHEMA("results.csv", PING_COLUMNS,
					 "src_node", "dst_node", "outcome");
#undef ROW

#define ROW step_row
const struct schema schema_step = SCHEMA("results.csv", STEP_COLUMNS,
					 "rung", "outcome");
#undef ROW
