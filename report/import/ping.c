/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CSV of a script that pings from every address to every other:
 * SourceNode,SourceIP,DestinationNode,DestinationIP,NetworkSegment,Status.
 * A path without a line was not run; it is not good.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/csv.h"
#include "lib/data/json.h"
#include "lib/data/record_rows.h"
#include "report/import/import.h"

/* ---- fping --------------------------------------------------------------- */

/*
 * Lines of fping about its targets, in any of its modes. They do not name the
 * source, which stays empty.
 */

static void row_init(struct ping_row *row, const char *target)
{
	struct in6_addr address;

	record_init(&schema_ping, row);
	STR_COPY(row->method, "icmp");
	if (inet_pton(AF_INET, target, &address) == 1 ||
	    inet_pton(AF_INET6, target, &address) == 1) {
		STR_COPY(row->dst_ip, target);
	} else {
		STR_COPY(row->dst_node, target);
	}
}

static int add_target(struct import *x, struct ping_row *row, struct err *e)
{
	row->outcome = row->received > 0 ? OUTCOME_OK : OUTCOME_TIMEOUT;
	STR_COPY(row->code, row->received == 0 ? PING_NO_REPLY :
			    row->received < row->sent ? PING_LOSS : "");
	return import_add(x, &schema_ping, row, e) < 0 ? -1 : 1;
}

/** "n1 is alive (0.05 ms)", "n2 is unreachable": one packet or more, how many
 *  is not said.  This and the next two return 1 for a row, 0 for none, -1 with
 *  @e. */
static int take_state(struct import *x, const struct import_tokens *k,
		      struct err *e)
{
	bool alive;
	struct ping_row row;

	if (k->n < 3 || strcmp(k->at[1], "is") != 0) {
		return 0;
	}
	alive = strcmp(k->at[2], "alive") == 0;
	if (!alive && strcmp(k->at[2], "unreachable") != 0) {
		return 0;
	}
	row_init(&row, k->at[0]);
	if (alive && k->n > 3 && k->at[3][0] == '(') {
		row.rtt_avg_us = import_real(k->at[3] + 1) * 1e3;
	}
	row.received = alive;
	return add_target(x, &row, e);
}

/** "n1 : xmt/rcv/%loss = 5/5/0%, min/avg/max = 0.05/0.06/0.09" */
static int take_summary(struct import *x, const struct import_tokens *k,
			const char *line, struct err *e)
{
	const char *counts = strstr(line, "xmt/rcv/%");
	const char *times = strstr(line, "min/avg/max = ");
	double min, avg, max;
	int sent, received;
	struct ping_row row;

	counts = counts ? strchr(counts, '=') : NULL;
	if (!counts || k->n < 5 ||
	    sscanf(counts, "= %9d/%9d", &sent, &received) != 2 || sent < 0 ||
	    received < 0) {
		return 0;
	}
	row_init(&row, k->at[0]);
	row.sent = sent;
	row.received = received;
	if (times && sscanf(times, "min/avg/max = %9lf/%9lf/%9lf", &min, &avg,
			    &max) == 3) {
		row.rtt_min_us = min * 1e3;
		row.rtt_avg_us = avg * 1e3;
		row.rtt_max_us = max * 1e3;
	}
	return add_target(x, &row, e);
}

/** "n1 : 0.05 0.06 - 0.07": -C, a time or a dash a packet. */
static int take_times(struct import *x, const struct import_tokens *k,
		      struct err *e)
{
	struct ping_row row;
	double sum = 0;

	if (k->n < 3 || strcmp(k->at[1], ":") != 0) {
		return 0;
	}
	row_init(&row, k->at[0]);
	row.sent = (int64_t)k->n - 2;
	row.received = 0;
	for (size_t i = 2; i < k->n; i++) {
		double us = import_real(k->at[i]) * 1e3;

		if (strcmp(k->at[i], "-") == 0) {
			continue;
		}
		if (!(us >= 0)) {
			return 0;
		}
		row.rtt_min_us = row.received && row.rtt_min_us < us ?
					 row.rtt_min_us : us;
		row.rtt_max_us = row.received && row.rtt_max_us > us ?
					 row.rtt_max_us : us;
		sum += us;
		row.received++;
	}
	if (row.received > 0) {
		row.rtt_avg_us = sum / (double)row.received;
	}
	return add_target(x, &row, e);
}

