/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts that are a little worse than their peers, by all of their tests. */
#include "tests/unit/fake_run.h"

#include "report/judge/caption.h"
#include "report/judge/effects.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/model/run.h"

#define LEAST 0.03

static const struct small {
	int nodes, nics;
	struct fake_fault part;
	double factor;
} smalls[] = {
	{ 6, 8, { .kind = PART_GPU, .a = 3, .b = 5 }, 0.92 },
	{ 6, 8, { .kind = PART_NIC, .a = 3, .b = 5 }, 0.92 },
	{ 6, 8, { .kind = PART_NODE, .a = 2 }, 0.92 },
	{ 6, 8, { .kind = PART_NODE_NETWORK, .a = 2 }, 0.92 },
	{ 6, 8, { .kind = PART_GPU, .a = 0, .b = 0, .direction = PART_TX },
	  0.92 },
	{ 6, 8, { .kind = PART_NIC, .a = 5, .b = 7, .direction = PART_RX },
	  0.9 },
	{ 6, 8, { .kind = PART_NODE, .a = 1, .direction = PART_RX }, 0.9 },
	{ 6, 4, { .kind = PART_NIC, .a = 4, .b = 2 }, 0.94 },
	{ 6, 4, { .kind = PART_GPU, .a = 4, .b = 2 }, 0.92 },
	{ 4, 8, { .kind = PART_GPU, .a = 1, .b = 2 }, 0.9 },
	{ 16, 8, { .kind = PART_GPU, .a = 9, .b = 1 }, 0.95 },
	{ 4, 8, { .kind = PART_GPU_NVLINK, .a = 2, .b = 6 }, 0.9 },
	{ 6, 8, { .kind = PART_GPU_NVLINK, .a = 0, .b = 0,
		  .direction = PART_RX }, 0.88 },
	{ 6, 8, { .kind = PART_INTRA_NODE, .a = 4 }, 0.88 },
	{ 4, 4, { .kind = PART_INTRA_NODE, .a = 0 }, 0.85 },
};

/** All of a node, which has no index. */
#define WHOLE_NODE (KIND(NODE) | KIND(NODE_NETWORK) | KIND(INTRA_NODE))

static void expect_part(const struct part *p, const struct fake_fault *f)
{
	assert_int_equal(p->kind, f->kind);
	assert_int_equal(p->node, f->a);
	assert_int_equal(p->index, part_is(p, WHOLE_NODE) ? -1 : f->b);
	assert_int_equal(p->direction, f->direction);
}

/** Of a few pairs as well: with one test or two a partner. */
static void each_part_of_a_sample(void **state)
{
	static const struct small list[] = {
		{ 20, 8, { .kind = PART_GPU, .a = 3, .b = 5 }, 0.88 },
		{ 20, 8, { .kind = PART_NIC, .a = 3, .b = 5 }, 0.88 },
		{ 20, 8, { .kind = PART_NODE, .a = 2 }, 0.88 },
		{ 20, 8, { .kind = PART_NODE_NETWORK, .a = 2 }, 0.88 },
		{ 20, 8, { .kind = PART_INTRA_NODE, .a = 2 }, 0.85 },
		{ 20, 8, { .kind = PART_NIC, .a = 5, .b = 7,
			   .direction = PART_RX }, 0.85 },
	};

	(void)state;
	for (size_t i = 0; i <= sizeof(list) / sizeof(*list); i++) {
		bool healthy = i == sizeof(list) / sizeof(*list);
		const struct small *s = &list[healthy ? 0 : i];
		struct effects e;
		struct run r;

		fake_run(&r, s->nodes, 8, s->nics);
		if (!healthy) {
			fake_slow(&r, &s->part, s->factor);
		}
		fake_sample(&r);
		assert_int_equal(effects_find(&r, NULL, EFFECTS_BANDWIDTH,
					      LEAST, &e), 0);
		if (e.n != !healthy) {
			fail_msg("case %zu: %zu parts", i, e.n);
		}
		if (!healthy) {
			expect_part(&e.list[0].part, &s->part);
			assert_true(e.list[0].low <= s->factor &&
				    e.list[0].high >= s->factor);
		}
		effects_release(&e);
		run_release(&r);
	}
}

static void each_part_by_its_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(smalls) / sizeof(*smalls); i++) {
		const struct small *s = &smalls[i];
		struct effects e;
		struct run r;

		fake_run(&r, s->nodes, 8, s->nics);
		fake_slow(&r, &s->part, s->factor);
		assert_int_equal(effects_find(&r, NULL, EFFECTS_BANDWIDTH,
					      LEAST, &e), 0);
		if (e.n != 1) {
			fail_msg("case %zu: %zu parts", i, e.n);
		}
		expect_part(&e.list[0].part, &s->part);
		assert_true(fabs(e.list[0].ratio - s->factor) < 0.015);
		assert_true(e.list[0].low < s->factor + 0.001);
		assert_true(e.list[0].high >= s->factor);
		assert_true(e.list[0].high < 1);
		assert_int_equal(e.list[0].inside, part_is(&e.list[0].part,
					KIND(GPU_NVLINK) | KIND(INTRA_NODE)));
		assert_int_equal(e.list[0].partners,
				 s->part.kind == PART_INTRA_NODE ? 8 :
				 s->part.kind == PART_GPU_NVLINK ? 7 :
				 s->nodes - 1);
		assert_true(e.list[0].tests > 0);
		effects_release(&e);
		run_release(&r);
	}
}

