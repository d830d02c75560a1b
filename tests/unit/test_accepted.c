/* SPDX-License-Identifier: BSD-3-Clause */
/* What an accepted run shows as well is no finding; what is worse is one. */
#include "tests/unit/fake_run.h"

#include "lib/base/str.h"
#include "report/judge/accepted.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"

#define NODES 6

static const struct fake_fault gpu = { .kind = PART_GPU, .a = 3, .b = 5 };
static const struct fake_fault nic = { .kind = PART_NIC, .a = 1, .b = 2 };
static const struct fake_fault net = { .kind = PART_NODE_NETWORK, .a = 4 };

/** A part and how fast it is then and now; the rest at @all. */
static const struct story {
	const char *what;
	const struct fake_fault *part, *other;	/* other: now alone */
	double then, now, all;
	size_t n, accepted;
	const char *code;	/* of n = 1 */
} stories[] = {
	{ "healthy", &gpu, NULL, 1, 1, 1, 0, 0, NULL },
	{ "a little slow, as it was", &gpu, NULL, 0.92, 0.92, 1, 0, 1, NULL },
	{ "a NIC, as it was", &nic, NULL, 0.93, 0.93, 1, 0, 1, NULL },
	{ "it has become slower", &gpu, NULL, 0.92, 0.88, 1, 1, 0, "slow" },
	{ "it is new", &gpu, NULL, 1, 0.92, 1, 1, 0, "slow" },
	{ "another one is as slow", NULL, &nic, 1, 0.92, 1, 1, 0, "slow" },
	{ "very slow, as it was", &net, NULL, 0.5, 0.5, 1, 0, 1, NULL },
	{ "very slow, and more", &net, NULL, 0.5, 0.4, 1, 1, 0, "slow" },
	{ "very slow, and new", &net, NULL, 1, 0.5, 1, 1, 0, "slow" },
	{ "it has got better", &net, NULL, 0.5, 1, 1, 0, 0, NULL },
	{ "one as it was, one is new", &net, &gpu, 0.5, 0.5, 1, 1, 1, "slow" },
	{ "everything is slower", &gpu, NULL, 1, 1, 0.8, 2, 0, NULL },
	{ "all of it, and the part as before", &gpu, NULL, 0.92, 0.92, 0.8, 2,
	  1, NULL },
};

/** Measured another time: other noise. */
static void shake(struct run *r, uint64_t seed, double all)
{
	for (size_t at = 0; at < run_n_cells(r); at++) {
		r->cells[at].bw_GB_s *= (float)(all * (0.99 + 0.02 *
					hash_unit(seed, at, 0, 0)));
	}
}

static void run_of(struct run *r, const struct fake_fault *part, double factor,
		   uint64_t seed, double all)
{
	fake_run(r, NODES, 8, 8);
	shake(r, seed, all);
	if (part) {
		fake_slow(r, part, factor);
	}
}

static void each_story(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
		const struct story *s = &stories[i];
		struct run then, now;
		struct verdict v;

		run_of(&then, s->part, s->then, 11, 1);
		run_of(&now, s->part, s->part ? s->now : 1, 12, s->all);
		if (s->other) {
			fake_slow(&now, s->other, s->now);
		}
		assert_int_equal(levels_mark_slow(&then), 0);
		assert_int_equal(levels_mark_slow(&now), 0);
		assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
		if (v.n != s->n || v.accepted.n != s->accepted ||
		    (s->code && strcmp(v.findings[0].code, s->code) != 0) ||
		    (s->all < 1 && strcmp(v.findings[0].code,
					  "below_reference") != 0)) {
			fprintf(stderr, "# %s: %zu findings, %zu accepted\n",
				s->what, v.n, v.accepted.n);
			for (size_t k = 0; k < v.n; k++) {
				fprintf(stderr, "#   %s\n",
					v.findings[k].says);
			}
			bad++;
		}
		assert_true(v.n > 0 || v.status == VERDICT_PASS);
		assert_true(!(s->all < 1) || v.status == VERDICT_FAIL);
		verdict_release(&v);
		run_release(&then);
		run_release(&now);
	}
	assert_int_equal(bad, 0);
}

/** What failed is a fault, whatever failed before; and so is a slow test of a
 *  slow part that was fast. */
