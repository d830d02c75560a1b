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

#include "lib/base/grow.h"
#include "lib/base/order.h"
#include "lib/base/units.h"

#define RANKS_MAX 4096

/** Content of a file; after the last one, of all files of a job. */
struct pair_log {
	struct import_pair of;
	bool ok;		/* the receiver said so */
	bool any_text;		/* something was printed */
	bool crashed;
	struct import_message message;
};

struct import_pairs {
	struct pair_log *logs;
	size_t n;
	struct pair_log reading;	/* of the file at hand */
	int ranks;		/* as the logs say, or as the names need */
	int per_node;
	char hosts[RANKS_MAX][64];	/* [rank], "" = not said */
	int64_t host_jobs[RANKS_MAX];	/* which job said so: the newest */
	bool hosts_differ;	/* jobs ran on different nodes */
};

void import_pairs_free(struct import_pairs *p)
{
	if (p) {
		free(p->logs);
		free(p);
	}
}

bool import_pair_name(const char *name, struct import_pair *pair)
{
	int src, dst;
	char kind[4] = "", after;
	long long job;

	if (sscanf(name, "p2p-test-%4d-%4d-%18lld.%3[a-z]%c", &src, &dst, &job,
		   kind, &after) != 4 || src < 0 || dst < 0 ||
	    src >= RANKS_MAX || dst >= RANKS_MAX || src == dst || job < 0) {
		return false;
	}
	*pair = (struct import_pair){ .src = src, .dst = dst, .job = job,
				      .is_err = strcmp(kind, "err") == 0 };
	return pair->is_err || strcmp(kind, "out") == 0;
}