static void join_leaves(struct run *r, int leaf_size)
{
	for (int n = 0; n < r->n_nodes; n++) {
		char name[16];

		snprintf(name, sizeof(name), "leaf%d", n / leaf_size);
		assert_true(run_join_leaf(r, n, name) >= 0);
	}
}

static size_t count(const struct run *r, const uint8_t *skip)
{
	struct effects e;
	size_t n;

	assert_int_equal(effects_find(r, skip, EFFECTS_BANDWIDTH, LEAST, &e),
			 0);
	n = e.n;
	effects_release(&e);
	return n;
}

/** All healthy, an index that is slow on all nodes, a node that is too little
 *  so, parts without peers. */
static void who_is_not_accused(void **state)
{
	static const struct {
		int nodes, gpus;
		struct fake_fault part;
		double factor;
	} cases[] = {
		{ 8, 8, { .kind = PART_NODE, .a = 0 }, 1 },
		{ 8, 8, { .kind = PART_RAIL, .a = 3 }, 0.9 },
		{ 8, 8, { .kind = PART_NODE, .a = 0 }, 0.98 },
		{ 8, 8, { .kind = PART_INTRA_NODE, .a = 0 }, 0.96 },
		{ 3, 8, { .kind = PART_NODE, .a = 0 }, 0.9 },
		{ 2, 8, { .kind = PART_GPU, .a = 0, .b = 0 }, 0.9 },
		{ 1, 8, { .kind = PART_GPU, .a = 0, .b = 0 }, 0.9 },
		{ 5, 8, { .kind = PART_NODE_PAIR, .a = 0, .b = 1 }, 0.85 },
		{ 8, 8, { .kind = PART_PAIR, .a = 0, .b = 9 }, 0.1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run r;
		size_t n;

		fake_run(&r, cases[i].nodes, cases[i].gpus, cases[i].gpus);
		fake_slow(&r, &cases[i].part, cases[i].factor);
		n = count(&r, NULL);
		if (n > 0) {
			fail_msg("case %zu: %zu parts", i, n);
		}
		run_release(&r);
	}
}

/** Each test as slow as its worse part makes it. */
static void slow_least(struct run *r, const struct fake_fault *parts, size_t n,
		       float factor)
{
	for (size_t at = 0; at < run_n_cells(r); at++) {
		bool hit = false;

		for (size_t i = 0; i < n; i++) {
			hit = hit || fake_hits(r, &parts[i], run_src(r, at),
					       run_dst(r, at));
		}
		r->cells[at].bw_GB_s *= hit ? factor : 1;
	}
}

/** A slow node hides what its partners are: these are judged by the others. */
static void what_a_slow_node_hides(void **state)
{
	static const struct {
		int nodes;
		size_t n, partners;	/* of the last one that count */
		int leaf_size;		/* 0: nobody knows */
		struct fake_fault parts[3];
	} cases[] = {
		{ 4, 2, 2, 0, { { .kind = PART_NODE, .a = 2 },
				{ .kind = PART_NIC, .a = 1, .b = 3 } } },
		{ 5, 2, 3, 0, { { .kind = PART_NODE, .a = 2 },
				{ .kind = PART_GPU, .a = 1, .b = 3 } } },
		{ 5, 2, 3, 0, { { .kind = PART_NODE, .a = 2 },
				{ .kind = PART_NIC, .a = 0, .b = 3,
				  .direction = PART_TX } } },
		{ 5, 2, 3, 0, { { .kind = PART_NODE, .a = 0 },
				{ .kind = PART_NODE, .a = 3 } } },
		/* slow with each other as with the others: by their inside */
		{ 7, 3, 4, 0, { { .kind = PART_NODE, .a = 0 },
				{ .kind = PART_NODE, .a = 4 },
				{ .kind = PART_NODE, .a = 6 } } },
		/* of four at a switch two are fast with each other only */
		{ 5, 2, 3, 4, { { .kind = PART_NODE, .a = 1 },
				{ .kind = PART_NODE, .a = 2 } } },
		/* of five NICs of that index three are slow by now */
		{ 5, 3, 2, 0, { { .kind = PART_NODE, .a = 0 },
				{ .kind = PART_NODE, .a = 4 },
				{ .kind = PART_NIC, .a = 1, .b = 6,
				  .direction = PART_TX } } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct effects e;
		struct run r;

		fake_run(&r, cases[i].nodes, 8, 8);
		if (cases[i].leaf_size) {
			join_leaves(&r, cases[i].leaf_size);
		}
		slow_least(&r, cases[i].parts, cases[i].n, 0.85F);
		assert_int_equal(effects_find(&r, NULL, EFFECTS_BANDWIDTH,
					      LEAST, &e), 0);
		if (e.n != cases[i].n) {
			fail_msg("case %zu: %zu parts", i, e.n);
		}
		for (size_t k = 0; k < e.n; k++) {
			expect_part(&e.list[k].part, &cases[i].parts[k]);
			assert_true(e.list[k].high < 0.93);
		}
		assert_int_equal(e.list[e.n - 1].partners, cases[i].partners);
		effects_release(&e);
		run_release(&r);
	}
}

/** All that leaves the switch of the others is a node's own: whether this is
 *  slow by the node or by what is between switches, its inside says. */
static void a_node_alone_on_its_switch(void **state)
{
	static const struct {
		enum part_kind slow, found;	/* PART_KINDS: nothing */
	} cases[] = {
		{ PART_NODE, PART_NODE },
		{ PART_NODE_NETWORK, PART_KINDS },
		{ PART_INTRA_NODE, PART_INTRA_NODE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fake_fault part = { .kind = cases[i].slow, .a = 7 };
		struct effects e;
		struct run r;

		fake_run(&r, 8, 8, 8);
		join_leaves(&r, 7);
		r.nodes[7].leaf = 0;	/* one node is no switch to speak of */
		fake_slow(&r, &part, 0.85);
		assert_int_equal(effects_find(&r, NULL, EFFECTS_BANDWIDTH,
					      LEAST, &e), 0);
		part.kind = cases[i].found;
		if (e.n != (part.kind != PART_KINDS)) {
			fail_msg("case %zu: %zu parts", i, e.n);
		}
		if (e.n > 0) {
			expect_part(&e.list[0].part, &part);
			assert_true(e.list[0].inside);
		}
		effects_release(&e);
		run_release(&r);
	}
}

/** In a moment half of the tests inside a node were slow: no GPU of it is, not
 *  the first one as sender, nor the last one as receiver. */
static void a_moment_of_a_node(void **state)
{
	struct run r;

	(void)state;
	fake_run(&r, 6, 8, 8);
	for (int s = 16; s < 24; s++) {
		for (int d = s + 1; d < 24; d++) {
			r.cells[run_at(&r, s, d)].bw_GB_s *= 0.9F;
		}
	}
	assert_int_equal(count(&r, NULL), 0);
	run_release(&r);
}

/** A GPU that is slower on every node is noted; on all but one it is not. */
static void what_is_built_so(void **state)
{
	static const struct fake_fault rail = { .kind = PART_RAIL, .a = 3 };

	(void)state;
	for (int but = 0; but < 2; but++) {
		struct str out = STR_INIT;
		struct run r;

		fake_run(&r, 6, 8, 8);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			int s = run_src(&r, at), d = run_dst(&r, at);
			bool spared = but && (r.ranks[s].node == 5 ||
					      r.ranks[d].node == 5);

			if (fake_hits(&r, &rail, s, d) && !spared) {
				r.cells[at].bw_GB_s *= 0.9F;
			}
		}
		note_built_so(&r, &out);
		if (but) {
			assert_string_equal(str_text(&out), "");
		} else {
			assert_non_null(strstr(str_text(&out),
					       "GPU 3 of every node"));
		}
		str_release(&out);
		run_release(&r);
	}
}

/** NICs that are all of a socket, or of a rail at a switch, are that; and are
 *  themselves where one more is fine, or where nobody knows the switches. */
static void what_nics_have_in_common(void **state)
{
	static const struct {
		struct fake_fault first, last;	/* NICs, between these all */
		int fine;	/* node whose NIC is not; -1: none */
		int leaf_size;	/* 0: unknown */
		size_t n;
		struct part is;	/* of n = 1 */
	} cases[] = {
		{ { .a = 4, .b = 3 }, { .a = 7, .b = 3 }, -1, 4, 1,
		  { .kind = PART_RAIL_LEAF, .node = -1, .index = 3,
		    .peer_node = -1, .peer_index = 1 } },
		{ { .a = 4, .b = 3 }, { .a = 7, .b = 3 }, 5, 4, 3, { 0 } },
		{ { .a = 4, .b = 3 }, { .a = 7, .b = 3 }, -1, 0, 4, { 0 } },
		{ { .a = 2, .b = 4 }, { .a = 2, .b = 7 }, -1, 1, 1,
		  { .kind = PART_SOCKET, .node = 2, .index = 1,
		    .peer_node = -1, .peer_index = -1 } },
		{ { .a = 2, .b = 5 }, { .a = 2, .b = 7 }, -1, 1, 3, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct fake_fault *a = &cases[i].first;
		const struct fake_fault *b = &cases[i].last;
		struct effects e;
		struct run r;

		fake_run(&r, 12, 8, 8);
		for (int n = 0; cases[i].leaf_size && n < 12; n++) {
			r.nodes[n].leaf = 1 + n / cases[i].leaf_size;
		}
		for (int n = a->a; n <= b->a; n++) {
			for (int k = a->b; k <= b->b; k++) {
				const struct fake_fault nic = {
					.kind = PART_NIC, .a = n, .b = k,
				};

				fake_slow(&r, &nic,
					  n == cases[i].fine ? 1 : 0.9);
			}
		}
		assert_int_equal(effects_find(&r, NULL, EFFECTS_BANDWIDTH,
					      LEAST, &e), 0);
		if (e.n != cases[i].n ||
		    (e.n == 1 && part_compare(&e.list[0].part,
					      &cases[i].is) != 0)) {
			fail_msg("case %zu: %zu parts", i, e.n);
		}
		if (e.n == 1) {
			assert_int_equal(e.list[0].partners, 11);
			assert_int_equal(e.list[0].tests,
					 part_measured(&r, &e.list[0].part));
		}
		effects_release(&e);
		run_release(&r);
	}
}

/** What lies between two leaf switches: all of it, or the eighth of the tests
 *  that a hash puts on one link; what two nodes have with each other is
 *  neither, nor is it known how fast it should be if there are but two. */
static void what_lies_between_switches(void **state)
{
	static const struct {
		int leaf_size, one_of;
		bool two_nodes;
		size_t n;
		enum part_kind kind;
	} cases[] = {
		{ .leaf_size = 3, .one_of = 1, .n = 1, .kind = PART_LEAF_PAIR },
		{ .leaf_size = 4, .one_of = 1, .n = 1, .kind = PART_LEAF_PAIR },
		{ .leaf_size = 3, .one_of = 8, .n = 1,
		  .kind = PART_FABRIC_PATH },
		{ .leaf_size = 6, .one_of = 1 },
		{ .leaf_size = 6, .one_of = 8 },
		{ .leaf_size = 3, .one_of = 1, .two_nodes = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int size = cases[i].leaf_size;
		struct effects e;
		struct run r;

		fake_run(&r, 12, 8, 8);
		join_leaves(&r, size);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			int a = r.ranks[run_src(&r, at)].node;
			int b = r.ranks[run_dst(&r, at)].node;
			bool slow = cases[i].two_nodes ?
					    a + b == 3 && a * b == 0 :
					    a / size + b / size == 1;

			r.cells[at].bw_GB_s *=
				slow && hash_unit(3, at, 0, 0) *
						cases[i].one_of < 1 ?
					0.88F : 1;
		}
		assert_int_equal(effects_find(&r, NULL, EFFECTS_BANDWIDTH,
					      LEAST, &e), 0);
		if (e.n != cases[i].n ||
		    (e.n == 1 &&
		     (e.list[0].part.kind != cases[i].kind ||
		      e.list[0].part.index != 0 ||
		      e.list[0].part.peer_index != 1))) {
			fail_msg("case %zu: %zu parts", i, e.n);
		}
		effects_release(&e);
		run_release(&r);
	}
}

/** As fast with each other as the others are, two of eight nodes are far from
 *  these: nobody is slow. */
static void nodes_that_are_apart(void **state)
{
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 8);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		bool from = r.ranks[run_src(&r, at)].node >= 6;
		bool to = r.ranks[run_dst(&r, at)].node >= 6;

		r.cells[at].bw_GB_s *= from != to ? 0.88F : 1;
	}
	assert_int_equal(count(&r, NULL), 0);
	/* were they slow, they would be so with each other */
	for (int src = 48; src < 64; src++) {
		for (int dst = 48; dst < 64; dst++) {
			r.cells[run_at(&r, src, dst)].bw_GB_s *= 0.88F;
		}
	}
	assert_int_equal(count(&r, NULL), 2);
	run_release(&r);
}

/** What something else explains, and what was not measured. */
static void cells_that_do_not_count(void **state)
{
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 3,
					       .b = 5 };
	uint8_t *skip;
	struct run r;

	(void)state;
	fake_run(&r, 6, 8, 8);
	fake_slow(&r, &gpu, 0.9);
	skip = calloc(run_n_cells(&r), 1);
	assert_non_null(skip);
	assert_int_equal(count(&r, skip), 1);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		if (fake_hits(&r, &gpu, run_src(&r, at), run_dst(&r, at))) {
			skip[at] = 2;	/* failed first */
		}
	}
	assert_int_equal(count(&r, skip), 1);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		skip[at] = skip[at] ? 1 : 0;
	}
	assert_int_equal(count(&r, skip), 0);
	free(skip);
	fake_break(&r, &gpu, OUTCOME_ERROR, "dead");
	assert_int_equal(count(&r, NULL), 0);
	run_release(&r);
}

