/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/data/json.h"
#include "probes/plan/ask.h"
#include "probes/plan/plan.h"
#include "tests/layout.h"

enum { ALL = 3, INTER = 2, RAIL = 6, NOTHING = 0 };

/** What is measured already, and what was chosen. */
struct scene {
	struct grid g;
	struct layout l;
	struct cell *cells;
	struct ask_plan a;
	struct str tasks;
	int lost;		/* a rank that does not work; -1 */
	size_t queued, ordered;
	int first, last;	/* attempts */
};

static bool works(void *ctx, int rank)
{
	return ((struct scene *)ctx)->lost != rank;
}

static int queue(void *ctx, const struct task *t)
{
	static const char *const arrows[] = { "", ">", "<", "-" };
	struct scene *s = ctx;

	assert_true(t->a < t->b && t->b < s->l.n_ranks && t->attempt >= 1);
	str_addf(&s->tasks, "%s%d%s%d", s->tasks.len > 0 ? " " : "", t->a,
		 arrows[t->dirs], t->b);
	s->first = s->queued++ == 0 ? t->attempt : s->first;
	s->last = t->attempt;
	s->ordered += t->dirs == 3 ? 2 : 1;
	return 0;
}

static const struct retry_ops ops = { .works = works, .queue = queue };

/** Some tests of eight ranks or more. */
static bool is_slow(int src, int dst)
{
	static const int slow[][2] = { { 2, 4 }, { 2, 7 }, { 5, 0 } };

	for (size_t i = 0; i < sizeof(slow) / sizeof(*slow); i++) {
		if (src == slow[i][0] && dst == slow[i][1]) {
			return true;
		}
	}
	return false;
}

static void open_scene(struct scene *s, int nodes, int gpus, int nics, int all)
{
	size_t n;

	*s = (struct scene){ .lost = -1 };
	assert_int_equal(layout_init(&s->l, nodes), 0);
	for (int i = 0; i < nodes; i++) {
		snprintf(s->l.nodes[i].name, sizeof(s->l.nodes[i].name), "n%d",
			 i);
		s->l.nodes[i].gpus = gpus;
		s->l.nodes[i].nics = nics;
	}
	assert_int_equal(layout_number(&s->l), 0);
	n = (size_t)s->l.n_ranks;
	s->cells = calloc(n * n, sizeof(*s->cells));
	assert_non_null(s->cells);
	for (size_t at = 0; at < n * n; at++) {
		int x = (int)(at / n), y = (int)(at % n);
		bool same = layout_same_node(&s->l, x, y);
		bool planned = x != y && (same ? all & 1 : all & 2) &&
			       !(all & 4 && plan_crosses(&s->l, x, y));

		s->cells[at].class = !planned ? CELL_UNPLANNED :
				     is_slow(x, y) ? CELL_SLOW : CELL_PASS;
		s->cells[at].attempt = planned;
	}
	s->l.grid = s->g = grid_square(s->l.n_ranks);
	s->l.cells = s->cells;
	assert_int_equal(ask_init(&s->a, &s->l), 0);
}

static void close_scene(struct scene *s)
{
	ask_release(&s->a);
	str_release(&s->tasks);
	free(s->cells);
	layout_release(&s->l);
}

static int take(struct scene *s, const char *findings, struct err *e)
{
	struct str text = STR_INIT;
	json_t *json;
	int rc;

	str_addf(&text, "{\"findings\":[%s]}", findings);
	json = json_parse(str_text(&text), text.len, NULL);
	assert_non_null(json);
	rc = ask_take(&s->a, json, e);
	json_decref(json);
	str_release(&text);
	return rc;
}

#define PART(kind, node, index) \
	"{\"kind\":\"" kind "\",\"node\":\"" node "\",\"index\":" #index "}"
#define FINDING(kind, node, index, more) \
	"{\"kind\":\"" kind "\",\"node\":\"" node "\",\"index\":" #index \
	",\"severity\":\"fail\",\"code\":\"drill_dead\"" more "}"
#define LITTLE(kind, node, index, more) \
	"{\"kind\":\"" kind "\",\"node\":\"" node "\",\"index\":" #index \
	",\"severity\":\"warn\",\"code\":\"slow\"" more "}"
#define OR(part) ",\"or\":[" part "]"

#define SLOW(kind, node, more, cells, explained) \
	"{\"kind\":\"" kind "\",\"node\":" node "," more "\"severity\":" \
	"\"fail\",\"code\":\"slow\",\"cells\":" #cells ",\"explained\":" \
	#explained "}"
