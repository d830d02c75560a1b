/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record.h"

#define COLUMN(row, field, kind, text) \
	.name = #field, .type = kind, .offset = offsetof(struct row, field), \
	.size = sizeof(((struct row *)NULL)->field), .help = text

#define TEXT(row, field, help) { COLUMN(row, field, COLUMN_TEXT, help) }
#define INT(row, field, help) { COLUMN(row, field, COLUMN_INT, help) }
#define REAL(row, field, help) { COLUMN(row, field, COLUMN_REAL, help) }
#define OUTCOME(row, field, help) { COLUMN(row, field, COLUMN_OUTCOME, help) }

static const struct column p2p_columns[] = {
	INT(p2p_row, attempt, "number of the try, from 1"),
	INT(p2p_row, src_rank, "rank that sends"),
	TEXT(p2p_row, src_node, "its node"),
	INT(p2p_row, src_gpu, "its GPU, index on the node"),
	TEXT(p2p_row, src_nic, "its planned NICs, joined by +"),
	INT(p2p_row, dst_rank, "rank that receives"),
	TEXT(p2p_row, dst_node, "its node"),
	INT(p2p_row, dst_gpu, "its GPU, index on the node"),
	TEXT(p2p_row, dst_nic, "its planned NICs, joined by +"),
	TEXT(p2p_row, transport, "transport: nccl, cuda, verbs, tcp, sim"),
	TEXT(p2p_row, path, "path of the data; over PCIe with the topology "
			    "level"),
	TEXT(p2p_row, op, "operation"),
	TEXT(p2p_row, mode, "uni: one way; bidi: both ways at once"),
	TEXT(p2p_row, memory, "where the buffers are: host, gpu"),
	TEXT(p2p_row, schedule, "what ran at the same time: nic, parallel, "
				"serial; +pxn, +gpu"),
	INT(p2p_row, size_B, "bytes of one message"),
	INT(p2p_row, iters, "messages timed"),
	REAL(p2p_row, bw_GB_s, "median bandwidth, 10^9 bytes per second, one "
			       "way"),
	REAL(p2p_row, bw_min_GB_s, "lowest bandwidth, 10^9 bytes per second"),
	REAL(p2p_row, bw_max_GB_s, "highest bandwidth, 10^9 bytes per second"),
	REAL(p2p_row, expected_GB_s, "expected bandwidth of the hardware, 10^9 "
				     "bytes per second"),
	REAL(p2p_row, lat_us, "median latency, half a round trip of 8 bytes, "
			      "microseconds"),
	REAL(p2p_row, lat_p99_us, "99th percentile of the latency, "
				  "microseconds"),
	INT(p2p_row, wrong, "bytes that arrived with a wrong value"),
	OUTCOME(p2p_row, outcome, "ok, error, timeout, crashed, corrupt, "
				  "skipped, not_run"),
	TEXT(p2p_row, code, "kind of failure, one word"),
	TEXT(p2p_row, detail, "the failure in one sentence"),
	REAL(p2p_row, wall_s, "duration of the measurement with its set-up, "
			      "seconds"),
	TEXT(p2p_row, start_utc, "when it began, RFC 3339"),
	{ 0 }
};

static const struct column fact_columns[] = {
	TEXT(fact_row, node, "node that the fact is about"),
	TEXT(fact_row, scope, "part of it: node, gpu3, nic0, rank5"),
	TEXT(fact_row, fact, "name of the fact, one word"),
	TEXT(fact_row, value, "the value"),
	TEXT(fact_row, unit, "its unit"),
	TEXT(fact_row, source, "where it was read"),
	{ 0 }
};

static const struct column event_columns[] = {
	TEXT(event_row, utc, "when it happened, RFC 3339"),
	INT(event_row, seq, "number of the event, in order"),
	TEXT(event_row, node, "node that it is about"),
	INT(event_row, rank, "rank that it is about"),
	TEXT(event_row, event, "what happened, one word"),
	TEXT(event_row, detail, "the same in one sentence"),
	{ 0 }
};

const struct schema schema_p2p = {
	.name = "results.csv",
	.columns = p2p_columns,
	.row_size = sizeof(struct p2p_row),
};

const struct schema schema_facts = {
	.name = "facts.csv",
	.columns = fact_columns,
	.row_size = sizeof(struct fact_row),
};

const struct schema schema_events = {
	.name = "events.csv",
	.columns = event_columns,
	.row_size = sizeof(struct event_row),
};