static void judge(struct run *r, struct verdict *v)
{
	assert_int_equal(levels_mark_slow(r), 0);
	assert_int_equal(verdict_compute(r, v), 0);
}

static void small_ones_are_warnings(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 3,
					       .b = 1 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 6, 8, 8);
	fake_slow(&r, &nic, 0.9);
	judge(&r, &v);
	assert_int_equal(v.status, VERDICT_WARN);
	assert_int_equal(v.n, 1);
	expect_part(&v.findings[0].part, &nic);
	assert_string_equal(v.findings[0].code, "slow");
	assert_int_equal(v.findings[0].explained, 0);
	assert_int_equal(v.n_exclude, 0);
	assert_non_null(strstr(v.findings[0].says, "% slower than its peers"));
	assert_non_null(strstr(v.findings[0].says, "80 tests with 5 nodes"));
	verdict_release(&v);
	r.shared_cores = true;	/* they disturb each other */
	judge(&r, &v);
	assert_int_equal(v.n, 0);
	verdict_release(&v);
	run_release(&r);
}

/** GPUs that share a NIC need not have adjacent numbers. */
static void ranks_of_a_nic(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 3,
					       .b = 1 };

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 6, 8, 4);
		for (int i = 0; apart && i < r.n_ranks; i++) {
			r.ranks[i].nic = r.ranks[i].gpu % 4;
		}
		fake_slow(&r, &nic, 0.9);
		judge(&r, &v);
		assert_int_equal(v.n, 1);
		expect_part(&v.findings[0].part, &nic);
		assert_non_null(strstr(v.findings[0].says, "160 tests with 5"));
		verdict_release(&v);
		run_release(&r);
	}
}

