/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that heat maps are drawn into, with gnuplot and without. */
#include "tests/unit/fake_run.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "report/draw/draw.h"
#include "report/judge/pairs.h"

static char scratch[] = "/tmp/gpucheck-test-drawn-XXXXXX";

static long size_of(const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	if (stat(path, &st) < 0) {
		return -1;
	}
	unlink(path);
	return (long)st.st_size;
}

/** The text of NAME.svg in the scratch folder, which goes. */
static void take_svg(const char *name, struct str *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.svg", scratch, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(str_add_file(text, fd, 1 << 24), 0);
	unlink(path);
}

/** A page gets each map as its file has it, of one that shows nothing that
 *  there is none, and as many bytes as it takes. */
static void test_drawn(void **state)
{
	char *path = strdup(getenv("PATH"));
	const struct drawn_map *m;
	struct str file = STR_INIT, large = STR_INIT;
	struct drawn d = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	setenv("PATH", "/nowhere", 1);	/* maps, without PNG */
	assert_int_equal(heatmap_render(scratch, &r, &v, false, &d, NULL), 1);
	setenv("PATH", path, 1);
	take_svg("heatmap-bw", &file);
	m = drawn_find(&d, "heatmap-bw");
	assert_non_null(m);
	assert_string_equal(str_text(&m->svg), str_text(&file));
	assert_int_equal(m->len, file.len);
	assert_true(drawn_find(&d, "heatmap-lat")->svg.len > 0);
	assert_int_equal(drawn_find(&d, "heatmap-contrast")->len, 0);
	assert_null(drawn_find(&d, "heatmap-rtt"));
	str_add(&large, "<svg>");
	assert_non_null(str_more(&large, DRAWN_BYTES));
	assert_int_equal(drawn_add(&d, "large", &large), 0);
	m = drawn_find(&d, "large");
	assert_int_equal(m->len, DRAWN_BYTES + 5);
	assert_null(m->svg.data);
	assert_int_equal(large.len, DRAWN_BYTES + 5);
	size_of("heatmap-lat.svg");
	drawn_release(&d);
	str_release(&large);
	str_release(&file);
	free(path);
	verdict_release(&v);
	run_release(&r);
}

/** The real gnuplot, and names that it must not take for commands. */
static void test_gnuplot(void **state)
{
	struct err e = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 2, 3, 3);
	STR_COPY(r.nodes[0].name, "`touch x`\"\\#\t{_}");
	fake_cell(&r, 0, 4, OUTCOME_TIMEOUT, "task_timeout");
	assert_int_equal(verdict_compute(&r, &v), 0);
	if (heatmap_render(scratch, &r, &v, false, NULL, &e) == 1) {
		verdict_release(&v);
		run_release(&r);
		skip();
	}
	assert_string_equal(e.text, "");
	assert_true(size_of("heatmap-bw.png") > 5000);
	assert_true(size_of("heatmap-bw.svg") > 5000);
	assert_true(size_of("heatmap-lat.png") > 5000);
	assert_true(size_of("heatmap-lat.svg") > 5000);
	assert_int_equal(rmdir(scratch), 0);	/* nothing else is left */
	assert_int_equal(mkdir(scratch, 0700), 0);
	verdict_release(&v);
	run_release(&r);
}

static void test_no_gnuplot(void **state)
{
	char *path = strdup(getenv("PATH"));
	struct err e = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(heatmap_render(scratch, &r, &v, false, NULL, &e), 1);
	setenv("PATH", path, 1);
	assert_true(size_of("heatmap-bw.svg") > 1000);
	assert_true(size_of("heatmap-lat.svg") > 1000);
	assert_int_equal(size_of("heatmap-bw.png"), -1);
	assert_non_null(strstr(e.text, "gnuplot"));
	assert_non_null(strstr(e.hint, "apt-get install gnuplot-nox"));
	free(path);
	verdict_release(&v);
	run_release(&r);
}

/** Draw with a gnuplot that is @script, in shell, @folder being what it is
 *  given; what heatmap_render() returned. */