#define LEAF_A "\"members\":[\"n0\",\"n1\"],"
#define LEAF_B "\"peer_members\":[\"n2\",\"n3\"],"

/** Each situation, and the tests that it asks for, rank by rank. */
static const struct situation {
	const char *what;
	int nodes, gpus, nics, measured;
	const char *findings, *tasks;
} situations[] = {
	{ "nothing is suspected", 4, 2, 2, ALL, "", "" },
	{ "what is certain is not asked again", 4, 2, 2, ALL,
	  FINDING("gpu", "n1", 0, ""), "" },
	{ "GPU or its NIC, when nothing was tested inside nodes: that", 4, 4, 4,
	  INTER, FINDING("nic", "n1", 0, OR(PART("gpu", "n1", 0))),
	  "4-5 4-6" },
	{ "the same, of what is sent", 4, 4, 4, INTER,
	  FINDING("nic", "n1", 0, ",\"direction\":\"tx\",\"or\":[{\"kind\":"
	  "\"gpu\",\"node\":\"n1\",\"index\":0,\"direction\":\"tx\"}]"),
	  "4>5 4>6 4>7" },
	{ "a GPU that is suspected by itself is no partner", 4, 4, 4, INTER,
	  FINDING("nic", "n1", 0, OR(PART("gpu", "n1", 0))) ","
	  FINDING("gpu", "n1", 1, ""), "4-6 4-7" },
	{ "GPU or the NIC that it shares: another GPU of that, too", 3, 4, 2,
	  NOTHING, FINDING("nic", "n1", 0, OR(PART("gpu", "n1", 0))),
	  "5-9 1-5 4-5 4-6" },
	{ "one node or the other: each with a third", 4, 1, 1, NOTHING,
	  FINDING("node", "n1", -1, OR(PART("node", "n2", -1))),
	  "1-3 0-1 2-3 0-2" },
	{ "two nodes and nobody else: nothing can tell", 2, 1, 1, ALL,
	  FINDING("node", "n0", -1, OR(PART("node", "n1", -1))), "" },
	{ "no two rails, one node each: what was measured says no more", 4, 1,
	  1, ALL, FINDING("node", "n1", -1,
			  OR(PART("nic", "n1", 0) "," PART("gpu", "n1", 0))),
	  "" },
	{ "a little slow: partners in turn, and pairs beside it", 5, 2, 2, ALL,
	  LITTLE("nic", "n1", 0, ""),
	  "2-4 2-6 2-8 0-2 5-9 4-8 1-9 4-6" },
	{ "a link has one partner", 4, 2, 2, ALL,
	  "{\"kind\":\"node_pair\",\"node\":\"n0\",\"peer_node\":\"n1\","
	  "\"severity\":\"warn\",\"code\":\"slow\"}",
	  "0-2 1-3 0-2 1-3 2-4 1-5 0-6 3-5" },
	{ "a little slow, and proved already", 5, 2, 2, ALL,
	  FINDING("nic", "n1", 0, ""), "" },
	{ "a socket: its GPUs with other nodes, and pairs beside it", 4, 4, 4,
	  ALL, SLOW("socket", "\"n1\"", "\"index\":1,", 48, 48),
	  "6-10 7-15 2-6 7-11 4-8 1-9 10-14 3-4" },
	{ "two cables: on their own rails", 4, 4, 4, ALL,
	  SLOW("cable_swap", "\"n1\"", "\"index\":0,\"peer_index\":2,", 12,
	       12), "4-8 6-14 0-4 6-10 4-9 1-9 10-14 3-7" },
	{ "a rail on a leaf switch: with other leaf switches as well", 4, 2, 2,
	  ALL, SLOW("rail_leaf", "null", "\"index\":1," LEAF_A, 20, 20),
	  "1-3 3-7 1-7 3-5 2-4 0-5 0-6 2-6" },
	{ "all between two leaf switches", 6, 2, 2, ALL,
	  SLOW("leaf_pair", "null", LEAF_A LEAF_B, 32, 32),
	  "1-5 2-6 2-4 3-7 5-9 2-8 7-11 0-2" },
	{ "what leaves a switch", 4, 2, 2, ALL,
	  SLOW("switch", "null", "\"uplinks\":true," LEAF_A, 32, 32),
	  "1-5 3-5 0-4 1-7 4-6 0-2 5-7 1-3" },
	{ "paths between two: the slow ones again", 4, 2, 2, ALL,
	  SLOW("fabric_path", "null", LEAF_A LEAF_B, 32, 3),
	  "0<5 2>4 2>7 0<5 2>4 2>7 0<5 2>4" },
	{ "paths between any switches, nobody knows which", 4, 2, 2, ALL,
	  SLOW("fabric_path", "null", "", 48, 3),
	  "2>7 2>7 0<5 0<5 2>4 2>4 2>7 2>7" },
	{ "a switch without its nodes is none to ask", 4, 2, 2, ALL,
	  SLOW("leaf_pair", "null", LEAF_A, 32, 32), "" },
	{ "some tests of a NIC: these again", 4, 2, 2, ALL,
	  SLOW("nic", "\"n1\"", "\"index\":0,", 12, 3),
	  "2>4 2>7 2>4 2>7 2>4 2>7 2>4 2>7" },
	{ "two of which some tests were slow do not keep each other from it",
	  4, 2, 2, ALL, SLOW("node", "\"n1\"", "", 28, 2) ","
	  SLOW("nic", "\"n2\"", "\"index\":0,", 12, 1),
	  "2>4 2>7 2>4 2>7 2>4 2>7 2>4 2>7 2>4 2>4 2>4 2>4" },
	{ "a part that this planner does not know: its node is no partner", 3,
	  2, 2, INTER, FINDING("nic", "n0", 0, OR(PART("gpu", "n0", 0))) ","
	  FINDING("quantum_link", "n0", 1, ""), "" },
	{ "no node of that name", 3, 2, 2, INTER,
	  FINDING("nic", "n9", 0, OR(PART("gpu", "n9", 0))), "" },
};

