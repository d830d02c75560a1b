/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of perftest (ib_write_bw, ib_send_lat, ...), text and JSON. */
#include "report/import/import.h"

#include <string.h>

#define MIB_PER_GB (1048576.0 / 1e9)
#define GBIT_PER_GB (1.0 / 8)

/** State of a run, from its title to the next one. */
struct perftest {
	struct import *x;
	struct p2p_row head;	/* what the head of the output says */
	double unit;		/* GB/s of one; 0: no table of bandwidths */
	bool latency;		/* in a table of latencies */
	bool qos;		/* a service level stands behind the size */
	size_t rows;
	struct import_message message;
};

/** A row of verbs that claims nothing else. */
static void row_init(struct p2p_row *row)
{
	record_init(&schema_p2p, row);
	STR_COPY(row->transport, "verbs");
	STR_COPY(row->mode, "uni");
}

/** "RDMA_Write Bidirectional BW Test", with blanks or underscores: op, mode. */
static void take_test_name(const char *name, struct p2p_row *row)
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

/** Returns 1 if the line is a row, 0 if not, -1 with @e. */
static int take_row(struct perftest *p, const char *line, struct err *e)
{
	struct import_tokens k;
	struct p2p_row row = p->head;

	import_split(line, &k);
	if (p->qos && k.n > 1) {
		k.n--;
		memmove(&k.at[1], &k.at[2], (k.n - 1) * sizeof(*k.at));
	}
	if (k.n < 3) {
		return 0;
	}
	row.size_B = import_int(k.at[0]);
	row.iters = import_int(k.at[1]);
	row.outcome = OUTCOME_OK;
	if (p->latency) {
		/* by duration: the mean alone */
		row.lat_us = import_real(k.at[k.n < 8 ? 2 : 4]);
		row.lat_p99_us = k.n < 8 ? NAN : import_real(k.at[7]);
	} else if (p->unit > 0 && k.n >= 4) {
		row.bw_max_GB_s = import_real(k.at[2]) * p->unit;
		row.bw_GB_s = import_real(k.at[3]) * p->unit;
		/* a run by duration has no peak, and prints 0 */
		if (!(row.bw_max_GB_s > 0)) {
			row.bw_max_GB_s = NAN;
		}
	}
	if (row.size_B < 0 || row.iters < 0 ||
	    !isfinite(p->latency ? row.lat_us : row.bw_GB_s)) {
		return 0;
	}
	p->rows++;
	return import_add(p->x, &schema_p2p, &row, e) < 0 ? -1 : 1;
}

/** End a run: one that complained, or ended without a row, becomes a row with
 *  the error. */
static int end_run(struct perftest *p, struct err *e)
{
	struct perftest ended = *p;
	const struct import_message *m = &ended.message;
	struct p2p_row *row = &ended.head;
	bool complains = m->line[0] && (!m->symptom ||
					m->symptom->effect == EFFECT_FAULT);

	*p = (struct perftest){ .x = p->x };
	row_init(&p->head);
	if (!complains && (ended.rows > 0 || !row->op[0])) {
		return 0;
	}
	row->outcome = OUTCOME_ERROR;
	STR_COPY(row->code, m->symptom ? m->symptom->code : "no_success");
	STR_COPY(row->detail, m->line[0] ? m->line : "it ended without a row");
	return import_add(p->x, &schema_p2p, row, e);
}

/** Words of a line that complains. */
static const char *const complaints[] = {
	"Couldn't", "Could not", "Failed ", "failed", "Unable to", "Problems ",
	"Completion with error", "not found", NULL
};

static int take_line(struct perftest *p, struct err *e)
{
	const char *line = p->x->line;
	const char *device = strstr(line, "Device");
	char word[64];
	bool known;
	int rc = 0;

	if (strstr(line, "BW Test") || strstr(line, "Latency Test")) {
		rc = end_run(p, e);
		take_test_name(line, &p->head);
		return rc;
	}
	if (strstr(line, "#bytes")) {	/* the names of the columns */
		p->latency = strstr(line, "t_typical[usec]") ||
			     strstr(line, "t_avg[usec]");
		p->qos = strstr(line, "#sl") != NULL;
		p->unit = strstr(line, "BW average[Gb/sec]") ? GBIT_PER_GB :
			  strstr(line, "BW average[MiB/sec]") ||
					  strstr(line, "BW average[MB/sec]") ?
				  MIB_PER_GB : 0;
		return 0;
	}
	/* a row that was cut may lack digits */
	if ((p->latency || p->unit > 0) && !p->x->unended) {
		rc = take_row(p, line, e);
	}
	if (rc != 0) {
		return rc < 0 ? -1 : 0;
	}
	known = import_tell(&p->message, line);
	if (!p->message.symptom && !p->message.line[0] &&
	    import_has_any(line, complaints, false)) {
		STR_COPY(p->message.line, line);
		known = true;
	}
	/* the head has two columns: "Device :" may be in either */
	if (device && sscanf(device + strlen("Device"), " : %63s", word) == 1) {
		STR_COPY(p->head.src_nic, word);
	}
	if (!known && line[strspn(line, " -*")] && !strchr(line, ':') &&
	    !strstr(line, "Waiting for client")) {
		import_unknown(p->x, line);
	}
	return 0;
}

int import_perftest(struct import *x, FILE *f, struct err *e)
{
	struct perftest p = { .x = x };
	int rc = 0;

	row_init(&p.head);
	while (rc == 0 && import_next_line(x, f)) {
		rc = take_line(&p, e);
	}
	/* where it cannot be read, import_stream() says so */
	return rc < 0 ? -1 : ferror(f) ? 0 : end_run(&p, e);
}

/* ---- JSON ---------------------------------------------------------------- */

int import_perftest_json(struct import *x, const json_t *top, struct err *e)
{
	const json_t *results = import_object(top).result;
	const struct import_object info = import_object(
		import_object(top).test_info);
	/* the file does not say whether it has MiB/s or Gb/s; the rate of
	 * messages, in millions per second, does */
	const double bw = import_json_real(results, "BW_average");
	const double GB_s = import_json_real(results, "MsgSize") *
			    import_json_real(results, "MsgRate") * 1e6 / 1e9;
	const double unit = fabs(bw * MIB_PER_GB / GB_s - 1) < 0.01 ?
				    MIB_PER_GB :
			    fabs(bw * GBIT_PER_GB / GB_s - 1) < 0.01 ?
				    GBIT_PER_GB : NAN;
	struct p2p_row row;

	row_init(&row);
	take_test_name(info.test, &row);
	STR_COPY(row.src_nic, info.device);
	row.size_B = import_json_int(results, "MsgSize");
	row.iters = import_json_int(results, "n_iterations");
	row.bw_GB_s = bw * unit;
	row.bw_max_GB_s = import_json_real(results, "BW_peak") * unit;
	row.lat_us = import_json_real(results, "t_typical");
	if (isnan(row.lat_us)) {	/* by duration: the mean alone */
		row.lat_us = import_json_real(results, "t_avg");
	}
	row.lat_p99_us = import_json_real(results, "percentile_99");
	row.outcome = isfinite(row.bw_GB_s) || isfinite(row.lat_us) ?
			      OUTCOME_OK : OUTCOME_NOT_RUN;
	if (row.outcome == OUTCOME_NOT_RUN) {
		import_note(x, "a perftest file has neither a latency nor a "
			    "bandwidth with a clear unit");
		return 0;
	}
	return import_add(x, &schema_p2p, &row, e);
}