static int draw_with(const char *script, struct err *e)
{
	char dir[] = "/tmp/gpucheck-gnuplot-XXXXXX", file[64];
	char *path = strdup(getenv("PATH"));
	struct str with = STR_INIT;
	struct verdict v;
	struct run r;
	FILE *f;
	int rc;

	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/gnuplot", dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nfolder=$6\n%s\n", script);
	fclose(f);
	assert_int_equal(chmod(file, 0700), 0);
	str_addf(&with, "%s:%s", dir, path);
	setenv("PATH", str_text(&with), 1);
	rc = heatmap_render(scratch, &r, &v, false, NULL, e);
	setenv("PATH", path, 1);
	unlink(file);
	assert_int_equal(rmdir(dir), 0);
	str_release(&with);
	free(path);
	verdict_release(&v);
	run_release(&r);
	return rc;
}

static void test_gnuplot_fails(void **state)
{
	struct err e = { 0 };

	(void)state;
	/* the maps that need none are whole */
	assert_int_equal(draw_with("echo no terminal >&2; exit 1", &e), -1);
	assert_non_null(strstr(e.text, "no terminal"));
	assert_true(size_of("heatmap-bw.svg") > 1000);
	assert_true(size_of("heatmap-lat.svg") > 1000);
	e = (struct err){ 0 };
	assert_int_equal(draw_with("exit 0", &e), -1);
	assert_non_null(strstr(e.text, "gnuplot made no 'heatmap-bw.png'"));
	size_of("heatmap-bw.svg");	/* removes */
	size_of("heatmap-lat.svg");
	assert_int_equal(rmdir(scratch), 0);	/* nothing else is left */
	assert_int_equal(mkdir(scratch, 0700), 0);
}

static void note_signal(int sig)
{
	(void)sig;
}

/** A gnuplot that is asked to draw while a SIGTERM arrives: how long it is
 *  given.  @script must end with the picture. */
static int draw_under_term(const char *script, struct err *e)
{
	char with_kill[256];

	snprintf(with_kill, sizeof(with_kill), "kill -TERM %d\n%s",
		 (int)getpid(), script);
	return draw_with(with_kill, e);
}

static void test_a_signal_while_drawing(void **state)
{
	static const char png[] = "echo picture >$folder/picture.png";
	struct sigaction quiet = { .sa_handler = note_signal }, were;
	int64_t start_ns = clock_now_ns();
	struct err e = { 0 };
	sigset_t term, mask;
	int got = 0;

	(void)state;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	/* it would end the program: nobody waits for gnuplot */
	sigaction(SIGTERM, &quiet, &were);
	assert_int_equal(draw_under_term("sleep 100", &e), -1);
	assert_true(clock_now_ns() - start_ns < 60 * NS_PER_S);
	/* whoever ignores it, or holds it back, wants the pictures */
	signal(SIGTERM, SIG_IGN);
	assert_int_equal(draw_under_term(png, &e), 0);
	assert_true(size_of("heatmap-bw.png") > 5);
	sigaction(SIGTERM, &quiet, NULL);
	sigprocmask(SIG_BLOCK, &term, &mask);
	assert_int_equal(draw_under_term(png, &e), 0);
	assert_int_equal(sigwait(&term, &got), 0);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGTERM, &were, NULL);
	size_of("heatmap-bw.svg");	/* removes */
	size_of("heatmap-bw.png");
	size_of("heatmap-lat.svg");
	size_of("heatmap-lat.png");
	assert_int_equal(rmdir(scratch), 0);	/* nothing else is left */
	assert_int_equal(mkdir(scratch, 0700), 0);
}

static void test_nowhere_to_write(void **state)
{
	struct err e = { 0 };
	struct verdict v;
	struct run r;

	(void)state;
	fake_run(&r, 1, 2, 2);
	assert_int_equal(verdict_compute(&r, &v), 0);
	assert_int_not_equal(heatmap_render("/nowhere/at/all", &r, &v, false,
					    NULL, &e), 0);
	assert_true(e.text[0] != '\0');
	verdict_release(&v);
	run_release(&r);
}

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	(void)state;
	return rmdir(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn),
		cmocka_unit_test(test_gnuplot),
		cmocka_unit_test(test_no_gnuplot),
		cmocka_unit_test(test_gnuplot_fails),
		cmocka_unit_test(test_a_signal_while_drawing),
		cmocka_unit_test(test_nowhere_to_write),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