/** Where two of them meet a test is slow by itself: that is no fault of the
 *  pair.  And a part that is slow in all its tests is said as before. */
static void what_they_explain(void **state)
{
	static const struct fake_fault one = { .kind = PART_GPU, .a = 0,
					       .b = 0 };
	static const struct fake_fault two = { .kind = PART_GPU, .a = 3,
					       .b = 1 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 6, 8, 8);
	fake_slow(&r, &one, 0.86);
	fake_slow(&r, &two, 0.86);
	judge(&r, &v);
	assert_int_equal(v.cells[CELL_SLOW], 2);
	assert_int_equal(v.n, 2);
	/* no follow-up has confirmed it */
	assert_int_equal(v.status, VERDICT_WARN);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(v.findings[i].part.kind, PART_GPU);
		assert_int_equal(v.findings[i].explained, 2);
	}
	verdict_release(&v);
	run_release(&r);

	fake_run(&r, 6, 8, 8);
	fake_slow(&r, &one, 0.5);
	judge(&r, &v);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].explained, v.findings[0].cells);
	verdict_release(&v);
	run_release(&r);
}

/** Most nodes have two partners on the other switch, one of which is late: what
 *  is usual between switches is what the other one takes. */
static void late_on_a_small_switch(void **state)
{
	struct effects e;
	struct run r;

	(void)state;
	fake_run(&r, 13, 4, 4);
	join_leaves(&r, 11);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		if (r.ranks[run_src(&r, at)].node == 11 ||
		    r.ranks[run_dst(&r, at)].node == 11) {
			r.cells[at].lat_us *= 2;
		}
	}
	assert_int_equal(effects_find(&r, NULL, EFFECTS_LATENCY, 0.3, &e), 0);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.list[0].part.kind, PART_NODE);
	assert_int_equal(e.list[0].part.node, 11);
	assert_true(fabs(e.list[0].ratio - 2) < 0.05);
	effects_release(&e);
	run_release(&r);
}