int import_fping(struct import *x, FILE *f, struct err *e)
{
	struct import_tokens k;
	int rc = 0;

	while (rc >= 0 && import_next_line(x, f)) {
		bool idle;

		import_split(x->line, &k);
		/* the reply, time-out or error of a single packet, which the
		 * lines of the targets sum up; the statistics of -s */
		idle = k.n == 0 || str_starts(x->line, "ICMP ") ||
		       str_starts(x->line, "  ") ||
		       str_starts(x->line, "[") ||
		       (k.n > 2 && strcmp(k.at[1], ":") == 0 &&
			k.at[2][0] == '[');
		rc = 0;
		if (!idle && !x->unended) {
			rc = take_state(x, &k, e);
			rc = rc ? rc : take_summary(x, &k, x->line, e);
			rc = rc ? rc : take_times(x, &k, e);
		}
		if (rc == 0 && (x->unended || !idle)) {
			import_unknown(x, x->line);
		}
	}
	return rc < 0 ? -1 : 0;
}

/* ---- ping ---------------------------------------------------------------- */

enum { SRC_NODE, SRC_IP, DST_NODE, DST_IP, SEGMENT, STATUS, FIELDS };

static const char *const titles[FIELDS] = {
	[SRC_NODE] = "SourceNode",	[SRC_IP] = "SourceIP",
	[DST_NODE] = "DestinationNode", [DST_IP] = "DestinationIP",
	[SEGMENT] = "NetworkSegment",	[STATUS] = "Status",
};

/** Returns false if the line is not about a path. */
static bool fill_row(const struct csv_row *line, struct ping_row *row)
{
	bool good = line->n == FIELDS &&
		    strcmp(line->field[STATUS], "Success") == 0;

	record_init(&schema_ping, row);
	if (line->n != FIELDS ||
	    (!good && strcmp(line->field[STATUS], "Failure") != 0)) {
		return false;
	}
	for (size_t i = 0; i < line->n; i++) {
		/* names become keys of run.json, which has UTF-8 only */
		json_t *text = json_string(line->field[i]);

		if (!text) {
			return false;
		}
		json_decref(text);
	}
	STR_COPY(row->method, "icmp");
	row->sent = 1;
	row->received = good;
	row->outcome = good ? OUTCOME_OK : OUTCOME_TIMEOUT;
	STR_COPY(row->code, good ? "" : PING_NO_REPLY);
	return line->field[SRC_NODE][0] && line->field[SRC_IP][0] &&
	       line->field[DST_NODE][0] && line->field[DST_IP][0] &&
	       STR_COPY(row->src_node, line->field[SRC_NODE]) &&
	       STR_COPY(row->src_ip, line->field[SRC_IP]) &&
	       STR_COPY(row->dst_node, line->field[DST_NODE]) &&
	       STR_COPY(row->dst_ip, line->field[DST_IP]) &&
	       STR_COPY(row->segment, line->field[SEGMENT]);
}

int import_ping(struct import *x, FILE *f, struct err *e)
{
	struct csv_reader csv;
	struct csv_row line;
	int got;

	csv_reader_init(&csv, f);
	while ((got = csv_next(&csv, &line, e)) == 1) {
		struct ping_row row;
		size_t same = 0;

		x->lines++;
		x->number = csv.line;
		while (same < line.n && same < FIELDS &&
		       strcmp(line.field[same], titles[same]) == 0) {
			same++;
		}
		if (same == FIELDS && line.n == FIELDS) {
			continue;	/* a header: joined files have more */
		}
		/* a last line without its end may lack digits */
		if (line.unended || !fill_row(&line, &row)) {
			import_unknown(x, line.field[0]);
		} else if (import_add(x, &schema_ping, &row, e) < 0) {
			got = -1;
			break;
		}
	}
	x->lines += csv.bad_rows;
	x->unknown += csv.bad_rows;
	csv_reader_release(&csv);
	return got;
}

