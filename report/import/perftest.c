/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of perftest (ib_write_bw, ib_send_lat, ...) as text. */
#include "report/import/import.h"

#include <string.h>


#define MIB_PER_GB (1048576.0 / 1e9)
#define GBIT_PER_GB (1.0 / 8)

struct perftest {
	struct import *x;
	struct p2p_row head;	/* what the head of the output says */
	double unit;		/* GB/s of one; 0: no table of bandwidths */
	bool latency;		/* in a table of latencies */
	size_t rows;
	struct import_message message;
	struct import_tokens k;	/* of the line at hand */
};

void perftest_test_name(const char *name, struct p2p_row *row)
{
	static const struct {
		const char *part, *op;
	} ops[] = {
		{ "RDMA_Write", "write" }, { "RDMA_Read", "read" },
		{ "Send", "send" }, { "Atomic", "atomic" },
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		if (strstr(name, ops[i].part)) {
			STR_COPY(row->op, ops[i].op);
		}
	}
	STR_COPY(row->mode, strstr(name, "Bidirectional") ? "bidi" : "uni");
}

/** A line of the head; was it one? */
static bool take_head(struct perftest *p, const char *line)
{
	const char *value = strchr(line, ':');

	if (strstr(line, "BW Test") || strstr(line, "Latency Test")) {
		perftest_test_name(line, &p->head);
		return true;
	}
	if (value && str_starts(line + strspn(line, " "), "Device ")) {
		import_split(value + 1, &p->k);
		if (p->k.n > 0) {
			STR_COPY(p->head.src_nic, p->k.at[0]);
		}
		return true;
	}
	return line[strspn(line, " -")] == '\0' || value != NULL;
}

/** A line that names the columns; was it one? */
static bool take_titles(struct perftest *p, const char *line)
{
	if (!strstr(line, "#bytes")) {
		return false;
	}
	p->latency = strstr(line, "t_typical[usec]") ||
		     strstr(line, "t_avg[usec]");
	p->unit = strstr(line, "BW average[Gb/sec]") ? GBIT_PER_GB :
		  strstr(line, "BW average[MiB/sec]") ||
				  strstr(line, "BW average[MB/sec]") ?
			  MIB_PER_GB : 0;
	return true;
}

static bool fill_bandwidth(const struct import_tokens *k, double unit,
			   struct p2p_row *row)
{
	if (k->n < 4) {
		return false;
	}
	row->bw_max_GB_s = import_real(k->at[2]) * unit;
	row->bw_GB_s = import_real(k->at[3]) * unit;
	/* a run by duration has no peak, and prints 0 */
	if (!(row->bw_max_GB_s > 0)) {
		row->bw_max_GB_s = NAN;
	}
	return isfinite(row->bw_GB_s);
}

static bool fill_latency(const struct import_tokens *k, struct p2p_row *row)
{
	/* by duration: the mean alone */
	row->lat_us = import_real(k->at[k->n < 8 ? 2 : 4]);
	row->lat_p99_us = k->n < 8 ? NAN : import_real(k->at[7]);
	return isfinite(row->lat_us);
}

/** 1: the line is a row; 0: it is none; -1 with @e. */
static int take_row(struct perftest *p, const char *line, struct err *e)
{
	struct p2p_row row = p->head;

	import_split(line, &p->k);
	if (p->k.n < 3) {
		return 0;
	}
	row.size_B = import_int(p->k.at[0]);
	row.iters = import_int(p->k.at[1]);
	row.outcome = OUTCOME_OK;
	if (row.size_B < 0 || row.iters < 0 ||
	    !(p->latency ? fill_latency(&p->k, &row) :
			   p->unit > 0 &&
			   fill_bandwidth(&p->k, p->unit, &row))) {
		return 0;
	}
	p->rows++;
	return import_add(p->x, &schema_p2p, &row, e) < 0 ? -1 : 1;
}

static int take_line(void *user, const char *line, size_t number, bool unended,
		     struct err *e)
{
	struct perftest *p = user;
	bool known = import_tell(&p->message, line);
	int rc;

	if (take_titles(p, line)) {
		return 0;
	}
	/* a row that was cut may lack digits */
	rc = (p->latency || p->unit > 0) && !unended ? take_row(p, line, e) :
						       0;
	if (rc == 0 && !known && !take_head(p, line)) {
		import_unknown(p->x, number, line);
	}
	return rc < 0 ? -1 : 0;
}

void perftest_row_init(struct p2p_row *row)
{
	record_init(&schema_p2p, row);
	STR_COPY(row->transport, "verbs");
	STR_COPY(row->mode, "uni");
}

int import_perftest(struct import *x, FILE *f, struct err *e)
{
	struct perftest p = { .x = x };
	const struct import_lines to = { .line = take_line, .user = &p };

	perftest_row_init(&p.head);
	if (import_each_line(f, x, &to, e) < 0) {
		return -1;
	}
	/* it ran, and came to nothing: that is a result too */
	if (p.rows == 0 && (p.message.symptom || p.head.op[0])) {
		p.head.outcome = OUTCOME_ERROR;
		STR_COPY(p.head.code, p.message.symptom ?
			 p.message.symptom->code : "no_success");
		STR_COPY(p.head.detail, p.message.line);
		return import_add(x, &schema_p2p, &p.head, e);
	}
	return 0;
}
