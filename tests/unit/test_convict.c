/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "probes/plan/retry.h"

#define GPUS  8
#define LARGE (CONVICT_RANKS / GPUS)

/** Rank @src is heard with the ranks from @first on, every @step-th, @n of
 *  them. */
struct heard {
	int src, first, step, n;
	bool back;		/* they send to it */
	enum outcome outcome;
};

static const struct convict_case {
	const char *what;
	int nodes, nics;
	struct heard heard[4];
	int src, dst;		/* is this one needed? */
	int64_t spare_ns;
	bool rails;
	const char *code;	/* NULL: it is */
} cases[] = {
	{ "twelve failures with partners that pass: its NIC", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 0, 1, 1, 7, false, OUTCOME_OK },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, 0, false, "part_convicted" },
	{ "but not what it does inside its node", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 0, 1, 1, 6, false, OUTCOME_OK },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 7, 0, false, NULL },
	{ "nor what it receives", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  127, 0, 0, false, NULL },
	{ "that is another direction", LARGE, 8,
	  { { 0, 8, 8, 12, true, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  127, 0, 0, false, "part_convicted" },
	{ "a GPU, when nothing inside its node passes either", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 7, 0, false, "part_convicted" },
	{ "eleven are no proof", LARGE, 8,
	  { { 0, 8, 8, 11, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, 0, false, NULL },
	{ "a dozen times the same partner is one", LARGE, 1,
	  { { 0, 8, 0, 12, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, 0, false, NULL },
	{ "partners that do not pass either prove nothing", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 11, false, OUTCOME_OK } },
	  0, 127, 0, false, NULL },
	{ "one that came through acquits", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 0, 9, 0, 1, false, OUTCOME_OK },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, 0, false, NULL },
	{ "so does wrong data: it came through", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 0, 9, 0, 1, false, OUTCOME_CORRUPT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, 0, false, NULL },
	{ "what was not measured is no failure", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_SKIPPED },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, 0, false, NULL },
	{ "the rest costs little", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, (127 - 12) * NS_PER_S, false, NULL },
	{ "failures that take no longer than a pass", LARGE, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_ERROR },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 127, 0, false, NULL },
	{ "a small run is tested to its end", LARGE - 1, 8,
	  { { 0, 8, 8, 12, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK } },
	  0, 111, 0, false, NULL },
	{ "two GPUs of a NIC fail together", LARGE, 4,
	  { { 0, 8, 8, 6, false, OUTCOME_TIMEOUT },
	    { 1, 56, 8, 6, false, OUTCOME_TIMEOUT },
	    { 7, 8, 8, 12, false, OUTCOME_OK },
	    { 1, 2, 1, 6, false, OUTCOME_OK } },
	  1, 127, 0, false, "part_convicted" },
	{ "rails that do not connect, in a run of any size", 2, 8,
	  { { 0, 9, 1, 7, false, OUTCOME_TIMEOUT },
	    { 1, 10, 1, 6, false, OUTCOME_TIMEOUT },
	    { 1, 9, 0, 1, false, OUTCOME_OK } },
	  2, 15, NS_PER_S * 1000, true, "rails_apart" },
	{ "without one that works it may be the nodes", 2, 8,
	  { { 0, 9, 1, 7, false, OUTCOME_TIMEOUT },
	    { 1, 10, 1, 6, false, OUTCOME_TIMEOUT } },
	  2, 15, 0, true, NULL },
	{ "a rail reaches itself", 2, 8,
	  { { 0, 9, 1, 7, false, OUTCOME_TIMEOUT },
	    { 1, 10, 1, 6, false, OUTCOME_TIMEOUT },
	    { 1, 9, 0, 1, false, OUTCOME_OK } },
	  2, 10, 0, true, NULL },
	{ "a drill shows them all", 2, 8,
	  { { 0, 9, 1, 7, false, OUTCOME_TIMEOUT },
	    { 1, 10, 1, 6, false, OUTCOME_TIMEOUT },
	    { 1, 9, 0, 1, false, OUTCOME_OK } },
	  2, 15, 0, false, NULL },
};

static void hear(struct convict *c, const struct heard *h)
{
	for (int i = 0; i < h->n; i++) {
		int peer = h->first + i * h->step;

		convict_hear(c, h->back ? peer : h->src,
			     h->back ? h->src : peer, h->outcome,
			     h->outcome == OUTCOME_TIMEOUT ? NS_PER_S :
							     NS_PER_MS);
	}
}

static void parts_are_convicted(void **state)
{
	int bad = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct convict_case *x = &cases[i];
		char why[CONVICT_TEXT];
		const char *code;
		struct convict *c;
		struct layout l;

		assert_int_equal(layout_init(&l, x->nodes), 0);
		for (int n = 0; n < x->nodes; n++) {
			snprintf(l.nodes[n].name, sizeof(l.nodes[n].name),
				 "n%d", n);
			l.nodes[n].gpus = GPUS;
			l.nodes[n].nics = x->nics;
		}
		assert_int_equal(layout_number(&l), 0);
		c = convict_new(&l);
		assert_non_null(c);
		for (int s = 0; s < l.n_ranks; s++) {
			for (int d = 0; d < l.n_ranks; d++) {
				if (s != d) {
					convict_expect(c, s, d);
				}
			}
		}
		for (size_t k = 0; k < 4; k++) {
			hear(c, &x->heard[k]);
		}
		code = convict_of(c, x->src, x->dst, x->spare_ns, x->rails,
				  why);
		if ((code == NULL) != (x->code == NULL) ||
		    (code != NULL && strcmp(code, x->code) != 0)) {
			fprintf(stderr, "# %s: %s\n", x->what,
				code != NULL ? why : "needed");
			bad++;
		}
		convict_free(c);
		layout_release(&l);
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_convicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
