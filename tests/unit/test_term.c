/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/fake_run.h"
#include "report/draw/draw.h"
#include "report/judge/pairs.h"

static void render(const struct run *r, int width, enum term_style style,
		   struct str *out)
{
	str_reset(out);
	assert_int_equal(term_render(r, NULL, width, style, TERM_MAP,
				     out), 0);
}

/** Columns of the widest line; a UTF-8 character is one, colours are none. */
static int widest_line(const char *text)
{
	int widest = 0, at = 0;

	for (; *text; text++) {
		if (*text == '\033') {
			text = strchr(text, 'm');
		} else if (*text == '\n') {
			at = 0;
		} else if (((unsigned char)*text & 0xc0) != 0x80) {
			at++;
		}
		widest = at > widest ? at : widest;
	}
	return widest;
}

static void break_some(struct run *r)
{
	fake_cell(r, 0, 1, OUTCOME_ERROR, "no_route");
	fake_cell(r, 0, 2, OUTCOME_TIMEOUT, "task_timeout");
	fake_cell(r, 0, 3, OUTCOME_CORRUPT, "data_corrupt");
	fake_cell(r, 1, 0, OUTCOME_SKIPPED, "rank_retired");
	fake_cell(r, 1, 2, OUTCOME_NOT_RUN, "");
}

static void test_ascii(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 1, 4, 4);
	break_some(&r);
	render(&r, 80, TERM_ASCII, &out);
	assert_non_null(strstr(str_text(&out), "  0   F T C \n"));
	assert_non_null(strstr(str_text(&out), "  1 -   . 9 \n"));
	assert_non_null(strstr(str_text(&out), "  3 9 9 9   \n"));
	assert_non_null(strstr(str_text(&out), "F failed"));
	assert_non_null(strstr(str_text(&out), "- skipped"));
	assert_null(strstr(str_text(&out), "S slow"));
	assert_null(strchr(str_text(&out), '\033'));
	for (size_t i = 0; i < out.len; i++) {
		assert_true((unsigned char)out.data[i] < 0x80);
	}
	str_release(&out);
	run_release(&r);
}

/** Values in the squares of a small map, if they fit. */
static void test_figures(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 2, 8, 8);
	fake_cell(&r, 0, 1, OUTCOME_ERROR, "no_route");
	assert_int_equal(term_render(&r, NULL, 80, TERM_UNICODE, TERM_FIGURES,
				     &out), 0);
	assert_non_null(strstr(str_text(&out), "columns receive; GB/s\n"));
	assert_non_null(strstr(str_text(&out), "n0    0       F "));
	assert_null(strstr(str_text(&out), "█"));
	assert_true(widest_line(str_text(&out)) <= 80);
	str_reset(&out);
	assert_int_equal(term_render(&r, NULL, 60, TERM_UNICODE, TERM_FIGURES,
				     &out), 0);
	assert_non_null(strstr(str_text(&out), "█"));
	str_release(&out);
	run_release(&r);
}

static void test_unicode(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 1, 4, 4);
	break_some(&r);
	render(&r, 80, TERM_UNICODE, &out);
	assert_non_null(strstr(str_text(&out), "█"));
	assert_non_null(strstr(str_text(&out), "F T C"));
	assert_null(strchr(str_text(&out), '\033'));
	str_release(&out);
	run_release(&r);
}

/** Colour never stands alone: the letter stays. */
static void test_color(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 1, 4, 4);
	break_some(&r);
	render(&r, 80, TERM_COLOR, &out);
	assert_non_null(strstr(str_text(&out), "\033[48;5;"));
	assert_non_null(strstr(str_text(&out), "mF \033[0m"));
	str_release(&out);
	run_release(&r);
}