static void situations_ask_for_tests(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(situations) / sizeof(*situations); i++) {
		const struct situation *x = &situations[i];
		struct str wanted = STR_INIT;
		struct scene s;
		size_t n;

		open_scene(&s, x->nodes, x->gpus, x->nics, x->measured);
		assert_int_equal(take(&s, x->findings, NULL), 0);
		n = ask_next(&s.a, 100, &ops, &s);
		assert_int_equal(n, s.queued);
		/* as nobody says more, nobody is asked again */
		str_add(&s.tasks, ";");
		ask_next(&s.a, 100, &ops, &s);
		str_addf(&wanted, "%s;", x->tasks);
		if (strcmp(str_text(&s.tasks), str_text(&wanted)) != 0) {
			fprintf(stderr, "# %s: \"%s\", not \"%s\"\n", x->what,
				    str_text(&s.tasks), str_text(&wanted));
			bad++;
		}
		str_release(&wanted);
		close_scene(&s);
	}
	assert_int_equal(bad, 0);
}

/** Tests of what was chosen: of @rank, inside its node and not, and as it sends
 *  and receives. */
struct shares {
	int inside, between, sent, received, others;
};

static struct shares share_out(const struct scene *s, int rank)
{
	const char *at = str_text(&s->tasks);
	struct shares sum = { 0 };
	int a, b, n;
	char arrow;

	while (sscanf(at, "%d%c%d%n", &a, &arrow, &b, &n) == 3) {
		bool out = arrow != '<', back = arrow != '>', own = a == rank;
		int tests = out + back;

		at += n;
		if (a != rank && b != rank) {
			sum.others += tests;
			continue;
		}
		sum.sent += own ? out : back;
		sum.received += own ? back : out;
		*(layout_same_node(&s->l, a, b) ? &sum.inside :
						  &sum.between) += tests;
	}
	return sum;
}

#define RARE(kind, node, index, failed, tests, more) \
	"{\"kind\":\"" kind "\",\"node\":\"" node "\",\"index\":" #index \
	",\"severity\":\"fail\",\"code\":\"flaky\",\"cells\":" #tests \
	",\"explained\":" #failed more "}"

/** Tests inside an NVLink domain say nothing of a NIC: of four nodes in two
 *  domains a dead NIC's suspects are told apart, and a slow one is seen again,
 *  between domains alone, also where a cell of the domain has failed. */
