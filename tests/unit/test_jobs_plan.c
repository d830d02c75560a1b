/* SPDX-License-Identifier: BSD-3-Clause */
/* --jobs=pairs: any two nodes meet in one job, and rounds share none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/run/jobs.h"
#include "lib/data/hosts.h"
#include "probes/plan/plan.h"

#define MAX_NODES 64

struct names {
	char text[MAX_NODES][16];
	const char *nodes[MAX_NODES];
};

static void make_names(struct names *x, size_t n)
{
	*x = (struct names){ 0 };
	for (size_t i = 0; i < n; i++) {
		snprintf(x->text[i], sizeof(x->text[i]), "gpu-%02zu", i);
		x->nodes[i] = x->text[i];
	}
}

static size_t index_of(const char *name)
{
	return strtoul(name + strlen("gpu-"), NULL, 10);
}

/** How often each two nodes meet; those of a pair are in its job. */
static void count_pairs(const struct jobs_plan *p, size_t n,
			int met[MAX_NODES][MAX_NODES])
{
	memset(met, 0, sizeof(int[MAX_NODES][MAX_NODES]));
	for (size_t i = 0; i < p->n; i++) {
		const struct job *part = &p->parts[i];
		struct pairs pairs;

		assert_int_equal(pairs_parse(part->pairs, &pairs, NULL), 0);
		for (size_t k = 0; k < pairs.n; k++) {
			const struct pair_end *x = pairs.list[k];
			size_t a = index_of(x[0].node);
			size_t b = index_of(x[1].node);

			assert_true(a < n && b < n);
			assert_int_equal(x[0].index, PAIR_ALL);
			assert_true(hostlist_has(part->nodes, x[0].node));
			assert_true(hostlist_has(part->nodes, x[1].node));
			met[a][b]++;
			met[b][a] += a != b;
		}
		pairs_release(&pairs);
	}
}

static const struct {
	size_t n, most;
	const char *kind;
	size_t max_jobs;
	int group;
	size_t jobs;
} cases[] = {
	{ .n = 2, .most = 100, .kind = "all", .max_jobs = 4, .group = 1,
	  .jobs = 1 },
	{ .n = 4, .most = 100, .kind = "all", .max_jobs = 2, .group = 1,
	  .jobs = 6 },
	{ .n = 7, .most = 100, .kind = "inter", .max_jobs = 3, .group = 1,
	  .jobs = 21 },
	{ .n = 20, .most = 100, .kind = "all", .max_jobs = 4, .group = 2,
	  .jobs = 45 },
	{ .n = 21, .most = 100, .kind = "inter", .max_jobs = 4, .group = 2,
	  .jobs = 55 },
	{ .n = 64, .most = 30, .kind = "all", .max_jobs = 4, .group = 8,
	  .jobs = 28 },
};

static void any_two_nodes_meet(void **state)
{
	static int met[MAX_NODES][MAX_NODES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const bool inside = strcmp(cases[i].kind, "all") == 0;
		struct names x;
		struct jobs_plan p;

		make_names(&x, cases[i].n);
		assert_int_equal(jobs_plan_make(x.nodes, cases[i].n,
						cases[i].kind,
						cases[i].max_jobs,
						cases[i].most, &p, NULL), 0);
		assert_int_equal(p.group, cases[i].group);
		assert_int_equal(p.n, cases[i].jobs);
		count_pairs(&p, cases[i].n, met);
		for (size_t a = 0; a < cases[i].n; a++) {
			for (size_t b = 0; b < cases[i].n; b++) {
				if (a != b) {
					assert_int_equal(met[a][b], 1);
				} else if (inside) {
					/* its partner may be down: each time */
					assert_int_equal(
						met[a][a], p.group > 1 ? 1 :
						(int)cases[i].n - 1);
				} else {
					assert_int_equal(met[a][a], 0);
				}
			}
		}
		for (size_t k = 0; k < p.n; k++) {
			assert_in_range(p.parts[k].lane,
					p.n > cases[i].max_jobs,
					p.n > cases[i].max_jobs ?
						cases[i].max_jobs : 0);
		}
		jobs_plan_release(&p);
	}
}

/** Jobs that follow each other in different lanes share no node, as long as
 *  there are no more lanes than a round has jobs. */
static void lanes_do_not_wait_for_each_other(void **state)
{
	struct names x;
	struct jobs_plan p;

	(void)state;
	make_names(&x, 8);
	assert_int_equal(jobs_plan_make(x.nodes, 8, "all", 4, 1000, &p, NULL),
			 0);
	assert_int_equal(p.n, 28);
	assert_int_equal(p.rounds, 7);
	for (size_t i = 0; i < p.n; i += 4) {
		struct str all = STR_INIT;
		char **names;
		size_t n = 0;

		for (size_t k = i; k < i + 4; k++) {
			str_addf(&all, "%s%s", all.len ? "," : "",
				 p.parts[k].nodes);
			assert_int_equal(p.parts[k].lane, (int)(k - i) + 1);
		}
		names = hostlist_expand(str_text(&all), &n, NULL);
		assert_int_equal(n, 8);
		for (size_t a = 0; a < n; a++) {
			for (size_t b = 0; b < a; b++) {
				assert_string_not_equal(names[a], names[b]);
			}
		}
		hostlist_free(names, n);
		str_release(&all);
	}
	jobs_plan_release(&p);
}

static void rails_are_named_as_such(void **state)
{
	struct names x;
	struct jobs_plan p;

	(void)state;
	make_names(&x, 6);
	assert_int_equal(jobs_plan_make(x.nodes, 6, "rail", 4, 1000, &p, NULL),
			 0);
	assert_int_equal(p.n, 15);
	assert_string_equal(p.parts[14].pairs, "rail");
	jobs_plan_release(&p);
}

static void what_does_not_fit_is_refused(void **state)
{
	static const struct {
		size_t n, most;
		const char *says;
	} bad[] = {
		{ .n = 1, .most = 100, .says = "no pair of 1 node" },
		{ .n = 64, .most = 27, .says = "do not fit into 27 jobs" },
		{ .n = 2, .most = 0, .says = "do not fit into 0 jobs" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = { 0 };
		struct names x;
		struct jobs_plan p;

		make_names(&x, bad[i].n);
		assert_int_equal(jobs_plan_make(x.nodes, bad[i].n, "all", 4,
						bad[i].most, &p, &e), -1);
		assert_non_null(strstr(e.text, bad[i].says));
		assert_true(e.hint[0]);
		jobs_plan_release(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_two_nodes_meet),
		cmocka_unit_test(lanes_do_not_wait_for_each_other),
		cmocka_unit_test(rails_are_named_as_such),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