/** "a001 [3/16]", with or without more: rank 3 of 16 is on a001. */
static void take_host(struct import_pairs *p, int64_t job, const char *line)
{
	char host[64] = "", after = '\0';
	int rank, ranks;

	if (sscanf(line, "%63s [%4d/%4d%c", host, &rank, &ranks, &after) != 4 ||
	    after != ']' || rank < 0 || rank >= ranks || ranks > RANKS_MAX) {
		return;
	}
	p->ranks = ranks > p->ranks ? ranks : p->ranks;
	p->hosts_differ = p->hosts_differ ||
			  (p->hosts[rank][0] &&
			   strcmp(p->hosts[rank], host) != 0);
	if (!p->hosts[rank][0] || job >= p->host_jobs[rank]) {
		STR_COPY(p->hosts[rank], host);
		p->host_jobs[rank] = job;
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

/** Words of a line that complains, and of one that says of a crash. */
static const char *const complaints[] = {
	"fail", "Error", "error:", "ERROR", "Traceback", "CANCELLED", "Killed",
	NULL
};
static const char *const crashes[] = {
	"Segmentation fault", "core dumped", "Signal: Segmentation",
	"exited on signal", NULL
};

static void take_line(struct import_pairs *p, const char *line)
{
	struct pair_log *l = &p->reading;
	bool crash = import_has_any(line, crashes, false);
	char ok[64];

	l->any_text = l->any_text || line[strspn(line, " ")] != '\0';
	take_host(p, l->of.job, line);
	take_number(line, "NUM_GPUS=", &p->ranks);
	take_number(line, "NUM_GPUS_PER_NODE=", &p->per_node);
	snprintf(ok, sizeof(ok), "] : OK %d -> %d", l->of.src, l->of.dst);
	if (!l->of.is_err && strstr(line, ok)) {
		l->ok = true;
	}
	l->crashed = l->crashed || crash;
	import_tell(&l->message, line);
	if (!l->message.symptom &&
	    (crash || import_has_any(line, complaints, false))) {
		STR_COPY(l->message.line, line);
	}
}

int import_pair_log(struct import *x, FILE *f, struct err *e)
{
	struct import_pairs *p = x->pairs ? x->pairs : calloc(1, sizeof(*p));
	struct import_pair *pair;
	int ranks;

	x->pairs = p;
	if (!p) {
		return err_set(e, ENOMEM, "cannot hold the logs");
	}
	p->reading = (struct pair_log){ .ok = false };
	pair = &p->reading.of;
	if (!import_pair_name(basename(x->file), pair)) {
		return err_set(e, EINVAL, "'%s' names no pair", x->file);
	}
	ranks = (pair->src > pair->dst ? pair->src : pair->dst) + 1;
	p->ranks = ranks > p->ranks ? ranks : p->ranks;
	while (import_next_line(x, f)) {
		take_line(p, x->line);
	}
	return grow_add(&p->logs, &p->n, &p->reading, sizeof(p->reading)) ?
		       0 : err_set(e, ENOMEM, "not enough memory for the logs");
}

/** By pair, the newest job last because an old log does not decide; the files
 *  of a job in an order that does not depend on that of their names. */
static const struct order_key by_file[] = {
	ORDER_UP(struct pair_log, of.src),
	ORDER_UP(struct pair_log, of.dst),
	ORDER_UP(struct pair_log, of.job),
	ORDER_UP(struct pair_log, of.is_err),
	ORDER_UP(struct pair_log, message.line),
	ORDER_END
};

/** @l learns what @other, an earlier file of the same job, says. */
static void merge(struct pair_log *l, const struct pair_log *other)
{
	l->ok = l->ok || other->ok;
	l->any_text = l->any_text || other->any_text;
	l->crashed = l->crashed || other->crashed;
	if (other->message.symptom ?
		    !l->message.symptom ||
			    other->message.symptom->effect <=
				    l->message.symptom->effect :
		    !l->message.line[0]) {
		l->message = other->message;
	}
}

static int gpus_of(const struct import_pairs *p, int node)
{
	int left = p->ranks - node * p->per_node;

	return left < p->per_node ? left : p->per_node;
}

/** The name of the node that a rank is on, as any log says it. */
static void node_name(const struct import_pairs *p, int node, char name[64])
{
	for (int i = 0; i < gpus_of(p, node); i++) {
		const char *host = p->hosts[node * p->per_node + i];

		if (host[0]) {
			str_copy(name, 64, host);
			return;
		}
	}
	snprintf(name, 64, "n%d", node);
}

static int add_pair(struct import *x, const struct pair_log *l, struct err *e)
{
	const struct import_pairs *p = x->pairs;
	const struct symptom *known = l->message.symptom;
	const char *code = known ? known->code :
			   l->any_text ? "no_success" : "no_output";
	struct p2p_row row;

	record_init(&schema_p2p, &row);
	row.attempt = 1;
	row.src_rank = l->of.src;
	row.dst_rank = l->of.dst;
	row.src_gpu = l->of.src % p->per_node;
	row.dst_gpu = l->of.dst % p->per_node;
	node_name(p, l->of.src / p->per_node, row.src_node);
	node_name(p, l->of.dst / p->per_node, row.dst_node);
	STR_COPY(row.transport, "nccl");
	STR_COPY(row.op, "sendrecv");
	STR_COPY(row.mode, "uni");
	STR_COPY(row.memory, "gpu");
	STR_COPY(row.schedule, "serial");
	row.size_B = 8;
	if (l->ok) {
		row.outcome = OUTCOME_OK;
		row.iters = 1;
		return import_add(x, &schema_p2p, &row, e);
	}
	row.outcome = l->crashed ? OUTCOME_CRASHED :
		      strcmp(code, "job_time_limit") == 0 ||
				      strcmp(code, "collective_hang") == 0 ?
			      OUTCOME_TIMEOUT : OUTCOME_ERROR;
	STR_COPY(row.code, code);
	STR_COPY(row.detail, l->message.line);
	return import_add(x, &schema_p2p, &row, e);
}

int import_end(struct import *x, struct err *e)
{
	struct import_pairs *p = x->pairs;
	int same = 0;

	if (!p) {
		return 0;
	}
	/* without NUM_GPUS_PER_NODE, the ranks of a node are those with the
	 * name of the first, or all */
	while (same < p->ranks && p->hosts[same][0] &&
	       strcmp(p->hosts[same], p->hosts[0]) == 0) {
		same++;
	}
	if (p->per_node == 0) {
		p->per_node = same > 0 && same < p->ranks && p->hosts[same][0] ?
				      same : p->ranks;
	}
	if (p->hosts_differ) {
		import_note(x, "the jobs ran on different nodes: nodes have the "
			    "names of the newest job");
	}
	order_sort(p->logs, p->n, sizeof(*p->logs), by_file);
	for (size_t i = 0; i < p->n; i++) {
		struct pair_log *l = &p->logs[i];
		struct pair_log *next = i + 1 < p->n ? l + 1 : NULL;
		bool same_pair = next && next->of.src == l->of.src &&
				 next->of.dst == l->of.dst;

		if (same_pair && next->of.job == l->of.job) {
			merge(next, l);
		} else if (!same_pair && add_pair(x, l, e) < 0) {
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
		json_array_append_new(nodes, run_node_json(name, first, gpus,
							   gpus));
		first += gpus;
	}
	return import_layout(nodes, p ? p->ranks * (p->ranks - 1) : 0);
}