static void a_nic_is_asked_outside_its_domain(void **state)
{
	static const char *const findings[] = {
		FINDING("nic", "n1", 0, OR(PART("node", "n1", -1))),
		LITTLE("nic", "n1", 0, ""),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(findings) / sizeof(*findings); i++) {
		struct scene s;
		int tests = 0;

		open_scene(&s, 4, 2, 2, i == 0 ? NOTHING : ALL);
		for (size_t at = 0; at < s.g.n; at++) {
			int from = s.l.ranks[grid_src(&s.g, at)].node;
			int to = s.l.ranks[grid_dst(&s.g, at)].node;

			s.cells[at].path = from == to ? PATH_INTRA :
					   from / 2 == to / 2 ? PATH_NVLINK :
								PATH_INTER;
		}
		s.cells[grid_at(&s.g, 2, 0)].path = PATH_INTER;
		s.cells[grid_at(&s.g, 2, 0)].class = CELL_FAIL;
		assert_int_equal(take(&s, findings[i], NULL), 0);
		assert_int_equal(s.l.n_domains, 2);
		assert_true(ask_next(&s.a, 100, &ops, &s) > 0);
		for (int y = 0; y < 8; y++) {
			bool domain = y < 2;	/* with the NIC's node */
			int asked = ask_times(&s.a, 2, y) +
				    ask_times(&s.a, y, 2);

			/* to tell the node from the NIC, that is what does */
			assert_true(i == 0 || !domain || asked == 0);
			tests += domain == (i == 0) ? asked : 0;
		}
		/* nor is it compared with any */
		for (size_t at = 0; i > 0 && at < s.g.n; at++) {
			assert_true(s.cells[at].path != PATH_NVLINK ||
				    ask_times(&s.a, grid_src(&s.g, at),
					      grid_dst(&s.g, at)) == 0);
		}
		assert_true(tests > 0);
		close_scene(&s);
	}
}

/** A part that fails now and then: is it the GPU or the NIC, and in which
 *  direction?  What fails one time in ten takes 69 tests to see. */