static void nothing_hides_a_failure(void **state)
{
	struct run then, now;
	struct verdict v;

	(void)state;
	run_of(&then, NULL, 1, 11, 1);
	run_of(&now, NULL, 1, 12, 1);
	fake_break(&then, &gpu, OUTCOME_ERROR, "dead");
	fake_break(&now, &gpu, OUTCOME_ERROR, "dead");
	assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.status, VERDICT_FAIL);
	assert_int_equal(v.accepted.n, 0);
	verdict_release(&v);
	run_release(&then);
	run_release(&now);

	/* it failed then, so that nobody knows how slow it was */
	run_of(&then, NULL, 1, 11, 1);
	fake_break(&then, &gpu, OUTCOME_ERROR, "dead");
	run_of(&now, &gpu, 0.5, 12, 1);
	assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
	assert_int_equal(v.n, 1);
	verdict_release(&v);
	run_release(&then);
	run_release(&now);

	/* with one node it was as fast as any */
	run_of(&then, NULL, 1, 11, 1);
	run_of(&now, &net, 0.5, 12, 1);
	for (size_t at = 0; at < run_n_cells(&then); at++) {
		int a = run_src(&then, at), b = run_dst(&then, at);

		if (fake_hits(&then, &net, a, b) && a >= 8 && b >= 8) {
			then.cells[at].bw_GB_s *= 0.5F;
		}
	}
	assert_int_equal(levels_mark_slow(&then), 0);
	assert_int_equal(levels_mark_slow(&now), 0);
	assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.accepted.n, 0);
	verdict_release(&v);
	run_release(&then);
	run_release(&now);

	/* a node that was not there */
	run_of(&then, &net, 0.5, 11, 1);
	run_of(&now, &net, 0.5, 12, 1);
	STR_COPY(then.nodes[4].name, "x4");
	assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
	assert_int_equal(v.n, 1);
	verdict_release(&v);
	run_release(&then);
	run_release(&now);
}

/** Nodes are the same by their names, whatever their order. */
static void nodes_by_their_names(void **state)
{
	static const struct fake_fault first = { .kind = PART_NODE_NETWORK,
						 .a = 1 };
	struct run then, now;
	struct verdict v;

	(void)state;
	run_of(&then, &first, 0.5, 11, 1);	/* which is the n4 of now */
	for (int i = 0; i < NODES; i++) {
		snprintf(then.nodes[i].name, sizeof(then.nodes[i].name), "n%d",
			 NODES - 1 - i);
	}
	run_of(&now, &net, 0.5, 12, 1);
	assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
	assert_int_equal(v.n, 0);
	assert_int_equal(v.accepted.n, 1);
	verdict_release(&v);
	run_release(&now);
	run_of(&now, &first, 0.5, 12, 1);
	assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
	assert_int_equal(v.n, 1);
	verdict_release(&v);
	run_release(&then);
	run_release(&now);
}

/** Late, twice as long as the others. */
static void late_as_it_was(void **state)
{
	(void)state;
	for (int as_before = 0; as_before < 2; as_before++) {
		struct run runs[2];
		struct verdict v;

		for (int k = 0; k < 2; k++) {
			struct run *r = &runs[k];

			run_of(r, NULL, 1, 11 + (uint64_t)k, 1);
			for (size_t at = 0; at < run_n_cells(r); at++) {
				bool hit = fake_hits(r, &gpu, run_src(r, at),
						     run_dst(r, at));

				r->cells[at].lat_us *= (float)(0.95 + 0.1 *
					hash_unit(5, at, (uint64_t)k, 0)) *
					(hit && (k || as_before) ? 2 : 1);
			}
		}
		assert_int_equal(verdict_compute_beside(&runs[1], &runs[0],
							&v), 0);
		assert_int_equal(v.n, !as_before);
		assert_int_equal(v.accepted.n, as_before);
		verdict_release(&v);
		run_release(&runs[0]);
		run_release(&runs[1]);
	}
}

/** So many of all pairs at the lower one of two levels, others each time. */
static void two_levels(struct run *r, uint64_t seed, double share, double low)
{
	run_of(r, NULL, 1, seed, 1);
	for (size_t at = 0; at < run_n_cells(r); at++) {
		int a = run_src(r, at), b = run_dst(r, at);

		if (r->cells[at].path == PATH_INTER &&
		    hash_unit(seed, (uint64_t)(a < b ? a : b),
			      (uint64_t)(a < b ? b : a), 3) < share) {
			r->cells[at].bw_GB_s *= (float)low;
		}
	}
	assert_int_equal(levels_mark_slow(r), 0);
}

