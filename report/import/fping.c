/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fping says of each of its targets, in any of its modes.  Who asked, it
 * does not say: the source stays empty.
 */
#include "report/import/import.h"

#include <arpa/inet.h>
#include <string.h>

struct fping {
	struct import *x;
	struct import_tokens k;	/* of the line at hand */
};

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

static int add(struct fping *p, struct ping_row *row, struct err *e)
{
	row->outcome = row->received > 0 ? OUTCOME_OK : OUTCOME_TIMEOUT;
	STR_COPY(row->code, row->received == 0 ? PING_NO_REPLY :
			    row->received < row->sent ? PING_LOSS : "");
	return import_add(p->x, &schema_ping, row, e) < 0 ? -1 : 1;
}

/** "n1 is alive (0.05 ms)", "n2 is unreachable": one packet or more, how many
 *  is not said.  These and the next two: 1: a row; 0: none; -1 with @e. */
static int take_state(struct fping *p, struct err *e)
{
	const struct import_tokens *k = &p->k;
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
	return add(p, &row, e);
}

/** "n1 : xmt/rcv/%loss = 5/5/0%, min/avg/max = 0.05/0.06/0.09" */
static int take_summary(struct fping *p, const char *line, struct err *e)
{
	const char *counts = strstr(line, "xmt/rcv/%");
	const char *times = strstr(line, "min/avg/max = ");
	double min, avg, max;
	int sent, received;
	struct ping_row row;

	counts = counts ? strchr(counts, '=') : NULL;
	if (!counts || p->k.n < 5 ||
	    sscanf(counts, "= %9d/%9d", &sent, &received) != 2 || sent < 0 ||
	    received < 0) {
		return 0;
	}
	row_init(&row, p->k.at[0]);
	row.sent = sent;
	row.received = received;
	if (times && sscanf(times, "min/avg/max = %9lf/%9lf/%9lf", &min, &avg,
			    &max) == 3) {
		row.rtt_min_us = min * 1e3;
		row.rtt_avg_us = avg * 1e3;
		row.rtt_max_us = max * 1e3;
	}
	return add(p, &row, e);
}

/** "n1 : 0.05 0.06 - 0.07": -C, a time or a dash a packet. */
static int take_times(struct fping *p, struct err *e)
{
	const struct import_tokens *k = &p->k;
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
	return add(p, &row, e);
}

/** A reply, a time-out or an error of a single packet, which the lines of the
 *  targets sum up; the statistics of -s. */
static bool is_idle(const char *line, const struct import_tokens *k)
{
	return k->n == 0 || str_starts(line, "ICMP ") ||
	       str_starts(line, "  ") || str_starts(line, "[") ||
	       (k->n > 2 && strcmp(k->at[1], ":") == 0 && k->at[2][0] == '[');
}

static int take_line(void *user, const char *line, size_t number, bool unended,
		     struct err *e)
{
	struct fping *p = user;
	int rc = 0;

	import_split(line, &p->k);
	if (!is_idle(line, &p->k) && !unended) {
		rc = take_state(p, e);
		rc = rc ? rc : take_summary(p, line, e);
		rc = rc ? rc : take_times(p, e);
	}
	if (rc == 0 && (unended || !is_idle(line, &p->k))) {
		import_unknown(p->x, number, line);
	}
	return rc < 0 ? -1 : 0;
}

int import_fping(struct import *x, FILE *f, struct err *e)
{
	struct fping p = { .x = x };
	const struct import_lines to = { .line = take_line, .user = &p };

	return import_each_line(f, x, &to, e);
}
