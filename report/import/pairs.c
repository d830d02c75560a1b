/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of jobs that tried one ordered pair each, p2p-test-S-R-JOB.out and
 * .err: a pair went well only where its receiver says so.  What crashed, is
 * empty or is not there is not good.
 */
#include "report/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/base/units.h"
#include "report/base/grow.h"
#include "report/symptoms/symptom.h"

#define RANKS_MAX 4096
#define LOGS_MAX  1000000

/** What one job left, in one or two files. */
struct pair_log {
	int src, dst;
	int64_t job;
	size_t order;		/* as read: the sort keeps it */
	bool ok;		/* the receiver said so */
	bool any_text;		/* something was printed */
	bool crashed;
	const struct symptom *symptom;	/* the most telling message */
	char message[400];
};

struct import_pairs {
	struct pair_log *logs;
	size_t n;
	int ranks;		/* as the logs say, or as the names need */
	int per_node;
	char (*hosts)[64];	/* [rank], "" = not said */
	bool hosts_differ;	/* jobs ran on different nodes */
};

void import_pairs_free(struct import_pairs *p)
{
	if (p) {
		free(p->logs);
		free(p->hosts);
		free(p);
	}
}

bool import_pair_name(const char *name, int *src, int *dst, int64_t *job,
		      bool *is_err)
{
	char kind[4] = "", after;
	long long number;

	if (sscanf(name, "p2p-test-%4d-%4d-%18lld.%3[a-z]%c", src, dst,
		   &number, kind, &after) != 4 || *src < 0 || *dst < 0 ||
	    *src >= RANKS_MAX || *dst >= RANKS_MAX || *src == *dst ||
	    number < 0) {
		return false;
	}
	*job = number;
	*is_err = strcmp(kind, "err") == 0;
	return *is_err || strcmp(kind, "out") == 0;
}

static struct import_pairs *pairs_of(struct import *x, struct err *e)
{
	if (!x->pairs) {
		x->pairs = calloc(1, sizeof(*x->pairs));
		if (x->pairs) {
			x->pairs->hosts = calloc(RANKS_MAX,
						 sizeof(*x->pairs->hosts));
		}
		if (!x->pairs || !x->pairs->hosts) {
			import_pairs_free(x->pairs);
			x->pairs = NULL;
			err_set(e, ENOMEM, "cannot hold the logs of pairs");
		}
	}
	return x->pairs;
}

/** The log of that job, which .out and .err share. */
static struct pair_log *log_of(struct import_pairs *p, int src, int dst,
			       int64_t job, struct err *e)
{
	struct pair_log *logs;

	/* files come sorted by name: the fellow is near the end */
	for (size_t i = p->n; i > 0 && i + 64 > p->n; i--) {
		struct pair_log *l = &p->logs[i - 1];

		if (l->src == src && l->dst == dst && l->job == job) {
			return l;
		}
	}
	logs = p->n < LOGS_MAX ? grow(p->logs, p->n, sizeof(*logs)) : NULL;
	if (!logs) {
		err_set(e, ENOMEM, "cannot hold so many logs");
		return NULL;
	}
	p->logs = logs;
	logs[p->n] = (struct pair_log){ .src = src, .dst = dst, .job = job,
					.order = p->n };
	return &logs[p->n++];
}

struct reading {
	struct import_pairs *pairs;
	struct pair_log *log;
	bool is_err;
};

/** "a001 [3/16]", with or without more: rank 3 of 16 is on a001. */
static void take_host(struct import_pairs *p, const char *line)
{
	char host[64] = "", after = '\0';
	int rank, ranks;

	if (sscanf(line, "%63s [%4d/%4d%c", host, &rank, &ranks, &after) != 4 ||
	    after != ']' || rank < 0 || rank >= ranks || ranks > RANKS_MAX) {
		return;
	}
	p->ranks = ranks > p->ranks ? ranks : p->ranks;
	if (!p->hosts[rank][0]) {
		STR_COPY(p->hosts[rank], host);
	} else if (strcmp(p->hosts[rank], host) != 0) {
		p->hosts_differ = true;
	}
}