static void groups_at_the_same_levels(void **state)
{
	static const struct {
		double was, share, low;
		size_t n;
	} cases[] = {
		{ 0.8, 0.8, 0.5, 0 },
		{ 0.8, 0.75, 0.5, 0 },
		{ 0.8, 0.9, 0.5, 1 },	/* more of them */
		{ 0.8, 0.8, 0.4, 1 },	/* slower ones */
		{ 0.6, 0.6, 0.5, 0 },
		{ 0.6, 0.7, 0.5, 1 },
		{ 0.3, 0.3, 0.6, 0 },	/* one path of three */
		{ 0.3, 0.4, 0.6, 1 },
		{ 0.3, 0.3, 0.5, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run then, now;
		struct verdict v;

		two_levels(&then, 11, cases[i].was,
			   cases[i].was < 0.5 ? 0.6 : 0.5);
		two_levels(&now, 12, cases[i].share, cases[i].low);
		assert_int_equal(verdict_compute(&now, &v), 0);
		assert_int_equal(v.n, 1);
		assert_true(v.findings[0].part.kind == PART_FABRIC_PATH ||
			    strcmp(v.findings[0].code, "two_levels") == 0);
		verdict_release(&v);
		assert_int_equal(verdict_compute_beside(&now, &then, &v), 0);
		if ((v.n > 0) != (cases[i].n > 0) ||
		    v.accepted.n != !cases[i].n) {
			fail_msg("case %zu: %zu findings", i, v.n);
		}
		verdict_release(&v);
		run_release(&then);
		run_release(&now);
	}
}

static void what_is_no_reference(void **state)
{
	struct run then, now;
	struct str why = STR_INIT;

	(void)state;
	fake_run(&then, NODES, 8, 8);
	fake_run(&now, NODES, 8, 8);
	assert_false(accepted_unlike(&then, &now, &why));
	assert_int_equal(why.len, 0);

#define REFUSED(set, unset, word) do { \
		set; \
		assert_true(accepted_unlike(&then, &now, &why)); \
		assert_non_null(strstr(str_text(&why), word)); \
		str_release(&why); \
		unset; \
	} while (0)
	REFUSED(STR_COPY(then.transport, "tcp"),
		STR_COPY(then.transport, "nccl"), "transport tcp, now nccl");
	REFUSED(then.size_B = 1 << 20, then.size_B = 64 << 20, "1 MiB");
	REFUSED(STR_COPY(then.schedule, "parallel"),
		STR_COPY(then.schedule, "nic"), "schedule parallel, now nic");
	REFUSED(STR_COPY(then.probe, "ib"), STR_COPY(then.probe, "p2p"),
		"a run of ib, now p2p");
	REFUSED(then.drill = true, then.drill = false, "drill");
	REFUSED(then.nodes[2].gpus = 4, then.nodes[2].gpus = 8,
		"4 ranks on n2, now 8");
	json_object_set_new(then.json, "options", json_pack("{s:b}", "bidi",
							    1));
	REFUSED(json_object_set_new(now.json, "options",
				    json_pack("{s:b}", "bidi", 0)),
		json_object_del(now.json, "options"), "another --bidi");
	json_object_set_new(now.json, "nonce", json_string("0a"));
	REFUSED(json_object_set_new(then.json, "nonce", json_string("0a")),
		json_object_del(then.json, "nonce"), "it is this run");
	for (int i = 0; i < NODES; i++) {
		then.nodes[i].name[0] = 'x';
	}
	REFUSED((void)0, (void)0, "no node is in both runs");
	assert_false(accepted_unlike(&now, &now, &why) &&
		     !strstr(str_text(&why), "it is this run"));
	str_release(&why);
	run_release(&then);
	run_release(&now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_story),
		cmocka_unit_test(nothing_hides_a_failure),
		cmocka_unit_test(nodes_by_their_names),
		cmocka_unit_test(late_as_it_was),
		cmocka_unit_test(groups_at_the_same_levels),
		cmocka_unit_test(what_is_no_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
