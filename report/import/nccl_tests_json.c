/* SPDX-License-Identifier: BSD-3-Clause */
/* What nccl-tests -J wrote. */
#include "report/import/import.h"

#include <string.h>

#include "lib/data/json.h"
#include "report/import/heading.h"

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
	version_text(import_json_int(top, "nccl_version"), row->lib,
		     sizeof(row->lib));
	row->iters = import_json_int(config, "iterations");
	json_array_foreach(devices, i, one) {
		json_object_set_new(hosts, json_member(one, "hostname"),
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
	row.time_us = import_json_real(half, "time");
	row.algbw_GB_s = import_json_real(half, "alg_bw");
	row.busbw_GB_s = import_json_real(half, "bus_bw");
	row.wrong = import_json_int(half, "nwrong");
	row.time_min_us = import_json_real(each, "min_us");
	row.time_max_us = import_json_real(each, "max_us");
	row.time_med_us = import_json_real(each, "p50_us");
	row.time_p99_us = import_json_real(each, "p99_us");
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
	const char *root = json_member(result, "root");

	row.size_B = import_json_int(result, "size");
	row.count = import_json_int(result, "count");
	STR_COPY(row.dtype, json_member(result, "type"));
	STR_COPY(row.redop, json_member(result, "redop"));
	row.root = import_int(root + strspn(root, " "));
	if (import_json_int(result, "actual_iterations") != RECORD_NONE) {
		row.iters = import_json_int(result, "actual_iterations");
	}
	if (row.op[0] == '\0') {
		STR_COPY(row.op, heading_op(json_member(result,
						    "experiment_name")));
	}
	if (row.size_B < 0) {
		import_unknown(x, 0, "a result without a size");
		return 0;
	}
	return add_half(x, row, result, 0, e) < 0 ||
			       add_half(x, row, result, 1, e) < 0 ?
		       -1 : 0;
}

int import_nccl_tests_json(struct import *x, const json_t *top, struct err *e)
{
	const json_t *results = json_object_get(top, "results"), *one;
	struct collective_row head;
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