/** Logs of several jobs may disagree: the largest number has room for all. */
static void take_number(const char *line, const char *name, int *largest)
{
	int64_t n;

	if (str_starts(line, name) &&
	    units_parse_int(line + strlen(name), 1, RANKS_MAX, &n, NULL) == 0 &&
	    n > *largest) {
		*largest = (int)n;
	}
}

static bool complains(const char *line)
{
	static const char *const words[] = {
		"fail", "Error", "error:", "ERROR", "Traceback", "CANCELLED",
		"Killed", NULL
	};

	for (int i = 0; words[i]; i++) {
		if (strstr(line, words[i])) {
			return true;
		}
	}
	return false;
}

static bool is_crash(const char *line)
{
	return strstr(line, "Segmentation fault") ||
	       strstr(line, "core dumped") ||
	       strstr(line, "Signal: Segmentation") ||
	       strstr(line, "exited on signal");
}

static int take_line(void *user, const char *line, size_t number, bool unended,
		     struct err *e)
{
	struct reading *r = user;
	struct pair_log *l = r->log;
	const struct symptom *s;
	char ok[64];

	(void)number;
	(void)unended;
	(void)e;
	l->any_text = l->any_text || line[strspn(line, " ")] != '\0';
	take_host(r->pairs, line);
	take_number(line, "NUM_GPUS=", &r->pairs->ranks);
	take_number(line, "NUM_GPUS_PER_NODE=", &r->pairs->per_node);
	snprintf(ok, sizeof(ok), "] : OK %d -> %d", l->src, l->dst);
	if (!r->is_err && strstr(line, ok)) {
		l->ok = true;
	}
	l->crashed = l->crashed || is_crash(line);
	s = symptom_match(symptoms_builtin(), line, strlen(line));
	if (s && s->effect != EFFECT_FACT &&
	    (!l->symptom || s->effect < l->symptom->effect)) {
		l->symptom = s;
		STR_COPY(l->message, line);
	} else if (!l->symptom && (complains(line) || is_crash(line))) {
		STR_COPY(l->message, line);
	}
	return 0;
}

int import_pair_log(struct import *x, FILE *f, struct err *e)
{
	struct reading r = { .pairs = pairs_of(x, e) };
	const struct import_lines to = { .line = take_line, .user = &r };
	const char *slash = strrchr(x->file, '/');
	int src, dst;
	int64_t job;

	if (!r.pairs || !import_pair_name(slash ? slash + 1 : x->file, &src,
					  &dst, &job, &r.is_err)) {
		return r.pairs ? err_set(e, EINVAL, "'%s' names no pair",
					 x->file) : -1;
	}
	r.log = log_of(r.pairs, src, dst, job, e);
	if (!r.log) {
		return -1;
	}
	src = src > dst ? src : dst;
	r.pairs->ranks = src >= r.pairs->ranks ? src + 1 : r.pairs->ranks;
	return import_each_line(f, x, &to, e);
}

/** By pair, the newest job last: an old log does not decide. */
static int by_pair(const void *a, const void *b)
{
	const struct pair_log *x = a, *y = b;

	if (x->src != y->src) {
		return x->src < y->src ? -1 : 1;
	}
	if (x->dst != y->dst) {
		return x->dst < y->dst ? -1 : 1;
	}
	if (x->job != y->job) {
		return x->job < y->job ? -1 : 1;
	}
	return x->order < y->order ? -1 : x->order > y->order;
}

static int gpus_of(const struct import_pairs *p, int node)
{
	int per = p->per_node > 0 ? p->per_node : p->ranks;
	int left = p->ranks - node * per;

	return left < per ? left : per;
}

