/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HCA ports in place of GPUs: clusters of ib, of one rate or of two, whose
 * lines are known or not, rails apart or joined, healthy or with one part that
 * is dead, a little slow, late or unreliable.
 * usage: ports [SEEDS [FIRST [NAME]]]	NAME: of a line's begin; prints a table,
 * and TAP; V=1: what was missed
 */
#include <stdlib.h>
#include <string.h>

#include "probes/plan/plan.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "tests/verdict/cluster.h"
#include "tests/verdict/dice.h"
#include "tests/verdict/table.h"
#include "tests/layout.h"

#define MAX_PORTS 8
#define MAX_NODES 48

enum what { DEAD, SLOW, LATE, FLAKY };

struct world {
	int nodes, ports, new_nodes;	/* these have ports of twice the rate */
	int fast_ports;			/* the first ones, on every node */
	bool lines_known;
	double share;			/* of its line that a port reaches */
	double noise, spread, tail_share;
	double port[MAX_NODES * MAX_PORTS];
	double rail[MAX_PORTS];
	enum what what;
	double by;
	struct part part;		/* kind PART_KINDS: nothing is wrong */
};

static double line_of(const struct world *w, int rank)
{
	return 25.0 * (rank / w->ports < w->new_nodes ? 2 : 1) *
	       (rank % w->ports < w->fast_ports ? 2 : 1);
}

static void draw_world(struct dice *d, struct world *w)
{
	static const int ports[] = { 2, 4, 8 };

	*w = (struct world){
		.nodes = (int)(5 * pow(MAX_NODES / 5.0, dice_unit(d))),
		.ports = ports[dice_below(d, 3)],
		.lines_known = dice_unit(d) < 0.5,
		.share = dice_between(d, 0.96, 0.99),
		.noise = dice_between(d, 0.002, 0.008),
		.spread = dice_between(d, 0.001, 0.005),
		.tail_share = dice_unit(d) < 0.5 ? dice_between(d, 0, 0.02) : 0,
		.part = part_of_kind(PART_KINDS),
	};
	if (w->lines_known && dice_unit(d) < 0.4) {
		w->new_nodes = 2 + dice_below(d, w->nodes - 3);
	}
	if (w->lines_known && dice_unit(d) < 0.3) {
		w->fast_ports = w->ports / 2;
	}
	if (!w->lines_known) {
		w->noise = dice_between(d, 0.003, 0.02);
	}
	for (int i = 0; i < w->nodes * w->ports; i++) {
		w->port[i] = exp(w->spread * dice_normal(d));
	}
	for (int i = 0; i < w->ports; i++) {
		w->rail[i] = dice_unit(d) < 0.2 ? dice_between(d, 0.97, 1) : 1;
	}
}

struct site {
	const struct world *w;
	const struct run *places;
	struct dice *d;
};

static double line(void *ctx, int src, int dst)
{
	const struct site *s = ctx;

	return s->w->lines_known ? fmin(line_of(s->w, src),
					line_of(s->w, dst)) : NAN;
}

static int test(void *ctx, int src, int dst, int attempt,
		struct xport_result *r)
{
	const struct site *s = ctx;
	const struct world *w = s->w;
	bool bad = w->part.kind != PART_KINDS &&
		   part_touches(&s->places->cluster, &w->part, src, dst);
	double a = w->port[src] * w->rail[src % w->ports] * line_of(w, src);
	double b = w->port[dst] * w->rail[dst % w->ports] * line_of(w, dst);

	xport_result_init(r);
	if (bad && (w->what == DEAD ||
		    (w->what == FLAKY && dice_unit(s->d) < w->by))) {
		xport_fail(r, OUTCOME_ERROR, "wc_retry_exceeded", "no answer");
		return dst;
	}
	r->outcome = OUTCOME_OK;
	r->bw_GB_s = fmin(a, b) * w->share * exp(w->noise * dice_normal(s->d)) *
		     (bad && w->what == SLOW ? w->by : 1);
	if (attempt == 1 && dice_unit(s->d) < w->tail_share) {
		r->bw_GB_s *= dice_between(s->d, 0.6, 1);
	}
	r->lat_us = 2 * exp(0.05 * dice_normal(s->d)) *
		    (bad && w->what == LATE ? w->by : 1);
	return dst;
}

struct question {
	struct row row;
	enum what what;
	double by;
	bool fault;
	enum severity severity;
};

/** A port, or all of a node. */
static struct part draw_part(struct dice *d, const struct world *w,
			     const struct question *q)
{
	bool port = dice_unit(d) < 0.7;
	int index = port ? dice_below(d, w->ports) : -1;
	struct part p = part_at(port ? PART_NIC : PART_NODE,
				dice_below(d, w->nodes), index);

	if (q->what == SLOW && dice_unit(d) < 0.4) {
		p.direction = dice_unit(d) < 0.5 ? PART_TX : PART_RX;
	}
	return p;
}

