/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/data/hosts.h"

static void lines_and_lists(void **state)
{
	static const char text[] = "# ours\n"
				   "gpu[01-03]  # the new ones\n"
				   "\n"
				   "  root@login,10.1.0.1\r\n"
				   "last";
	struct hosts h;

	(void)state;
	assert_int_equal(hosts_parse(text, sizeof(text) - 1, &h, NULL), 0);
	assert_int_equal(h.n, 6);
	assert_string_equal(h.names[0], "gpu01");
	assert_string_equal(h.names[3], "root@login");
	assert_string_equal(hosts_name(h.names[3]), "login");
	assert_string_equal(h.names[4], "10.1.0.1");
	assert_string_equal(h.names[5], "last");
	hosts_release(&h);
}

static void bad(const char *text, const char *why)
{
	struct hosts h;
	struct err e = { 0 };

	assert_int_equal(hosts_parse(text, strlen(text), &h, &e), -1);
	if (!strstr(e.text, why)) {
		fail_msg("no '%s' in '%s'", why, e.text);
	}
}

static void no_host(void **state)
{
	(void)state;
	bad("", "the list names no host");
	bad("# nobody\n", "the list names no host");
	bad("n1\n-oProxyCommand=x\n", "line 2");
	bad("root@-x\n", "line 1");
	bad("root@\n", "line 1");
	bad("n1;reboot\n", "line 1");
	bad("n1\nn2 n3\n", "line 2");
	bad("gpu[1-\n", "line 1");
	bad("g[1-4000],h[1-4000]\n", "too many");
}

/* Which of gpu1, gpu2 and root@gpu3 --nodelist and --exclude leave; NULL: an
 * error about @text. */
static void chosen(const char *only, const char *without, const char *left,
		   const char *text)
{
	static const char list[] = "gpu[1-2],root@gpu3";
	struct str got = STR_INIT;
	struct hosts h;
	struct err e = { 0 };

	assert_int_equal(hosts_parse(list, sizeof(list) - 1, &h, NULL), 0);
	assert_int_equal(hosts_choose(&h, only, without, &e), left ? 0 : -1);
	for (size_t i = 0; left && i < h.n; i++) {
		str_addf(&got, "%s ", h.names[i]);
	}
	assert_string_equal(str_text(&got), left ? left : "");
	assert_non_null(strstr(e.text, text));
	/* a file that is not there is a host, too */
	assert_true(!text[0] || text[0] != '\'' ||
		    strstr(e.hint, "3 hosts; the first is 'gpu1'"));
	str_release(&got);
	hosts_release(&h);
}

static void some_are_left_out(void **state)
{
	(void)state;
	chosen("", "", "gpu1 gpu2 root@gpu3 ", "");
	chosen("gpu[2-3]", "", "gpu2 root@gpu3 ", "");
	chosen("", "gpu[2-3]", "gpu1 ", "");
	chosen("gpu[1-2]", "gpu1", "gpu2 ", "");
	chosen("gpu1", "gpu1", NULL, "leaves no node");
	chosen("gpu4", "", NULL, "--nodelist");
	chosen("", "gpu[3-4]", NULL, "'gpu4'");
}

/* It is read more than once, which a pipe does not bear. */
static void a_pipe_is_no_list(void **state)
{
	char path[32];
	struct err e = { 0 };
	struct hosts h;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "n1\n", 3), 3);
	close(fds[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	assert_int_equal(hosts_read(path, &h, &e), -1);
	assert_non_null(strstr(e.text, "is not a file"));
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_lists),
		cmocka_unit_test(no_host),
		cmocka_unit_test(some_are_left_out),
		cmocka_unit_test(a_pipe_is_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
