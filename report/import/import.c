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

static int import_clusterkit_json(struct import *x, const json_t *top,
				  struct err *e)
{
	const json_t *links = import_object(top).links, *line, *value;
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

/* ---- nccl tests json ----------------------------------------------------- */

/* Output of nccl-tests -J. */

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
	const struct import_object o = import_object(top);
	const json_t *own = import_object(o.config).devices;
	const json_t *devices = own ? own : o.devices, *one;
	const char *program = json_string_value(json_array_get(o.args, 0));
	json_t *hosts = json_object();
	size_t i;

	STR_COPY(row->op, heading_op(program ? program : ""));
	version_text(import_json_int(top, "nccl_version"), row->lib,
		     sizeof(row->lib));
	row->iters = import_json_int(o.config, "iterations");
	json_array_foreach(devices, i, one) {
		json_object_set_new(hosts, import_object(one).hostname,
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

#define RESULT(member, key, type) \
	FIELD(collective_row, member, key, type, 0, INT64_MAX, "")

static const struct field result_fields[] = {
	RESULT(size_B, "size", INT), RESULT(count, "count", INT),
	RESULT(dtype, "type", TEXT), RESULT(redop, "redop", TEXT),
	RESULT(iters, "actual_iterations", INT), { 0 }
};

static int add_result(struct import *x, const struct collective_row *head,
		      const json_t *result, struct err *e)
{
	struct collective_row row = *head;
	const struct import_object o = import_object(result);

	schema_look(result_fields, &row, result);
	row.root = import_int(o.root + strspn(o.root, " "));
	if (row.op[0] == '\0') {
		STR_COPY(row.op, heading_op(o.experiment));
	}
	if (row.size_B < 0) {
		import_unknown(x, 0, "a result without a size");
		return 0;
	}
	return add_half(x, row, result, 0, e) < 0 ||
			       add_half(x, row, result, 1, e) < 0 ?
		       -1 : 0;
}

/* The same of a whole JSON text, once a member has told whose it is. */
static int import_nccl_tests_json(struct import *x, const json_t *top,
				  struct err *e)
{
	const json_t *results = import_object(top).results, *one;
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

/* ---- json ---------------------------------------------------------------- */

/* JSON of other programs: whose it is, one of its members tells. */

#define FILE_MAX (256L * 1024 * 1024)

static const struct json_format {
	const char *member;
	json_type type;
	int (*read)(struct import *x, const json_t *top, struct err *e);
} json_formats[] = {
	{ "results", JSON_ARRAY, import_nccl_tests_json },
	{ "results", JSON_OBJECT, import_perftest_json },
	{ "nvbandwidth", JSON_OBJECT, import_nvbandwidth_json },
	{ "Links", JSON_ARRAY, import_clusterkit_json },
	{ 0 }
};

int import_json(struct import *x, FILE *f, struct err *e)
{
	json_t *top = NULL;
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	int rc;
	const struct json_format *k;
	const json_t *member;

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
	k = json_formats;
	while (k->member && !((member = json_object_get(top, k->member)) &&
			      json_typeof(member) == k->type)) {
		k++;
	}
	rc = k->member ? k->read(x, top, e) :
			   err_set(e, EINVAL, "'%s' is JSON, and has none of "
				   "'results', 'nvbandwidth', 'Links'",
				   x->file);
	json_decref(top);
	return rc;
}

/* ---- matrix -------------------------------------------------------------- */

/* Rows of one test between all ranks are a matrix, whoever measured them. */

#define RANKS_MAX 4096

/** The node of each rank, of rows that are all of one test; 0 ranks: they are
 *  no whole matrix. */
struct matrix_ranks {
	char node[RANKS_MAX][64];
	int64_t n;
};

static bool same_test(const struct p2p_row *a, const struct p2p_row *b)
{
	return strcmp(a->detail, b->detail) == 0 &&
	       strcmp(a->op, b->op) == 0 && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->mode, b->mode) == 0 && a->size_B == b->size_B &&
	       isfinite(a->bw_GB_s) == isfinite(b->bw_GB_s);
}

static bool take_end(struct matrix_ranks *m, int64_t rank, const char *node)
{
	if (rank < 0 || rank >= RANKS_MAX || !node[0] ||
	    (m->node[rank][0] && strcmp(m->node[rank], node) != 0)) {
		return false;
	}
	m->n = rank + 1 > m->n ? rank + 1 : m->n;
	return STR_COPY(m->node[rank], node);
}

static bool take_rows(const struct import *x, struct matrix_ranks *m)
{
	struct p2p_row first, row;
	bool whole = x->rows.schema == &schema_p2p && x->rows.n > 0;

	for (size_t i = 0; whole && i < x->rows.n; i++) {
		record_list_get(&x->rows, i, &row);
		first = i == 0 ? row : first;
		whole = same_test(&row, &first) &&
			take_end(m, row.src_rank, row.src_node) &&
			take_end(m, row.dst_rank, row.dst_node);
	}
	return whole && (size_t)m->n * (size_t)(m->n - 1) == x->rows.n;
}

json_t *import_matrix_layout(const struct import *x)
{
	struct matrix_ranks *m = calloc(1, sizeof(*m));
	json_t *nodes = json_array();
	bool whole = m && take_rows(x, m);
	int64_t last;

	for (int64_t i = 0; whole && i < m->n; i = last) {
		last = i;
		while (last < m->n && strcmp(m->node[last], m->node[i]) == 0) {
			last++;
		}
		json_array_append_new(nodes, run_node_json(
			m->node[i], (int)i, (int)(last - i), (int)(last - i)));
	}
	if (whole) {
		nodes = import_layout(nodes, m->n * (m->n - 1));
	} else {
		json_decref(nodes);
		nodes = NULL;
	}
	free(m);
	return nodes;
}

/* ---- import -------------------------------------------------------------- */

void import_release(struct import *x)
{
	record_list_release(&x->rows);
	str_release(&x->shown);
	str_release(&x->notes);
	import_pairs_free(x->pairs);
	*x = (struct import){ 0 };
}

int import_end(struct import *x, struct err *e)
{
	return x->pairs ? import_pairs_end(x, e) : 0;
}

static bool names_a_pair(const char *name)
{
	struct import_pair pair;

	return import_pair_name(name, &pair);
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

/** A row a format: how a file of it is told from those of the rows below, by
 *  its name, by what it begins with, or by any one of the words in it; and what
 *  reads it. */
static const struct import_format {
	const char *name;	/* for people; "": the row above goes on */
	bool (*named)(const char *name);
	const char *begins;
	const char *const *has;
	int (*read)(struct import *x, FILE *f, struct err *e);
} formats[] = {
	{ .name = "logs of pairs (p2p-test-S-R-JOB.out)",
	  .named = names_a_pair, .read = import_pair_log },
	{ .name = "JSON of nccl-tests, perftest, nvbandwidth and ClusterKit",
	  .begins = "{", .read = import_json },
	{ .name = "the CSV of a ping script", .begins = "SourceNode,",
	  .read = import_ping },
	{ .name = "perftest", .read = import_perftest,
	  .has = WORDS("#bytes", "BW Test\n", "Latency Test\n") },
	{ .name = "nvbandwidth", .has = WORDS("nvbandwidth Version"),
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
	bool has = false;

	for (size_t i = 0; k->has && k->has[i]; i++) {
		has = has || memmem(text, len, k->has[i], strlen(k->has[i]));
	}
	return has || (k->named && k->named(name)) ||
	       (k->begins && str_starts(text + strspn(text, " \t\r\n"),
					k->begins));
}

int import_stream(struct import *x, const char *name, FILE *f, struct err *e)
{
	const struct import_format *k = formats;
	char *look = malloc(LOOK_MAX + 1);
	size_t len;

	x->file = name;
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
	return k->read(x, f, e);
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