static void what_is_rare_is_asked_often(void **state)
{
	static const struct {
		const char *finding;
		int nics;
		struct shares least;
	} cases[] = {
		{ RARE("nic", "n1", 0, 10, 100, ""), 4,
		  { .inside = 69, .sent = 69, .received = 69 } },
		{ RARE("gpu", "n1", 0, 10, 100, ""), 4,
		  { .inside = 69, .sent = 69, .received = 69 } },
		/* what was chosen as it failed 9 fails less than that */
		{ RARE("gpu", "n1", 0, 9, 60, ""), 4,
		  { .inside = 69, .sent = 69, .received = 69 } },
		{ RARE("gpu", "n1", 0, 40, 100, ""), 4,
		  { .inside = 18, .sent = 18, .received = 18 } },
		/* of 20 tests a third may be half */
		{ RARE("nic", "n1", 0, 10, 20, ""), 4,
		  { .inside = 21, .sent = 21, .received = 21 } },
		{ RARE("nic", "n1", 0, 6, 11, ",\"direction\":\"rx\""), 4,
		  { .sent = 21 } },
		{ RARE("gpu", "n1", 0, 10, 100, ",\"direction\":\"tx\""), 4,
		  { .received = 69 } },
		/* of two at a NIC each has its share */
		{ RARE("nic", "n1", 0, 10, 100, ",\"direction\":\"tx\""), 2,
		  { .between = 34, .received = 34 } },
		{ RARE("node", "n1", -1, 10, 100, ""), 4, { .inside = 10 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct shares x, least = cases[i].least;
		struct scene s;

		open_scene(&s, 4, 4, cases[i].nics, ALL);
		/* what failed is not asked, as that would be of others */
		s.cells[4 * 16 + 5].class = CELL_FAIL;
		assert_int_equal(take(&s, cases[i].finding, NULL), 0);
		ask_next(&s.a, 1000, &ops, &s);
		x = share_out(&s, 4);
		assert_true(x.inside >= least.inside);
		assert_true(x.between >= least.between);
		assert_true(x.sent >= least.sent);
		assert_true(x.received >= least.received);
		assert_null(strstr(str_text(&s.tasks), "4-5"));
		assert_null(strstr(str_text(&s.tasks), "4>5"));
		/* no more the second time */
		assert_int_equal(ask_next(&s.a, 1000, &ops, &s), 0);
		close_scene(&s);
	}
}

/** As long as a verdict leaves two open, there are more, up to a limit. */
static void what_stays_open_is_asked_on(void **state)
{
	int tests[6] = { 0 };
	struct scene s;

	(void)state;
	open_scene(&s, 4, 4, 4, ALL);
	for (int i = 0; i < 6; i++) {
		size_t before = s.ordered;

		assert_int_equal(take(&s, RARE("nic", "n1", 0, 10, 40,
					       OR(PART("gpu", "n1", 0))),
				      NULL), 0);
		ask_next(&s.a, 1000, &ops, &s);
		tests[i] = (int)(s.ordered - before);
	}
	assert_true(tests[0] > 21 && tests[1] > 9 && tests[3] > 9);
	assert_true(share_out(&s, 4).inside >= 4 * 28);
	assert_int_equal(tests[5], 0);
	close_scene(&s);
}

#define PAIR(a, i, b, k, severity, code) \
	"{\"kind\":\"pair\",\"node\":\"" a "\",\"index\":" #i \
	",\"peer_node\":\"" b "\",\"peer_index\":" #k ",\"severity\":\"" \
	severity "\",\"code\":\"" code "\",\"cells\":1,\"explained\":1}"

static void fail_cell(struct scene *s, int src, int dst, enum outcome o)
{
	struct cell *c = &s->cells[grid_at(&s->g, src, dst)];

	c->class = CELL_FAIL;
	c->outcome = (uint8_t)o;
}

/** What failed and nobody tried again is tried again, some of each GPU. */
static void what_failed_is_tried_again(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 4, 2, 2, ALL);
	fail_cell(&s, 0, 3, OUTCOME_ERROR);
	fail_cell(&s, 3, 5, OUTCOME_CRASHED);
	fail_cell(&s, 6, 1, OUTCOME_TIMEOUT);
	s.cells[grid_at(&s.g, 6, 1)].attempt = 2;
	assert_int_equal(take(&s, PAIR("n0", 0, "n1", 1, "fail", "no_route") ","
			      PAIR("n1", 1, "n2", 1, "fail", "crash") ","
			      PAIR("n3", 0, "n0", 1, "fail", "timeout"), NULL),
			 0);
	s.a.n_guesses = 0;
	ask_next(&s.a, 100, &ops, &s);
	assert_string_equal(str_text(&s.tasks), "0>3");
	close_scene(&s);

	/* many with nothing in common: four of a GPU, 16 of all */
	open_scene(&s, 9, 2, 2, ALL);
	for (int i = 0; i < 9; i++) {
		fail_cell(&s, 2, 3 + i, OUTCOME_ERROR);
		fail_cell(&s, 4 + i, 3, OUTCOME_ERROR);
		fail_cell(&s, 5 + i, 0, OUTCOME_ERROR);
		fail_cell(&s, 1, 6 + i, OUTCOME_ERROR);
		fail_cell(&s, 17, 6 + i, OUTCOME_ERROR);
	}
	assert_int_equal(take(&s, "{\"kind\":\"inter_node\",\"severity\":"
			      "\"fail\",\"code\":\"error\",\"cells\":288,"
			      "\"explained\":45}", NULL), 0);
	assert_int_equal(ask_next(&s.a, 100, &ops, &s), 16);
	assert_int_equal(share_out(&s, 1).sent, 4);
	assert_int_equal(share_out(&s, 2).sent, 4);
	assert_int_equal(ask_next(&s.a, 100, &ops, &s), 0);
	close_scene(&s);
}

/** A pair that is slow may be so by chance: it is seen again, between nodes or
 *  inside one, beside others. */
static void a_lone_pair_is_seen_again(void **state)
{
	static const struct {
		const char *pair;
		struct shares least;
	} cases[] = {
		{ PAIR("n1", 0, "n2", 1, "fail", "slow"),
		  { .between = 8, .sent = 4, .received = 4, .others = 6 } },
		{ PAIR("n1", 0, "n1", 1, "fail", "slow"),
		  { .inside = 8, .sent = 4, .received = 4, .others = 6 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct shares *least = &cases[i].least;
		struct shares x;
		struct scene s;

		open_scene(&s, 4, 2, 2, ALL);
		assert_int_equal(take(&s, cases[i].pair, NULL), 0);
		ask_next(&s.a, 100, &ops, &s);
		x = share_out(&s, 2);
		assert_true(x.inside >= least->inside);
		assert_true(x.between >= least->between);
		assert_true(x.sent >= least->sent);
		assert_true(x.received >= least->received);
		assert_true(x.others >= least->others);
		assert_int_equal(ask_next(&s.a, 100, &ops, &s), 0);
		close_scene(&s);
	}
}

/** What the follow-up itself saw fail is tried again as well, once. */
static void what_it_saw_fail_is_tried_again(void **state)
{
	static const char finding[] = "{\"kind\":\"nic\",\"node\":\"n1\","
		"\"index\":0,\"severity\":\"fail\",\"code\":\"no_route\","
		"\"cells\":20,\"explained\":5}";
	struct scene s;
	int failed = 0;

	(void)state;
	open_scene(&s, 40, 2, 2, ALL);
	assert_int_equal(take(&s, finding, NULL), 0);
	assert_true(ask_next(&s.a, 1000, &ops, &s) > 0);
	ask_hear(&s.a, 0, 7, OUTCOME_ERROR);	/* nobody asked for it */
	for (size_t i = 0; i < s.a.n_asked; i++) {
		const struct ask_test *t = &s.a.asked[i];
		bool one = t->src == 2 && t->times == 1 && failed < 6;

		failed += one;
		ask_hear(&s.a, t->src, t->dst,
			 one ? OUTCOME_ERROR : OUTCOME_OK);
	}
	assert_int_equal(failed, 6);
	str_release(&s.tasks);
	assert_int_equal(take(&s, finding, NULL), 0);
	assert_int_equal(ask_next(&s.a, 1000, &ops, &s), 6);
	assert_int_equal(share_out(&s, 2).sent, 6);
	assert_int_equal(s.last, 3);	/* as it was planned */
	assert_int_equal(ask_next(&s.a, 1000, &ops, &s), 0);
	close_scene(&s);
}

/** Of the few tests of a sample one that failed may be a third. */
static void a_lone_pair_of_a_sample_is_looked_at(void **state)
{
	struct grid_pair planned[] = { { 0, 3 }, { 3, 0 } };
	struct cell cells[3] = { { .class = CELL_PASS, .attempt = 1 },
				 { .class = CELL_FAIL, .attempt = 2 },
				 { .class = CELL_UNPLANNED } };
	struct ask_plan whole;
	struct scene s;

	(void)state;
	open_scene(&s, 6, 2, 2, ALL);
	whole = s.a;
	assert_int_equal(grid_of(&s.g, s.l.n_ranks, planned, 2), 0);
	s.l.grid = s.g;
	s.l.cells = cells;
	assert_int_equal(ask_init(&s.a, &s.l), 0);
	assert_int_equal(take(&s, PAIR("n0", 0, "n1", 1, "fail", "error"),
			      NULL), 0);
	ask_next(&s.a, 1000, &ops, &s);
	assert_true(share_out(&s, 0).between >= 21);
	assert_true(share_out(&s, 3).between >= 21);
	assert_true(share_out(&s, 0).between < 69);
	ask_release(&whole);
	grid_release(&s.g);
	close_scene(&s);
}

/** How many partners between nodes @rank was tested with. */
static int partners_of(const struct scene *s, int rank)
{
	int n = 0;

	for (int i = 0; i < s->l.n_ranks; i++) {
		n += !layout_same_node(&s->l, rank, i) &&
		     ask_times(&s->a, rank, i) > 0;
	}
	return n;
}

/** A pair failed once: is it one of its ends?  All of what one of them fails
 *  may be a test in fifty. */
static void a_pair_that_failed_is_looked_at(void **state)
{
	static const char pair[] = PAIR("n0", 0, "n1", 1, "warn", "flaky");
	struct shares x;
	struct scene s;

	(void)state;
	open_scene(&s, 4, 2, 2, ALL);
	assert_int_equal(take(&s, pair, NULL), 0);
	assert_int_equal(s.a.n_guesses, 4);	/* two GPUs, and their NICs */
	ask_next(&s.a, 1000, &ops, &s);
	for (int rank = 0; rank < 4; rank += 3) {
		x = share_out(&s, rank);
		assert_true(x.between >= 69 && x.between <= 71);
		assert_int_equal(partners_of(&s, rank), 5); /* the others */
	}
	/* no more, unless one of them failed; of what is asked often as well */
	assert_int_equal(take(&s, pair, NULL), 0);
	assert_int_equal(ask_next(&s.a, 1000, &ops, &s), 0);
	assert_true(ask_times(&s.a, 0, 4) > 1);
	ask_hear(&s.a, 0, 4, OUTCOME_ERROR);
	assert_int_equal(take(&s, pair, NULL), 0);
	ask_next(&s.a, 1000, &ops, &s);
	assert_in_range(share_out(&s, 0).between, 138, 140);
	assert_true(share_out(&s, 3).between <= 71);
	close_scene(&s);
}

/** Two pairs that failed once have a GPU in common: is it that? */
static void what_pairs_have_in_common_is_asked(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, 4, 2, 2, ALL);
	assert_int_equal(take(&s, PAIR("n0", 0, "n1", 1, "warn", "flaky") ","
			      PAIR("n2", 0, "n0", 0, "warn", "flaky"), NULL),
			 0);
	ask_next(&s.a, 1000, &ops, &s);
	assert_in_range(share_out(&s, 0).between, 138, 140);
	assert_in_range(share_out(&s, 3).between, 69, 100);
	close_scene(&s);

	/* of ranks that are none, nothing is asked */
	open_scene(&s, 4, 2, 2, ALL);
	assert_int_equal(take(&s, PAIR("n0", 9, "n1", 1, "warn", "flaky") ","
			      PAIR("n2", 0, "n0", 9, "warn", "flaky"), NULL),
			 0);
	assert_int_equal(ask_next(&s.a, 1000, &ops, &s), 0);
	close_scene(&s);
}

/** Where ranks are HCA ports a NIC is all of one, inside its node as well, and
 *  no GPU is anything else. */
static void a_port_is_a_nic(void **state)
{
	struct shares x;
	struct scene s;

	(void)state;
	open_scene(&s, 4, 4, 4, ALL);
	s.a.ports = true;
	assert_int_equal(take(&s, RARE("nic", "n1", 0, 10, 100, ""), NULL), 0);
	for (int i = 0; i < s.a.list[0].n; i++) {
		assert_int_equal(s.a.list[0].parts[i].kind, PART_GPU);
	}
	assert_int_equal(s.a.list[0].n, 3);	/* both ways, and each */
	ask_next(&s.a, 1000, &ops, &s);
	x = share_out(&s, 4);
	assert_true(x.inside > 0 && x.sent >= 69 && x.received >= 69);
	close_scene(&s);

	open_scene(&s, 4, 2, 2, ALL);
	s.a.ports = true;
	assert_int_equal(take(&s, PAIR("n0", 0, "n1", 1, "warn", "flaky") ","
			      PAIR("n2", 0, "n0", 0, "warn", "flaky"), NULL),
			 0);
	assert_int_equal(s.a.n_guesses, 3);	/* no GPU */
	close_scene(&s);

	/* port or node, of which one pair was tested: another port of it */
	open_scene(&s, 4, 2, 2, NOTHING);
	s.a.ports = s.a.rails_apart = true;
	assert_int_equal(take(&s, FINDING("nic", "n1", 0,
					  OR(PART("node", "n1", -1))), NULL),
			 0);
	ask_next(&s.a, 100, &ops, &s);
	assert_string_equal(str_text(&s.tasks), "3-5 3-7");
	close_scene(&s);
}

static int draw(uint64_t seed, int what, int below)
{
	return (int)(hash_mix(seed, (uint64_t)what, 0, 0) % (uint64_t)below);
}

/** A few convicted nodes, and findings that are open about others. */
static void draw_findings(uint64_t seed, int nodes, int gpus, bool *convicted,
			  struct str *out)
{
	static const char *const kinds[] = { "gpu", "nic", "node",
					     "node_network", "gpu_nvlink" };

	for (int i = 0; i < nodes; i++) {
		int lot = draw(seed, 100 + i, 8);

		convicted[i] = lot == 0;
		if (lot > 2) {
			continue;
		}
		str_addf(out, "%s{\"kind\":\"%s\",\"node\":\"n%d\",\"index\":%d,"
			 "\"severity\":\"%s\",\"code\":\"slow\"",
			 out->len > 0 ? "," : "",
			 lot == 0 ? "node" : kinds[draw(seed, 200 + i, 5)], i,
			 draw(seed, 300 + i, gpus), lot == 2 ? "warn" : "fail");
		if (lot == 1) {
			str_addf(out, ",\"or\":[{\"kind\":\"%s\",\"node\":"
				 "\"n%d\",\"index\":%d}]",
				 kinds[draw(seed, 400 + i, 5)], i,
				 draw(seed, 500 + i, gpus));
		}
		str_add(out, "}");
	}
}

#define PROPERTY_SEEDS 300
#define PROPERTY_NODES 9

static void check_ends(const struct scene *s, const bool *convicted)
{
	const char *at = str_text(&s->tasks);
	int n;

	while (sscanf(at, "%*[ ]%n", &n) == 0 && *at != '\0') {
		char *end;
		long rank = strtol(at + (*at < '0' || *at > '9'), &end, 10);

		assert_true(rank >= 0 && rank < s->l.n_ranks);
		assert_int_not_equal(rank, s->lost);
		assert_false(convicted[s->l.ranks[rank].node]);
		at = end;
	}
}

static void any_plan_is_sound(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < PROPERTY_SEEDS; seed++) {
		int nodes = 1 + draw(seed, 1, PROPERTY_NODES);
		int gpus = 1 + draw(seed, 2, 8), max = 1 + draw(seed, 3, 60);
		int nics = 1 + draw(seed, 4, gpus);
		bool convicted[PROPERTY_NODES];
		struct str findings = STR_INIT;
		struct scene s[2];

		draw_findings(seed, nodes, gpus, convicted, &findings);
		for (int i = 0; i < 2; i++) {
			size_t n, rounds = 0;

			open_scene(&s[i], nodes, gpus, nics,
				   draw(seed, 5, 2) ? INTER : ALL);
			s[i].lost = draw(seed, 6, nodes * gpus);
			assert_int_equal(take(&s[i], str_text(&findings),
					      NULL), 0);
			do {
				size_t before = s[i].queued;

				n = ask_next(&s[i].a, (size_t)max, &ops,
					     &s[i]);
				assert_true(n <= (size_t)max);
				assert_int_equal(n, s[i].queued - before);
			} while (n > 0 && ++rounds < 1000);
			assert_int_equal(n, 0);
			check_ends(&s[i], convicted);
		}
		assert_string_equal(str_text(&s[0].tasks),
				    str_text(&s[1].tasks));
		/* two alternatives a node, a second look, and beside it */
		assert_true(s[0].ordered <=
			    (size_t)nodes * (2 * 2 * 2 + 8 + 1) + 2 * 9);
		close_scene(&s[0]);
		close_scene(&s[1]);
		str_release(&findings);
	}
}

static void a_mess_is_not_settled(void **state)
{
	struct str findings = STR_INIT;
	struct err e = { 0 };
	struct scene s;
	json_t *json;

	(void)state;
	open_scene(&s, 4, 1, 1, ALL);
	for (int i = 0; i <= ASK_SUSPECTS; i++) {
		str_addf(&findings, "%s" FINDING("node", "n1", -1, ""),
			 i > 0 ? "," : "");
	}
	assert_int_equal(take(&s, str_text(&findings), &e), -1);
	assert_string_equal(e.text, "257 findings, of which at most 256 can be "
			    "resolved");
	assert_int_equal(s.a.n, 0);
	json = json_pack("{s:s}", "findings", "none");
	assert_int_equal(ask_take(&s.a, json, &e), -1);
	json_decref(json);
	str_release(&findings);
	close_scene(&s);
}

static void attempts_count_on(void **state)
{
	struct scene s;

	(void)state;
	assert_int_equal(ask_rounds(2), 4);
	assert_int_equal(ask_rounds(8), 6);
	assert_int_equal(ask_rounds(1000), 13);
	open_scene(&s, 2, 1, 1, ALL);
	s.cells[1].attempt = 2;
	assert_int_equal(take(&s, "{\"kind\":\"pair\",\"node\":\"n0\",\"index\":0,"
			      "\"peer_node\":\"n1\",\"peer_index\":0,"
			      "\"severity\":\"warn\",\"code\":\"latency\"}",
			      NULL), 0);
	assert_int_equal(ask_next(&s.a, 100, &ops, &s), 4);
	assert_int_equal(s.first, 3);
	assert_int_equal(s.last, 6);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(situations_ask_for_tests),
		cmocka_unit_test(a_nic_is_asked_outside_its_domain),
		cmocka_unit_test(what_is_rare_is_asked_often),
		cmocka_unit_test(what_stays_open_is_asked_on),
		cmocka_unit_test(what_failed_is_tried_again),
		cmocka_unit_test(a_lone_pair_is_seen_again),
		cmocka_unit_test(what_it_saw_fail_is_tried_again),
		cmocka_unit_test(a_lone_pair_of_a_sample_is_looked_at),
		cmocka_unit_test(a_pair_that_failed_is_looked_at),
		cmocka_unit_test(what_pairs_have_in_common_is_asked),
		cmocka_unit_test(a_port_is_a_nic),
		cmocka_unit_test(any_plan_is_sound),
		cmocka_unit_test(a_mess_is_not_settled),
		cmocka_unit_test(attempts_count_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
