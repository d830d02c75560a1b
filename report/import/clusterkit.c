/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bandwidth.json and latency.json of ClusterKit: "Links" has a line a node with
 * MB/s or microseconds to the others, all of them or those that come after it,
 * itself among them as 0.
 */
#include "report/import/import.h"

#include <errno.h>
#include <string.h>

#include "lib/data/json.h"

#define NODES_MAX 4096

/** The name of node @i: of any array that has one a line; else its number. */
static void node_name(const json_t *names, size_t i, char name[64])
{
	const char *text = json_string_value(json_array_get(names, i));

	if (!text || !str_copy(name, 64, text)) {
		snprintf(name, 64, "n%zu", i);
	}
}

static const json_t *names_of(const json_t *top, size_t n)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)(uintptr_t)top, key, member) {
		if (json_array_size(member) == n &&
		    json_is_string(json_array_get(member, 0))) {
			return member;
		}
	}
	return NULL;
}

static int add_link(struct import *x, const json_t *names, size_t from,
		    size_t to, const json_t *value, struct err *e)
{
	bool latency = strstr(basename(x->file), "latency") != NULL;
	double v = json_is_number(value) ? json_number_value(value) : NAN;
	struct p2p_row row;

	if (from == to || !(v > 0)) {
		return 0;
	}
	record_init(&schema_p2p, &row);
	row.src_rank = (int64_t)from;
	row.dst_rank = (int64_t)to;
	node_name(names, from, row.src_node);
	node_name(names, to, row.dst_node);
	STR_COPY(row.transport, "mpi");
	STR_COPY(row.op, "sendrecv");
	*(latency ? &row.lat_us : &row.bw_GB_s) = latency ? v : v / 1000;
	row.outcome = OUTCOME_OK;
	return import_add(x, &schema_p2p, &row, e);
}

int import_clusterkit_json(struct import *x, const json_t *top, struct err *e)
{
	const json_t *links = json_object_get(top, "Links"), *line, *value;
	size_t n = json_array_size(json_array_get(links, 0)), i, k;
	const json_t *names = names_of(top, n);

	if (n < 2 || n > NODES_MAX || json_array_size(links) > n) {
		return err_set(e, EINVAL, "'Links' is no matrix");
	}
	json_array_foreach(links, i, line) {
		size_t width = json_array_size(line);

		/* whole, or those behind the diagonal */
		if (width != n && width + i != n) {
			return err_set(e, EINVAL, "line %zu of 'Links' has %zu "
				       "values, the first one %zu", i, width,
				       n);
		}
		json_array_foreach(line, k, value) {
			if (add_link(x, names, i, k + n - width, value,
				     e) < 0) {
				return -1;
			}
		}
	}
	return 0;
}
