/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/input.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"

/* ---- clusterkit ---------------------------------------------------------- */

/*
 * bandwidth.json and latency.json of ClusterKit: "Links" has a line a node with
 * MB/s or microseconds to the others, all of them or those that come after it,
 * itself among them as 0.
 */

#define NODES_MAX 4096

/** The name of node @i: of any array that has one a line; else its number. */
static void node_name(const json_t *names, size_t i, char name[64])
{
	const char *text = json_string_value(json_array_get(names, i));

	if (!text || !str_copy(name, 64, text)) {
		snprintf(name, 64, "n%zu", i);
	}
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

static int import_clusterkit_json(struct import *x, const json_t *top,
				  struct err *e)
{
	const json_t *links = import_object(top).links, *line, *value;
	size_t n = json_array_size(json_array_get(links, 0)), i, k;
	const json_t *names = NULL, *member;
	const char *key;

	/* any array with a text for each node has their names */
	json_object_foreach((json_t *)(uintptr_t)top, key, member) {
		if (!names && json_array_size(member) == n &&
		    json_is_string(json_array_get(member, 0))) {
			names = member;
		}
	}
	if (n < 2 || n > NODES_MAX || json_array_size(links) > n) {
		return err_set(e, EINVAL, "'Links' is not a matrix");
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

/* ---- nccl tests json ----------------------------------------------------- */

/* Output of nccl-tests -J. */

#define RESULT(member, key, type) \
	FIELD(collective_row, member, key, type, 0, INT64_MAX, "")

static const struct field result_fields[] = {
	RESULT(size_B, "size", INT), RESULT(count, "count", INT),
	RESULT(dtype, "type", TEXT), RESULT(redop, "redop", TEXT),
	RESULT(iters, "actual_iterations", INT), { 0 }
};

/* Add the rows of one result: out of place, in place. */
static int add_result(struct import *x, const struct collective_row *head,
		      const json_t *result, struct err *e)
{
	static const char *const halves[] = { "out_of_place", "in_place" };
	static const char *const iterations[] = { "out_of_place_per_iter",
						  "in_place_per_iter" };
	struct collective_row row = *head;
	const struct import_object o = import_object(result);

	schema_look(result_fields, &row, result);
	row.root = import_int(o.root + strspn(o.root, " "));
	if (row.op[0] == '\0') {
		STR_COPY(row.op, heading_op(o.experiment));
	}
	if (row.size_B < 0) {
		import_unknown(x, "a result without a size");
		return 0;
	}
	for (row.inplace = 0; row.inplace < 2; row.inplace++) {
		const json_t *half = json_object_get(result,
						     halves[row.inplace]);
		const json_t *each = json_object_get(result,
						     iterations[row.inplace]);

		if (!json_is_object(half)) {
			continue;
		}
		row.time_us = import_json_real(half, "time");
		row.algbw_GB_s = import_json_real(half, "alg_bw");
		row.busbw_GB_s = import_json_real(half, "bus_bw");
		row.wrong = import_json_int(half, "nwrong");
		row.time_min_us = import_json_real(each, "min_us");
		row.time_max_us = import_json_real(each, "max_us");
		row.time_med_us = import_json_real(each, "p50_us");
		row.time_p99_us = import_json_real(each, "p99_us");
		row.outcome = row.wrong > 0 ? OUTCOME_CORRUPT : OUTCOME_OK;
		STR_COPY(row.code, row.wrong > 0 ? "data_corrupt" : "");
		STR_COPY(row.detail, row.wrong > 0 ?
			 "nccl-tests found wrong elements" : "");
		if (import_add(x, &schema_collective, &row, e) < 0) {
			return -1;
		}
	}
	return 0;
}

static int import_nccl_tests_json(struct import *x, const json_t *top,
				  struct err *e)
{
	const struct import_object o = import_object(top);
	const json_t *own = import_object(o.config).devices;
	const json_t *devices = own ? own : o.devices, *one;
	const char *program = json_string_value(json_array_get(o.args, 0));
	const int64_t version = import_json_int(top, "nccl_version");
	/* NCCL_VERSION(X,Y,Z): 2809 is 2.8.9, 22809 is 2.28.9 */
	const int64_t major = version < 10000 ? 1000 : 10000;
	struct collective_row head;
	json_t *hosts = json_object();
	size_t i;

	record_init(&schema_collective, &head);
	STR_COPY(head.op, heading_op(program ? program : ""));
	if (version > 0) {
		snprintf(head.lib, sizeof(head.lib), "%d.%d.%d",
			 (int)(version / major),
			 (int)(version % major / 100), (int)(version % 100));
	}
	head.iters = import_json_int(o.config, "iterations");
	json_array_foreach(devices, i, one) {
		json_object_set_new(hosts, import_object(one).hostname,
				    json_true());
	}
	if (json_array_size(devices) > 0) {
		head.ranks = (int64_t)json_array_size(devices);
		head.nodes = (int64_t)json_object_size(hosts);
	}
	json_decref(hosts);
	STR_COPY(head.table, basename(x->file));
	json_array_foreach(o.results, i, one) {
		if (add_result(x, &head, one, e) < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- json ---------------------------------------------------------------- */

/* JSON of other programs: one of its members tells which program wrote it. */

#define FILE_MAX (256L * 1024 * 1024)

int import_json(struct import *x, FILE *f, struct err *e)
{
	struct import_object o;
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
	o = import_object(top);
	rc = o.results	   ? import_nccl_tests_json(x, top, e) :
	     o.result	   ? import_perftest_json(x, top, e) :
	     o.nvbandwidth ? import_nvbandwidth_json(x, top, e) :
	     o.links	   ? import_clusterkit_json(x, top, e) :
			     err_set(e, EINVAL, "'%s' is JSON, and has none of "
				     "'results', 'nvbandwidth', 'Links'",
				     x->file);
	json_decref(top);
	return rc;
}

/* ---- matrix -------------------------------------------------------------- */

/* Rows of one test between all ranks are a matrix, whoever measured them. */

#define RANKS_MAX 4096

/* Remember that @rank is on @node; false if it cannot be. */
static bool take_end(char (*nodes)[64], int64_t *n, int64_t rank,
		     const char *node)
{
	if (rank < 0 || rank >= RANKS_MAX || !node[0] ||
	    (nodes[rank][0] && strcmp(nodes[rank], node) != 0)) {
		return false;
	}
	*n = rank + 1 > *n ? rank + 1 : *n;
	return STR_COPY(nodes[rank], node);
}

json_t *import_matrix_layout(const struct import *x)
{
	char (*nodes)[64] = calloc(RANKS_MAX, sizeof(*nodes));
	bool whole = nodes && x->rows.schema == &schema_p2p && x->rows.n > 0;
	struct p2p_row a, row;
	json_t *list = NULL;
	int64_t n = 0, last;

	/* a matrix has each two ranks once, all by the same test */
	for (size_t i = 0; whole && i < x->rows.n; i++) {
		record_list_get(&x->rows, i, &row);
		a = i == 0 ? row : a;
		whole = strcmp(row.detail, a.detail) == 0 &&
			strcmp(row.op, a.op) == 0 &&
			strcmp(row.path, a.path) == 0 &&
			strcmp(row.mode, a.mode) == 0 &&
			row.size_B == a.size_B &&
			isfinite(row.bw_GB_s) == isfinite(a.bw_GB_s) &&
			take_end(nodes, &n, row.src_rank, row.src_node) &&
			take_end(nodes, &n, row.dst_rank, row.dst_node);
	}
	if (whole && (size_t)n * (size_t)(n - 1) == x->rows.n) {
		list = json_array();
		for (int64_t i = 0; i < n; i = last) {
			last = i;
			while (last < n && strcmp(nodes[last], nodes[i]) == 0) {
				last++;
			}
			json_array_append_new(list, run_node_json(
				nodes[i], (int)i, (int)(last - i),
				(int)(last - i)));
		}
		list = import_layout(list, n * (n - 1));
	}
	free(nodes);
	return list;
}

/* ---- import -------------------------------------------------------------- */

void import_release(struct import *x)
{
	record_list_release(&x->rows);
	str_release(&x->shown);
	str_release(&x->notes);
	json_decref(x->means);
	import_pairs_free(x->pairs);
	*x = (struct import){ 0 };
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

/** A row a format: how a file of it is told from those of the rows below, by
 *  its name, by what it begins with, or by any one of the words in it; and what
 *  reads it. */
static const struct import_format {
	const char *name;	/* for people; "": the row above goes on */
	bool (*named)(const char *name, struct import_pair *pair);
	const char *begins;
	const char *const *has;
	int (*read)(struct import *x, FILE *f, struct err *e);
} formats[] = {
	{ .name = "logs of pairs (p2p-test-S-R-JOB.out)",
	  .named = import_pair_name, .read = import_pair_log },
	{ .name = "JSON of nccl-tests, perftest, nvbandwidth and ClusterKit",
	  .begins = "{", .read = import_json },
	{ .name = "the CSV of a ping script", .begins = "SourceNode,",
	  .read = import_ping },
	{ .name = "perftest", .read = import_perftest,
	  .has = WORDS("#bytes", "BW Test\n", "Latency Test\n") },
	{ .name = "nvbandwidth", .has = WORDS("nvbandwidth Version",
		"Running host_to_device_memcpy", "Running host_to_device_bid",
		"Running device_to_", "memcpy CE CPU(", "memcpy CE GPU(",
		"memcpy SM CPU(", "memcpy SM GPU("),
	  .read = import_nvbandwidth },
	{ .name = "p2pBandwidthLatencyTest", .has = WORDS("P2P=Enabled ",
							  "P2P=Disabled "),
	  .read = import_nvbandwidth },
	{ .name = "OSU micro-benchmarks", .has = WORDS("# OSU "),
	  .read = import_osu },
	{ .name = "", .has = WORDS("AlgBW (GB/s)", "algBW_GB/s"),
	  .read = import_boxed },
	{ .name = "", .has = WORDS("algbw"), .read = import_sweep },
	/* what it says where it does not get as far as its title */
	{ .name = "", .read = import_perftest,
	  .has = WORDS("Unable to init the socket connection",
		       "Unable to find the Infiniband/RoCE device",
		       "Couldn't connect to ", "Couldn't create CQ",
		       "Couldn't allocate MR", "Unable to create QP",
		       "Failed to modify QP") },
	{ .name = "fping", .has = WORDS(" is alive\n", " is alive (",
					" is unreachable\n",
					" : xmt/rcv/%", "ICMP Echo sent to"),
	  .read = import_fping },
	{ .name = "tables of nccl-tests, rccl-tests and MSCCL++",
	  .begins = "", .read = import_sweep },
};

#define FORMATS (sizeof(formats) / sizeof(*formats))
#define LOOK_MAX (1024 * 1024)

const char *import_format_name(size_t i)
{
	return i < FORMATS ? formats[i].name : NULL;
}

static bool is_of(const struct import_format *k, const char *name,
		  const char *text, size_t len)
{
	struct import_pair pair;
	bool has = false;

	for (size_t i = 0; k->has && k->has[i]; i++) {
		has = has || memmem(text, len, k->has[i], strlen(k->has[i]));
	}
	return has || (k->named && k->named(name, &pair)) ||
	       (k->begins && str_starts(text + strspn(text, " \t\r\n"),
					k->begins));
}

int import_stream(struct import *x, const char *name, FILE *f, struct err *e)
{
	const struct import_format *k = formats;
	char *look = malloc(LOOK_MAX + 1);
	size_t len;

	x->file = name;
	x->number = 0;
	if (!look) {
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	}
	len = fread(look, 1, LOOK_MAX, f);
	look[len] = '\0';
	while (!is_of(k, basename(name), look, len)) {
		k++;	/* the last one takes all */
	}
	free(look);
	if (ferror(f) || fseek(f, 0, SEEK_SET) < 0) {
		return err_set(e, errno, "cannot read '%s'", name);
	}
	return k->read(x, f, e) < 0 ? -1 : !ferror(f) ? 0 :
	       err_set(e, errno, "cannot read '%s'", name);
}

int import_file(struct import *x, const char *path, struct err *e)
{
	FILE *f = input_open("file", path, LOOK_MAX, e);
	int rc;

	if (!f) {
		return -1;
	}
	rc = import_stream(x, path, f, e);
	fclose(f);
	return rc;
}