static void late_parts(void **state)
{
	static const struct fake_fault parts[] = {
		{ .kind = PART_GPU, .a = 3, .b = 5 },
		{ .kind = PART_NIC, .a = 3, .b = 5 },
		{ .kind = PART_NODE, .a = 2 },
		{ .kind = PART_NODE_PAIR, .a = 1, .b = 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 6, 8, 8);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			bool hit = fake_hits(&r, &parts[i], run_src(&r, at),
					     run_dst(&r, at));

			r.cells[at].lat_us *= (hit ? 2 : 1) *
				(float)(0.95 + 0.1 * hash_unit(5, at, 0, 0));
		}
		judge(&r, &v);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.findings[0].part.kind, parts[i].kind);
		assert_int_equal(v.findings[0].part.node, parts[i].a);
		assert_string_equal(v.findings[0].code, "latency");
		assert_int_equal(v.status, VERDICT_WARN);
		verdict_release(&v);
		run_release(&r);
	}
}

/** A GPU is slow inside its node.  What it does with other nodes says whether
 *  that is its NVLinks, if it is known. */
static void nvlinks_or_all_of_the_gpu(void **state)
{
	static const struct {
		double outside, spread;
		bool unknown;
		enum part_kind part, also;
	} cases[] = {
		{ 1, 0, false, PART_GPU_NVLINK, PART_GPU_NVLINK },
		{ 1, 0.08, false, PART_GPU_NVLINK, PART_GPU },
		{ 0.85, 0.12, false, PART_GPU, PART_GPU_NVLINK },
		{ 1, 0, true, PART_GPU, PART_GPU_NVLINK },
	};
	static const struct fake_fault nvlink = { .kind = PART_GPU_NVLINK,
						  .a = 3, .b = 5 };
	const int gpu = 3 * 8 + 5;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct effects e;
		struct run r;

		fake_run(&r, 8, 8, 8);
		fake_slow(&r, &nvlink, 0.88);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			int src = run_src(&r, at), dst = run_dst(&r, at);
			int peer = r.ranks[src == gpu ? dst : src].node;
			double by = cases[i].outside +
				    cases[i].spread * (peer - 3.5);

			if (r.cells[at].path != PATH_INTER) {
				continue;
			}
			if (cases[i].unknown) {
				r.cells[at].class = CELL_UNPLANNED;
			} else if (src == gpu || dst == gpu) {
				r.cells[at].bw_GB_s *= (float)by;
			}
		}
		assert_int_equal(effects_find(&r, NULL, EFFECTS_BANDWIDTH,
					      LEAST, &e), 0);
		assert_int_equal(e.n, 1);
		if (e.list[0].part.kind != cases[i].part ||
		    e.list[0].also.kind != cases[i].also) {
			fail_msg("case %zu: %s, %s", i,
				 part_kind_name(e.list[0].part.kind),
				 part_kind_name(e.list[0].also.kind));
		}
		effects_release(&e);
		run_release(&r);
	}
}

