/* SPDX-License-Identifier: BSD-3-Clause */
/* What nccl-tests -J and perftest --out_json wrote. */
#include "report/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/record_collective.h"
#include "report/import/heading.h"

#define FILE_MAX (256L * 1024 * 1024)

static double number_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static int64_t integer_of(const json_t *o, const char *key)
{
	double v = number_of(o, key);

	return v >= -1 && v < 9e15 && v == floor(v) ? (int64_t)v : RECORD_NONE;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* ---- nccl-tests ------------------------------------------------------------ */

/** "20809" is 2.8.9, 22809 is 2.28.9: NCCL_VERSION(X,Y,Z). */
static void version_text(int64_t code, char *buf, size_t size)
{
	int64_t major = code < 10000 ? code / 1000 : code / 10000;
	int64_t rest = code < 10000 ? code % 1000 : code % 10000;

	if (code > 0) {
		snprintf(buf, size, "%d.%d.%d", (int)major, (int)(rest / 100),
			 (int)(rest % 100));
	}
}

static void fill_head(const json_t *top, struct collective_row *row)
{
	const json_t *config = json_object_get(top, "config");
	const json_t *devices = json_object_get(config, "devices");
	const char *program =
		json_string_value(json_array_get(json_object_get(top, "args"),
						 0));
	json_t *hosts = json_object(), *one;
	size_t i;

	if (!devices) {
		devices = json_object_get(top, "devices");
	}
	STR_COPY(row->op, heading_op(program ? program : ""));
	version_text(integer_of(top, "nccl_version"), row->lib,
		     sizeof(row->lib));
	row->iters = integer_of(config, "iterations");
	json_array_foreach(devices, i, one) {
		json_object_set_new(hosts, text_of(one, "hostname"),
				    json_true());
	}
	if (json_array_size(devices) > 0) {
		row->ranks = (int64_t)json_array_size(devices);
		row->nodes = (int64_t)json_object_size(hosts);
	}
	json_decref(hosts);
}

static int add_half(struct import *x, struct collective_row row,
		    const json_t *result, int inplace, struct err *e)
{
	static const char *const names[] = { "out_of_place", "in_place" };
	static const char *const iterations[] = { "out_of_place_per_iter",
						  "in_place_per_iter" };
	const json_t *half = json_object_get(result, names[inplace]);
	const json_t *each = json_object_get(result, iterations[inplace]);

	if (!json_is_object(half)) {
		return 0;
	}
	row.inplace = inplace;
	row.time_us = number_of(half, "time");
	row.algbw_GB_s = number_of(half, "alg_bw");
	row.busbw_GB_s = number_of(half, "bus_bw");
	row.wrong = integer_of(half, "nwrong");
	row.time_min_us = number_of(each, "min_us");
	row.time_max_us = number_of(each, "max_us");
	row.time_med_us = number_of(each, "p50_us");
	row.time_p99_us = number_of(each, "p99_us");
	row.outcome = row.wrong > 0 ? OUTCOME_CORRUPT : OUTCOME_OK;
	if (row.wrong > 0) {
		STR_COPY(row.code, "data_corrupt");
		STR_COPY(row.detail, "nccl-tests found wrong elements");
	}
	return import_add(x, &schema_collective, &row, e);
}

static int add_result(struct import *x, const struct collective_row *head,
		      const json_t *result, struct err *e)
{
	struct collective_row row = *head;
	const char *root = text_of(result, "root");

	row.size_B = integer_of(result, "size");
	row.count = integer_of(result, "count");
	STR_COPY(row.dtype, text_of(result, "type"));
	STR_COPY(row.redop, text_of(result, "redop"));
	row.root = import_int(root + strspn(root, " "));
	if (integer_of(result, "actual_iterations") != RECORD_NONE) {
		row.iters = integer_of(result, "actual_iterations");
	}
	if (row.op[0] == '\0') {
		STR_COPY(row.op, heading_op(text_of(result,
						    "experiment_name")));
	}
	if (row.size_B == RECORD_NONE) {
		import_unknown(x, 0, "a result without a size");
		return 0;
	}
	return add_half(x, row, result, 0, e) < 0 ||
			       add_half(x, row, result, 1, e) < 0 ?
		       -1 : 0;
}

static int add_nccl_tests(struct import *x, const json_t *top,
			  const json_t *results, struct err *e)
{
	struct collective_row head;
	const json_t *one;
	size_t i;

	record_init(&schema_collective, &head);
	fill_head(top, &head);
	STR_COPY(head.table, basename(x->file));
	json_array_foreach(results, i, one) {
		if (add_result(x, &head, one, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- perftest --------------------------------------------------------------- */

/** The file does not say whether it has MiB/s or Gb/s; the rate of messages
 *  does. */
static double unit_of(double bw, double bytes, double mega_messages)
{
	static const double units[] = { 1048576.0 / 1e9, 1.0 / 8 };
	double GB_s = bytes * mega_messages * 1e6 / 1e9;

	for (size_t i = 0; i < 2; i++) {
		if (fabs(bw * units[i] / GB_s - 1) < 0.01) {
			return units[i];
		}
	}
	return NAN;
}

static int add_perftest(struct import *x, const json_t *top,
			const json_t *results, struct err *e)
{
	const json_t *info = json_object_get(top, "test_info");
	double unit = unit_of(number_of(results, "BW_average"),
			      number_of(results, "MsgSize"),
			      number_of(results, "MsgRate"));
	struct p2p_row row;

	perftest_row_init(&row);
	perftest_test_name(text_of(info, "test"), &row);
	STR_COPY(row.src_nic, text_of(info, "Device"));
	row.size_B = integer_of(results, "MsgSize");
	row.iters = integer_of(results, "n_iterations");
	row.bw_GB_s = number_of(results, "BW_average") * unit;
	row.bw_max_GB_s = number_of(results, "BW_peak") * unit;
	row.lat_us = number_of(results, "t_typical");
	row.lat_p99_us = number_of(results, "percentile_99");
	row.outcome = isfinite(row.bw_GB_s) || isfinite(row.lat_us) ?
			      OUTCOME_OK : OUTCOME_NOT_RUN;
	if (row.outcome == OUTCOME_NOT_RUN) {
		import_note(x, "a perftest file has neither a latency nor a "
			    "bandwidth with a clear unit");
		return 0;
	}
	return import_add(x, &schema_p2p, &row, e);
}

int import_json(struct import *x, FILE *f, struct err *e)
{
	const json_t *results;
	json_t *top = NULL;
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	int rc;

	if (fseek(f, 0, SEEK_END) < 0 || ftell(f) > FILE_MAX) {
		return err_set(e, EFBIG, "more than %ld MiB of JSON",
			       FILE_MAX >> 20);
	}
	rewind(f);
	len = getdelim(&text, &room, '\0', f);	/* JSON has no such byte */
	top = json_parse(len > 0 ? text : "", len > 0 ? (size_t)len : 0, e);
	free(text);
	if (!top) {
		return err_hint(e, "if the program was stopped early, import its "
				"text output");
	}
	results = json_object_get(top, "results");
	if (json_is_array(results)) {
		rc = add_nccl_tests(x, top, results, e);
	} else if (json_is_object(results)) {
		rc = add_perftest(x, top, results, e);
	} else {
		rc = err_set(e, EINVAL, "'%s' is JSON, and has no 'results'",
			     x->file);
	}
	json_decref(top);
	return rc;
}