/** The name of the node that a rank is on, as any log says it. */
static void node_name(const struct import_pairs *p, int node, char name[64])
{
	int per = p->per_node > 0 ? p->per_node : p->ranks;

	for (int i = 0; i < gpus_of(p, node); i++) {
		if (p->hosts[node * per + i][0]) {
			str_copy(name, 64,
				 p->hosts[node * per + i]);
			return;
		}
	}
	snprintf(name, 64, "n%d", node);
}

/** Without a line that says it: ranks of a node are those with its name. */
static void guess_per_node(struct import_pairs *p)
{
	int same = 0;

	while (same < p->ranks && p->hosts[same][0] &&
	       strcmp(p->hosts[same], p->hosts[0]) == 0) {
		same++;
	}
	if (p->per_node == 0 && same > 0 && same < p->ranks &&
	    p->hosts[same][0]) {
		p->per_node = same;
	}
}

static void fill_outcome(const struct pair_log *l, struct p2p_row *row)
{
	const char *code = l->symptom ? l->symptom->code :
			   l->any_text ? "no_success" : "no_output";

	if (l->ok) {
		row->outcome = OUTCOME_OK;
		row->iters = 1;
		return;
	}
	row->outcome = l->crashed ? OUTCOME_CRASHED :
		       strcmp(code, "job_time_limit") == 0 ||
				       strcmp(code, "collective_hang") == 0 ?
			       OUTCOME_TIMEOUT : OUTCOME_ERROR;
	STR_COPY(row->code, code);
	STR_COPY(row->detail, l->message);
}

static int add_pair(struct import *x, const struct pair_log *l, struct err *e)
{
	const struct import_pairs *p = x->pairs;
	int per = p->per_node > 0 ? p->per_node : p->ranks;
	struct p2p_row row;

	record_init(&schema_p2p, &row);
	row.attempt = 1;
	row.src_rank = l->src;
	row.dst_rank = l->dst;
	row.src_gpu = l->src % per;
	row.dst_gpu = l->dst % per;
	node_name(p, l->src / per, row.src_node);
	node_name(p, l->dst / per, row.dst_node);
	STR_COPY(row.transport, "nccl");
	STR_COPY(row.op, "sendrecv");
	STR_COPY(row.mode, "uni");
	STR_COPY(row.memory, "gpu");
	STR_COPY(row.schedule, "serial");
	row.size_B = 8;
	fill_outcome(l, &row);
	return import_add(x, &schema_p2p, &row, e);
}

int import_pairs_end(struct import *x, struct err *e)
{
	struct import_pairs *p = x->pairs;

	guess_per_node(p);
	if (p->hosts_differ) {
		import_note(x, "the jobs ran on different nodes: nodes have the "
			    "names of the first log");
	}
	qsort(p->logs, p->n, sizeof(*p->logs), by_pair);
	for (size_t i = 0; i < p->n; i++) {
		bool newer = i + 1 < p->n &&
			     p->logs[i + 1].src == p->logs[i].src &&
			     p->logs[i + 1].dst == p->logs[i].dst;

		if (!newer && add_pair(x, &p->logs[i], e) < 0) {
			return -1;
		}
	}
	return 0;
}

json_t *import_pairs_layout(const struct import *x)
{
	const struct import_pairs *p = x->pairs;
	json_t *nodes = json_array();
	int first = 0, node = 0;

	while (p && first < p->ranks) {
		int gpus = gpus_of(p, node);
		char name[64];

		node_name(p, node++, name);
		json_array_append_new(nodes, json_pack(
			"{s:o, s:i, s:i, s:i}", "name", json_text(name),
			"first_rank", first, "gpus", gpus, "nics", gpus));
		first += gpus;
	}
	return json_pack("{s:o, s:{s:s, s:I}}", "nodes", nodes, "planned",
			 "kind", "all", "cells",
			 p ? (json_int_t)p->ranks * (p->ranks - 1) : 0);
}