/** Tests of the follow-up: ten of GPU 5 of n3 at @factor, ten of others. */
static void follow(struct run *r, double factor, int partners)
{
	static struct run_follow rows[20];

	for (int i = 0; i < 20; i++) {
		int src = i < 10 ? 3 * 8 + 5 : 8 + i % 8;
		int dst = i < 10 ? 5 * 8 + i % partners * 8 + i % 8 : i % 8;

		rows[i] = (struct run_follow){
			.at = run_at(r, src, dst), .attempt = 1,
			.outcome = OUTCOME_OK, .lat_us = 5,
			.bw_GB_s = (float)((30 + 0.01 * i) *
					   (i < 10 ? factor : 1)),
		};
	}
	r->follow = rows;
	r->n_follow = 20;
}

/** What the main pass has selected is a fault if the follow-up shows it again,
 *  in tests with several nodes, and no less than the line. */
static void what_is_confirmed(void **state)
{
	static const struct {
		double slow, again;
		int partners, percent, tests;
		bool fail, none;
	} cases[] = {
		/* a little, and it is gone; what was more has been there */
		{ .slow = 0.93, .again = 1, .partners = 3, .none = true },
		{ .slow = 0.93, .again = 0.97, .partners = 3 },
		{ .slow = 0.93, .again = 1, .partners = 3, .tests = 5 },
		{ .slow = 0.88, .again = 0.88, .partners = 3, .fail = true },
		{ .slow = 0.88, .again = 0.99, .partners = 3 },
		{ .slow = 0.88, .again = 0.88, .partners = 1 },
		{ .slow = 0.88, .again = 0.88, .partners = 3, .percent = 20 },
		{ .slow = 0.93, .again = 0.93, .partners = 3 },
		{ .slow = 0.93, .again = 0.93, .partners = 3, .percent = 5,
		  .fail = true },
		{ .slow = 0.88, .again = 0.88, .partners = 3, .tests = 5 },
	};
	static const struct fake_fault gpu = { .kind = PART_GPU, .a = 3,
					       .b = 5 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 8, 8, 8);
		fake_slow(&r, &gpu, cases[i].slow);
		follow(&r, cases[i].again, cases[i].partners);
		r.slow_percent = cases[i].percent;
		if (cases[i].tests) {
			r.follow += 10 - cases[i].tests;
			r.n_follow -= 10 - (size_t)cases[i].tests;
		}
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, !cases[i].none);
		if (v.n > 0) {
			expect_part(&v.findings[0].part, &gpu);
		}
		if (v.n > 0 && v.findings[0].fail != cases[i].fail) {
			fail_msg("case %zu", i);
		}
		verdict_release(&v);
		r.follow = NULL;
		run_release(&r);
	}
}

/** Every test between nodes once more, as it went. */
static void follow_as_it_was(struct run *r)
{
	static struct run_follow rows[64 * 64];

	r->follow = rows;
	for (size_t at = 0; at < run_n_cells(r); at++) {
		if (r->cells[at].class != CELL_UNPLANNED &&
		    r->cells[at].path == PATH_INTER) {
			rows[r->n_follow++] = (struct run_follow){
				.at = at, .attempt = 2, .outcome = OUTCOME_OK,
				.lat_us = 5, .bw_GB_s = r->cells[at].bw_GB_s,
			};
		}
	}
}

/** What may as well be the switch is no fault of a node. */
static void what_a_switch_may_be(void **state)
{
	static const struct {
		enum part_kind kind;
		int first, last, leaf_size;	/* nodes; 0: unknown */
		bool fail;
	} cases[] = {
		{ PART_NODE_NETWORK, 7, 7, 0, false },
		{ PART_NODE_NETWORK, 6, 6, 7, true },
		{ PART_NODE_NETWORK, 6, 7, 2, false },
		{ PART_NODE, 7, 7, 0, true },
		{ PART_NIC, 7, 7, 0, true },
		{ PART_NIC, 5, 7, 0, false },
		{ PART_NIC, 5, 7, 4, false },
		{ PART_NIC, 3, 5, 4, true },	/* two, and one */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_run(&r, 8, 8, 8);
		if (cases[i].leaf_size) {
			join_leaves(&r, cases[i].leaf_size);
		}
		for (int n = cases[i].first; n <= cases[i].last; n++) {
			const struct fake_fault f = { .kind = cases[i].kind,
						      .a = n, .b = 2 };

			fake_slow(&r, &f, 0.87);
		}
		follow_as_it_was(&r);
		assert_int_equal(verdict_compute(&r, &v), 0);
		if (v.n != (size_t)(1 + cases[i].last - cases[i].first)) {
			fail_msg("case %zu: %zu parts", i, v.n);
		}
		for (size_t k = 0; k < v.n; k++) {
			const struct finding *f = &v.findings[k];

			if (f->part.kind != cases[i].kind ||
			    f->fail != cases[i].fail ||
			    f->drain != cases[i].fail) {
				fail_msg("case %zu: %s", i, f->says);
			}
		}
		verdict_release(&v);
		r.follow = NULL;
		run_release(&r);
	}
}

/** Of ib: ranks are HCA ports, of which only those of a rail were tested with
 *  each other.  Those of nodes from @fast on carry twice as much. */