/** The network of a node is all that ib sees of it. */
static void call_node(struct verdict *v)
{
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].part.kind == PART_NODE_NETWORK) {
			v->findings[i].part.kind = PART_NODE;
		}
	}
}

/** Ports of two rates are said; so are tests that fail once. */
static bool is_site(const void *ctx, const struct finding *f)
{
	const struct question *q = ctx;

	return strcmp(f->code, "two_levels") == 0 ||
	       (q->what == FLAKY &&
		part_is(&f->part, KIND(PAIR) | KIND(INTER_NODE)));
}

static void make_places(const struct world *w, struct layout *l,
			struct run *places)
{
	static char names[MAX_NODES][16];
	const char *list[MAX_NODES];
	int ports[MAX_NODES];

	for (int i = 0; i < w->nodes; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		list[i] = names[i];
		ports[i] = w->ports;
	}
	if (layout_of(l, w->nodes, list, ports, ports) < 0) {
		abort();
	}
	/* a port whose rate is another one is of another fabric */
	for (int r = 0; r < l->n_ranks && w->fast_ports > 0; r++) {
		l->ranks[r].group = r % w->ports >= w->fast_ports;
	}
	cluster_layout(l, NULL, places);
}

/** Fewer tests of a part that fail say of nobody that it is this part. */
#define LEAST_FAILED 4

static bool is_fair(const struct world *w, const struct run *run)
{
	size_t failed = 0;

	for (size_t at = 0; at < run_n_cells(run); at++) {
		failed += rates_failed(run, at) &&
			  part_touches_at(run, &w->part, at);
	}
	return w->what != FLAKY || failed >= LEAST_FAILED;
}

static void ask(const void *question, uint64_t seed, struct score *s)
{
	const struct question *q = question;
	struct dice d = { .of = 0x706f7274, .more = 5, .seed = seed };
	struct run places, run;
	struct verdict v;
	struct layout l;
	struct world w;
	struct site site = { .w = &w, .places = &places, .d = &d };
	struct pairs pairs = { .kind = PAIRS_RAIL };
	const struct cluster_model model = {
		.test = test, .ctx = &site, .pairs = &pairs, .ports = true,
		.line = line,
	};
	const struct truth truth = {
		.parts = &w.part, .n = q->fault, .severity = q->severity,
		.is_site = is_site, .ctx = q,
	};

	draw_world(&d, &w);
	if (dice_unit(&d) < 0.4) {
		pairs.kind = PAIRS_ALL;
	} else {
		pairs.rails_apart = dice_unit(&d) < 0.5;
	}
	make_places(&w, &l, &places);
	w.what = q->what;
	w.by = q->by;
	if (q->fault) {
		w.part = draw_part(&d, &w, q);
	}
	cluster_run_of(&l, NULL, &model, &run);
	cluster_follow(&l, &model, &run);
	cluster_judge(&run, false, &v);
	call_node(&v);
	if ((!q->fault || is_fair(&w, &run)) &&
	    !score_add(s, &truth, &run, &v) && getenv("V")) {
		printf("# seed %llu, %s: %d nodes of %d ports, %d new, %d "
		       "fast, %s, %s\n", (unsigned long long)seed, q->row.name,
		       w.nodes, w.ports, w.new_nodes, w.fast_ports,
		       w.lines_known ? "lines known" : "lines unknown",
		       pairs.kind == PAIRS_ALL ? "all pairs" : "rails");
	}
	verdict_release(&v);
	cluster_release(&run);
	cluster_release(&places);
	layout_release(&l);
}

#define SLOWER(percent, enough, how_bad) \
	{ { "slow by " #percent " %", enough }, .what = SLOW, .fault = true, \
	  .by = 1 - percent / 100.0, .severity = how_bad }

static const struct question questions[] = {
	{ { "healthy", 99 }, .what = DEAD },
	{ { "dead", 98 }, .what = DEAD, .fault = true, .severity = FAIL },
	SLOWER(4, 0, EITHER),
	SLOWER(6, 0, EITHER),
	SLOWER(8, 0, EITHER),
	SLOWER(12, 0, FAIL),
	SLOWER(15, 0, FAIL),
	SLOWER(40, 98, FAIL),
	{ { "fails 10 % of its tests", 0 }, .what = FLAKY, .fault = true,
	  .by = 0.1 },
	{ { "latency x 2", 0 }, .what = LATE, .fault = true, .by = 2 },
};

int main(int argc, char **argv)
{
	static const struct table table = {
		.clusters = "ib on 5 to 48 nodes of 2 to 8 HCA ports",
		.questions = questions, .size = sizeof(*questions),
		.n = sizeof(questions) / sizeof(*questions), .ask = ask,
	};

	return table_main(&table, argc, argv);
}