static void test_width(void **state)
{
	static const int sizes[][2] = {
		{ 1, 1 }, { 2, 8 }, { 4, 8 }, { 9, 8 }, { 40, 8 }, { 300, 1 },
	};
	struct str out = STR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct run r;

		fake_run(&r, sizes[i][0], sizes[i][1], sizes[i][1]);
		for (int style = TERM_ASCII; style <= TERM_COLOR; style++) {
			for (int width = 80; width <= 200; width += 60) {
				render(&r, width, (enum term_style)style, &out);
				assert_true(widest_line(str_text(&out)) <=
					    width);
			}
		}
		run_release(&r);
	}
	str_release(&out);
}

/** Too many ranks for 80 columns: one bad cell still shows. */
static void test_folded(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	fake_run(&r, 32, 8, 8);
	fake_cell(&r, 0, 255, OUTCOME_ERROR, "no_route");
	render(&r, 80, TERM_ASCII, &out);
	assert_non_null(strstr(str_text(&out), "worst test from a node to"));
	assert_non_null(strstr(str_text(&out), "f \n"));
	assert_non_null(strstr(str_text(&out), "f some failed"));
	assert_null(strstr(str_text(&out), "F failed"));
	str_release(&out);
	run_release(&r);
}

/** One dead GPU: its node is open, its row and column are bad, no other is. */
static void test_open(void **state)
{
	static const struct fake_fault gpu = { PART_GPU, 5, 3, PART_BOTH };
	struct str out = STR_INIT;
	struct verdict v;
	struct run r;
	int bad = 0;

	(void)state;
	fake_run(&r, 32, 8, 8);
	fake_break(&r, &gpu, OUTCOME_ERROR, "no_route");
	assert_int_equal(verdict_compute(&r, &v), 0);
	for (int style = TERM_ASCII; style <= TERM_COLOR; style++) {
		str_reset(&out);
		assert_int_equal(term_render(&r, &v, 80,
					     (enum term_style)style, TERM_MAP,
					     &out), 0);
		assert_true(widest_line(str_text(&out)) <= 80);
	}
	str_reset(&out);
	term_render(&r, &v, 80, TERM_ASCII, TERM_MAP, &out);
	assert_non_null(strstr(str_text(&out), "      3 FFFFFFFF FFFF"));
	assert_non_null(strstr(str_text(&out), "F < GPU 3 of n5\n"));
	assert_non_null(strstr(str_text(&out), "n6      99999999F99999"));
	for (const char *c = str_text(&out); (c = strchr(c, 'F')); c++) {
		bad++;
	}
	/* in four rows of the others, and in the legend */
	assert_int_equal(bad, 38 + 4 + 1);
	assert_null(strstr(str_text(&out), "some failed"));
	verdict_release(&v);
	str_release(&out);
	run_release(&r);
}

/** Rows whose bad tests are in the same columns are counted, not drawn. */
static void test_repeated(void **state)
{
	static const char *const lines[] = {
		"(7 more rows like the one above)\n", "n1    0 ",
		"(3 more rows like the one above)\n      4 F F F",
		"\n      5 ", "\nn3    0 ",
	};
	struct str out = STR_INIT;
	const char *at;
	struct run r;

	(void)state;
	fake_run(&r, 4, 8, 8);
	render(&r, 80, TERM_ASCII, &out);
	assert_null(strstr(str_text(&out), "more rows"));
	for (int i = 0; i < 32; i++) {
		fake_cell(&r, i, 12, OUTCOME_ERROR, "no_route");
		fake_cell(&r, 12, i, OUTCOME_ERROR, "no_route");
	}
	render(&r, 80, TERM_ASCII, &out);
	at = str_text(&out);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		at = strstr(at, lines[i]);
		assert_non_null(at);
	}
	str_release(&out);
	run_release(&r);
}

static void test_nothing(void **state)
{
	struct str out = STR_INIT;
	struct run r;

	(void)state;
	r = (struct run){ 0 };
	render(&r, 80, TERM_COLOR, &out);
	assert_string_equal(str_text(&out), "");
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ascii),
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_unicode),
		cmocka_unit_test(test_color),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