static void fake_ports(struct run *r, int nodes, int fast, bool rails)
{
	fake_run(r, nodes, 4, 4);
	r->ports = true;
	STR_COPY(r->probe, "ib");
	for (size_t at = 0; at < run_n_cells(r); at++) {
		const struct cluster_rank *s = &r->ranks[run_src(r, at)];
		const struct cluster_rank *d = &r->ranks[run_dst(r, at)];
		bool twice = s->node >= fast && d->node >= fast;
		struct cell *c = &r->cells[at];

		if (rails && (s->node == d->node || s->nic != d->nic)) {
			c->class = CELL_UNPLANNED;
			c->bw_GB_s = c->lat_us = NAN;
		}
		if (c->class != CELL_UNPLANNED) {
			c->path = PATH_INTER;
			c->expected_GB_s = twice ? 100 : 50;
			c->bw_GB_s = c->expected_GB_s *
				     (float)(0.96 + 0.02 *
					     hash_unit(3, at, 0, 0));
		}
		c->path = s->node == d->node ? PATH_INTRA : PATH_INTER;
	}
}

/** Ports are compared with those of their rate, whatever pairs were tested. */
static void ports_of_one_rate(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 3,
					       .b = 2 };
	static const struct {
		int nodes, fast;
		bool rails;
		double factor;
		size_t n;
	} cases[] = {
		{ 8, 8, true, 1, 0 },
		{ 8, 4, true, 1, 0 },
		{ 8, 4, false, 1, 0 },
		{ 8, 8, true, 0.95, 1 },
		{ 8, 8, false, 0.95, 1 },
		{ 12, 6, true, 0.95, 1 },
		{ 12, 2, false, 0.95, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct verdict v;
		struct run r;

		fake_ports(&r, cases[i].nodes, cases[i].fast, cases[i].rails);
		fake_slow(&r, &nic, cases[i].factor);
		assert_int_equal(levels_mark_slow(&r), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		if (v.n != cases[i].n) {
			fail_msg("case %zu: %zu parts", i, v.n);
		}
		if (v.n > 0) {
			assert_int_equal(v.findings[0].part.kind, PART_NIC);
			assert_int_equal(v.findings[0].part.node, nic.a);
			assert_int_equal(v.findings[0].part.index, nic.b);
			assert_int_equal(v.findings[0].n_or, 0);
			assert_false(v.findings[0].fail);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** Of rails one slow port is a partner of all that there are: two do not
 *  hide each other, nor does a test across rails that a follow-up made. */
static void two_slow_ports_of_few(void **state)
{
	static const struct fake_fault nics[] = {
		{ .kind = PART_NIC, .a = 1, .b = 2 },
		{ .kind = PART_NIC, .a = 4, .b = 0 },
	};
	struct verdict v;
	struct cell *c;
	struct run r;

	(void)state;
	fake_ports(&r, 6, 6, true);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		r.cells[at].expected_GB_s = NAN;
	}
	for (int i = 0; i < 2; i++) {
		fake_slow(&r, &nics[i], 0.85);
	}
	c = &r.cells[run_at(&r, 4 + 1, 8 + 2)];
	*c = r.cells[run_at(&r, 4 + 1, 8 + 1)];
	r.follow_only = calloc(run_n_cells(&r) + 1, 1);
	assert_non_null(r.follow_only);
	r.follow_only[run_at(&r, 4 + 1, 8 + 2)] = 1;
	assert_int_equal(levels_mark_slow(&r), 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(v.findings[i].part.kind, PART_NIC);
		assert_string_equal(v.findings[i].code, "slow");
	}
	verdict_release(&v);
	run_release(&r);
}

/** Where traffic between rails is slow as a whole, a part is judged by what is
 *  left: its own rail. */
static void a_slow_part_where_rails_do_not_meet(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 3,
					       .b = 5 };
	struct effects e;
	uint8_t *skip;
	struct run r;

	(void)state;
	fake_run(&r, 8, 8, 8);
	fake_slow(&r, &nic, 0.88);
	skip = calloc(run_n_cells(&r), 1);
	assert_non_null(skip);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		skip[at] = r.cells[at].path == PATH_INTER &&
			   r.ranks[run_src(&r, at)].nic !=
				   r.ranks[run_dst(&r, at)].nic;
	}
	assert_int_equal(effects_find(&r, skip, EFFECTS_BANDWIDTH, LEAST, &e),
			 0);
	assert_int_equal(e.n, 1);
	expect_part(&e.list[0].part, &nic);
	effects_release(&e);
	free(skip);
	run_release(&r);
}

/** One rail of four has 44 % of the tests between nodes.  The MAD of all tests
 *  is that of two levels, and is not taken for noise. */
static void a_slow_rail_of_four(void **state)
{
	static const struct fake_fault rail = { .kind = PART_RAIL, .a = 2 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 8, 4, 4);
	for (size_t at = 0; at < run_n_cells(&r); at++) {
		r.cells[at].expected_GB_s = NAN;
		r.cells[at].bw_GB_s *= (float)(0.93 + 0.14 *
					       hash_unit(5, at, 0, 0));
	}
	fake_slow(&r, &rail, 0.65);
	assert_int_equal(levels_mark_slow(&r), 0);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_RAIL);
	assert_int_equal(v.findings[0].part.index, rail.a);
	verdict_release(&v);
	run_release(&r);
}

/** A port that is below what its line carries in most tests is so, and needs no
 *  second look; one that is so in a few is a little slow. */
