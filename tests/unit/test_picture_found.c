/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings in the SVG of a heat map: each one is named at its rows. */
#include "tests/unit/fake_run.h"

#include "report/draw/picture.h"
#include "report/judge/pairs.h"

static const struct found_fault {
	struct fake_fault fault;
	double factor;		/* slow; 0: fails */
	const char *name;	/* in the picture */
} faults[] = {
	{ { PART_GPU, 1, 4, PART_BOTH }, 0, "GPU 4 of n1" },
	{ { PART_GPU, 1, 4, PART_BOTH }, 0.5, "GPU 4 of n1" },
	{ { PART_NIC, 1, 3, PART_BOTH }, 0, "NIC 3 of n1" },
	{ { PART_NIC, 1, 3, PART_BOTH }, 0.3, "NIC 3 of n1" },
	{ { PART_NODE, 1, 0, PART_BOTH }, 0, "n1" },
	{ { PART_INTRA_NODE, 1, 0, PART_BOTH }, 0, "inside n1" },
	{ { PART_RAIL, 3, 0, PART_BOTH }, 0, "rail 3" },
	{ { PART_PAIR, 3, 12, PART_BOTH }, 0, "n0:3" },
};

/** Return true if a bar, which marks rows, is near the name @t. */
static bool near_rows(const struct picture *p, const struct picture_shape *t)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct picture_shape *s = &p->shapes[i];

		if (s->layer == LAYER_RECT &&
		    s->width > 4 && s->width < 6 && s->x < t->x &&
		    s->x > t->x - 80 &&
		    fabsf(s->y + s->height / 2 - t->y) < 40) {
			return true;
		}
	}
	return false;
}

/** Return true if the picture has the name of @f at a bar of the margin. */
static bool is_named(const struct picture *p, const struct found_fault *f)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct picture_shape *t = &p->shapes[i];

		if (t->layer == TEXT_LEFT && t->x > 200 && t->text &&
		    strstr(t->text, f->name) && near_rows(p, t)) {
			return true;
		}
	}
	return false;
}

static void check(struct run *r, const struct found_fault *f)
{
	struct str svg = STR_INIT;
	struct picture p;
	struct verdict v;

	if (f->factor > 0) {
		fake_slow(r, &f->fault, f->factor);
	} else {
		fake_break(r, &f->fault, OUTCOME_ERROR, "no_route");
	}
	assert_int_equal(verdict_compute(r, &v), 0);
	assert_int_equal(picture_make(r, VIEW_BANDWIDTH, &v, NULL, &p), 0);
	assert_true(v.n > 0);
	assert_true(is_named(&p, f));
	picture_svg(&p, &svg);
	assert_false(svg.failed);
	assert_non_null(strstr(str_text(&svg), f->name));
	assert_true(svg.len < 400000);
	str_release(&svg);
	picture_release(&p);
	verdict_release(&v);
}

static void check_all(int nodes)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct run r;

		fake_run(&r, nodes, 8, 8);
		check(&r, &faults[i]);
		run_release(&r);
	}
}

static void test_16_ranks(void **state)
{
	(void)state;
	/* of two nodes the NIC may be that of the other one */
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct run r;

		if (faults[i].fault.kind != PART_NODE) {
			fake_run(&r, 2, 8, 8);
			check(&r, &faults[i]);
			run_release(&r);
		}
	}
}

static void test_128_ranks(void **state)
{
	(void)state;
	check_all(16);
}

static void test_512_ranks(void **state)
{
	(void)state;
	if (!SANITIZED) {
		check_all(64);
	}
}

/** Parts of which a sample has tests enough. */
static void test_sample(void **state)
{
	static const int some[] = { 0, 2, 4, 6 };

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some) && !SANITIZED;
	     i++) {
		struct run r;

		fake_run(&r, 256, 8, 8);
		fake_sample(&r);
		check(&r, &faults[some[i]]);
		run_release(&r);
	}
}

/** Names are never over each other. */
static void test_apart(void **state)
{
	struct picture p;
	struct verdict v;
	struct run r;
	float last = -1;

	(void)state;
	fake_run(&r, 16, 8, 8);
	for (int gpu = 0; gpu < 6; gpu++) {
		fake_break(&r, &(struct fake_fault){ PART_GPU, gpu, gpu,
						     PART_BOTH },
			   OUTCOME_ERROR, "no_route");
	}
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_equal(picture_make(&r, VIEW_BANDWIDTH, &v, NULL, &p), 0);
	for (size_t i = 0; i < p.n; i++) {
		const struct picture_shape *t = &p.shapes[i];

		if (t->layer != TEXT_LEFT || t->x < 300 || !t->text ||
		    !strstr(t->text, "GPU ")) {
			continue;
		}
		for (size_t k = 0; k < i; k++) {
			const struct picture_shape *o = &p.shapes[k];

			assert_false(o->layer == TEXT_LEFT && o->text &&
				     fabsf(o->x - t->x) < 1 &&
				     fabsf(o->y - t->y) < 14);
		}
		last = t->y;
	}
	assert_true(last > 0);
	picture_release(&p);
	verdict_release(&v);
	run_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_16_ranks),
		cmocka_unit_test(test_128_ranks),
		cmocka_unit_test(test_512_ranks),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