/* ---- what run.json says of it -------------------------------------------- */

/** The segment at one end of "10.1.0->10.2.0", or of "10.1.0". */
static void segment_of(const struct ping_row *row, bool src, char buf[64])
{
	const char *arrow = strstr(row->segment, "->");
	size_t len = arrow ? (size_t)(arrow - row->segment) :
			     strlen(row->segment);

	if (src || !arrow) {
		snprintf(buf, 64, "%.*s", (int)(len < 63 ? len : 63),
			 row->segment);
	} else {
		snprintf(buf, 64, "%.63s", arrow + 2);
	}
}

/** Remember that @node has @ip in @segment: {node: {ip: segment}}. */
static void add_end(json_t *nodes, json_t *segments, const char *node,
		    const char *ip, const char *segment)
{
	json_t *ends = json_object_get(nodes, node);

	if (!ends) {
		ends = json_object();
		if (json_object_set_new(nodes, node, ends) < 0) {
			return;
		}
	}
	if (!json_object_get(ends, ip)) {
		json_object_set_new(ends, ip, json_text(segment));
	}
	json_object_set_new(segments, segment, json_integer(0));
}

/** The keys of @o, b10 behind b9; NULL without memory. */
static const char **sorted_keys(json_t *o)
{
	const char **keys = calloc(json_object_size(o) + 1, sizeof(*keys));
	const char *key;
	size_t n = 0;
	json_t *value;

	if (keys) {
		json_object_foreach(o, key, value) {
			keys[n++] = key;
		}
		if (n > 0) {
			qsort(keys, n, sizeof(*keys), str_order_text);
		}
	}
	return keys;
}

static json_t *node_json(const char *name, json_t *ends, const json_t *rails)
{
	const char **ips = sorted_keys(ends);
	json_t *list = json_array();

	for (size_t i = 0; ips && ips[i]; i++) {
		const char *segment =
			json_string_value(json_object_get(ends, ips[i]));

		json_array_append_new(list, json_pack(
			"{s:s, s:o, s:o, s:O}", "if", "", "ip",
			json_text(ips[i]), "segment", json_text(segment),
			"rail", json_object_get(rails, segment)));
	}
	free(ips);
	return json_pack("{s:o, s:b, s:o}", "name", json_text(name), "here", 1,
			 "ends", list);
}

json_t *import_ping_layout(const struct import *x)
{
	json_t *nodes, *segments, *list;
	bool cross = false;
	const char **keys;
	char from[64], to[64];
	struct ping_row row;

	record_list_get(&x->rows, 0, &row);
	if (!row.src_node[0]) {
		return NULL;	/* fping does not say who asked */
	}
	nodes = json_object();
	segments = json_object();
	list = json_array();
	for (size_t i = 0; i < x->rows.n; i++) {
		record_list_get(&x->rows, i, &row);
		segment_of(&row, true, from);
		segment_of(&row, false, to);
		add_end(nodes, segments, row.src_node, row.src_ip, from);
		add_end(nodes, segments, row.dst_node, row.dst_ip, to);
		cross = cross || strcmp(from, to) != 0;
	}
	keys = sorted_keys(segments);
	for (int i = 0; keys && keys[i]; i++) {
		json_object_set_new(segments, keys[i], json_integer(i));
	}
	free(keys);
	keys = sorted_keys(nodes);
	for (size_t i = 0; keys && keys[i]; i++) {
		json_array_append_new(list, node_json(keys[i],
			json_object_get(nodes, keys[i]), segments));
	}
	free(keys);
	json_decref(nodes);
	json_decref(segments);
	return json_pack("{s:o, s:{s:s, s:b, s:b, s:I}}", "nodes", list,
			 "planned", "kind", "mesh", "cross", cross, "by_rail",
			 0, "cells", (json_int_t)x->rows.n);
}