static void ports_below_their_line(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 3,
					       .b = 2 };

	(void)state;
	for (int most = 0; most < 2; most++) {
		struct verdict v;
		struct run r;

		fake_ports(&r, 8, 8, true);
		fake_slow(&r, &nic, most ? 0.88 : 0.935);
		assert_int_equal(levels_mark_slow(&r), 0);
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.findings[0].part.kind, PART_NIC);
		assert_int_equal(v.findings[0].fail, most);
		assert_true((strstr(v.findings[0].says, "than its peers") !=
			     NULL) == !most);
		if (!most) {
			assert_true(v.cells[CELL_SLOW] > 0);
			assert_int_equal(v.findings[0].explained,
					 v.cells[CELL_SLOW]);
		}
		verdict_release(&v);
		run_release(&r);
	}
}

/** Of four nodes one is slow: what only two others show of a NIC may be what
 *  leads to these, and is no fault yet. */
static void what_two_partners_show(void **state)
{
	static const struct fake_fault parts[] = {
		{ .kind = PART_NODE, .a = 2 },
		{ .kind = PART_NIC, .a = 1, .b = 3 },
	};
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 4, 8, 8);
	slow_least(&r, parts, 2, 0.85F);
	follow_as_it_was(&r);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 2);
	for (size_t i = 0; i < v.n; i++) {
		expect_part(&v.findings[i].part, &parts[i]);
		assert_int_equal(v.findings[i].fail, i == 0);
	}
	verdict_release(&v);
	r.follow = NULL;
	run_release(&r);
}

/** Half of one of three nodes: two partners name its socket, as a warning. */
static void half_of_one_of_three_nodes(void **state)
{
	static const struct fake_fault nics[] = {
		{ .kind = PART_NIC, .a = 1, .b = 4 },
		{ .kind = PART_NIC, .a = 1, .b = 5 },
		{ .kind = PART_NIC, .a = 1, .b = 6 },
		{ .kind = PART_NIC, .a = 1, .b = 7 },
	};
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 3, 8, 8);
	slow_least(&r, nics, 4, 0.85F);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.findings[0].part.kind, PART_SOCKET);
	assert_int_equal(v.findings[0].part.node, 1);
	assert_int_equal(v.findings[0].part.index, 1);
	assert_false(v.findings[0].fail);
	verdict_release(&v);
	run_release(&r);
}

/** The second look at a slow port is with others of its rate, and what is
 *  beside it of another one. */
static void ports_are_confirmed(void **state)
{
	static const struct fake_fault nic = { .kind = PART_NIC, .a = 3,
					       .b = 2 };

	(void)state;
	for (int again = 0; again < 2; again++) {
		struct run_follow rows[20];
		struct verdict v;
		struct run r;

		fake_ports(&r, 12, 6, true);
		for (size_t at = 0; at < run_n_cells(&r); at++) {
			r.cells[at].expected_GB_s *= 0.8F;
		}
		fake_slow(&r, &nic, 0.88);
		for (int i = 0; i < 20; i++) {
			int src = i < 10 ? 3 * 4 + 2 : (6 + i % 3) * 4 + i % 4;
			int dst = i < 10 ? (4 + i % 5) * 4 + 2 :
					   (9 + i % 3) * 4 + i % 4;
			double line = i < 10 ? 50 : 100;

			rows[i] = (struct run_follow){
				.at = run_at(&r, src, dst), .attempt = 2,
				.outcome = OUTCOME_OK, .lat_us = 5,
				.bw_GB_s = (float)(0.97 * line *
					(i < 10 && again ? 0.88 : 1)),
			};
		}
		r.follow = rows;
		r.n_follow = 20;
		assert_int_equal(verdict_compute(&r, &v), 0);
		assert_int_equal(v.n, 1);
		assert_int_equal(v.findings[0].part.kind, PART_NIC);
		assert_int_equal(v.findings[0].fail, again);
		verdict_release(&v);
		r.follow = NULL;
		run_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_by_its_size),
		cmocka_unit_test(each_part_of_a_sample),
		cmocka_unit_test(who_is_not_accused),
		cmocka_unit_test(what_a_slow_node_hides),
		cmocka_unit_test(a_node_alone_on_its_switch),
		cmocka_unit_test(a_moment_of_a_node),
		cmocka_unit_test(what_is_built_so),
		cmocka_unit_test(what_nics_have_in_common),
		cmocka_unit_test(what_lies_between_switches),
		cmocka_unit_test(nodes_that_are_apart),
		cmocka_unit_test(cells_that_do_not_count),
		cmocka_unit_test(small_ones_are_warnings),
		cmocka_unit_test(ranks_of_a_nic),
		cmocka_unit_test(what_they_explain),
		cmocka_unit_test(late_on_a_small_switch),
		cmocka_unit_test(late_parts),
		cmocka_unit_test(nvlinks_or_all_of_the_gpu),
		cmocka_unit_test(what_is_confirmed),
		cmocka_unit_test(what_a_switch_may_be),
		cmocka_unit_test(ports_of_one_rate),
		cmocka_unit_test(two_slow_ports_of_few),
		cmocka_unit_test(a_slow_part_where_rails_do_not_meet),
		cmocka_unit_test(a_slow_rail_of_four),
		cmocka_unit_test(ports_below_their_line),
		cmocka_unit_test(what_two_partners_show),
		cmocka_unit_test(half_of_one_of_three_nodes),
		cmocka_unit_test(ports_are_confirmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
