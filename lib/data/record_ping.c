/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/record_ping.h"

#define COLUMN(field, kind, text) \
	{ .name = #field, .type = kind, \
	  .offset = offsetof(struct ping_row, field), \
	  .size = sizeof(((struct ping_row *)NULL)->field), .help = text }

static const struct column columns[] = {
	COLUMN(src_node, COLUMN_TEXT, "node that sends the requests"),
	COLUMN(src_if, COLUMN_TEXT, "its interface"),
	COLUMN(src_ip, COLUMN_TEXT, "its address"),
	COLUMN(dst_node, COLUMN_TEXT, "node that replies"),
	COLUMN(dst_if, COLUMN_TEXT, "its interface"),
	COLUMN(dst_ip, COLUMN_TEXT, "its address"),
	COLUMN(segment, COLUMN_TEXT, "subnet of both, or a->b"),
	COLUMN(method, COLUMN_TEXT, "icmp, icmp_raw, udp, tcp"),
	COLUMN(sent, COLUMN_INT, "packets sent, retries included"),
	COLUMN(received, COLUMN_INT, "replies within the timeout"),
	COLUMN(rtt_min_us, COLUMN_REAL, "shortest round trip, microseconds"),
	COLUMN(rtt_avg_us, COLUMN_REAL, "mean round trip, microseconds"),
	COLUMN(rtt_max_us, COLUMN_REAL, "longest round trip, microseconds"),
	COLUMN(mtu_B, COLUMN_INT, "largest packet that passes unfragmented, "
				  "bytes"),
	COLUMN(outcome, COLUMN_OUTCOME, "ok, error, timeout, skipped, not_run"),
	COLUMN(code, COLUMN_TEXT, "kind of failure or observation, one word"),
	COLUMN(detail, COLUMN_TEXT, "the same in one sentence"),
	COLUMN(start_utc, COLUMN_TEXT, "when it began, RFC 3339"),
	{ 0 }
};

const struct schema schema_ping = {
	.name = "results.csv",
	.columns = columns,
	.row_size = sizeof(struct ping_row),
};
