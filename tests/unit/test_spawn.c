/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/units.h"

/** What a shell command did, within @limit_ms. */
struct result {
	struct str out, err;
	struct spawn_status st;
	int64_t took_ms;
};

static void run_shell(struct result *r, const char *command, size_t max,
		      int limit_ms)
{
	const char *const argv[] = { "sh", "-c", command, NULL };
	int64_t start_ns = clock_now_ns();

	*r = (struct result){ 0 };
	assert_int_equal(spawn_capture((char *const *)argv, &r->out, &r->err,
				       max, start_ns + limit_ms * NS_PER_MS,
				       &r->st, NULL),
			 0);
	r->took_ms = (clock_now_ns() - start_ns) / NS_PER_MS;
}

static void release(struct result *r)
{
	str_release(&r->out);
	str_release(&r->err);
}

static size_t count_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d)) {
		n++;
	}
	closedir(d);
	return n;
}

/** No zombie and no descriptor may stay behind, whatever happened. */
static int setup(void **state)
{
	static size_t before;

	before = count_open_fds();
	*state = &before;
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(count_open_fds(), *(size_t *)*state);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return 0;
}

static void outputs_and_exit_code(void **state)
{
	struct result r;
	char buf[64];

	(void)state;
	run_shell(&r, "echo data; echo talk >&2; exit 3", 100, 5000);
	assert_string_equal(str_text(&r.out), "data\n");
	assert_string_equal(str_text(&r.err), "talk\n");
	assert_int_equal(r.st.exit_code, 3);
	assert_int_equal(r.st.signal, 0);
	assert_false(r.st.timed_out);
	assert_string_equal(spawn_status_text(&r.st, buf, sizeof(buf)),
			    "exit code 3");
	release(&r);
}

static void a_signal_is_told(void **state)
{
	struct result r;
	char buf[64];

	(void)state;
	run_shell(&r, "kill -SEGV $$", 100, 5000);
	assert_int_equal(r.st.signal, SIGSEGV);
	assert_int_equal(r.st.exit_code, -1);
	assert_string_equal(spawn_status_text(&r.st, buf, sizeof(buf)),
			    "signal 11 (SIGSEGV)");
	release(&r);
}

static void a_missing_program_is_enoent(void **state)
{
	const char *const argv[] = { "no-such-program-here", NULL };
	struct spawn_status st;
	struct err e;

	(void)state;
	assert_int_equal(spawn_capture((char *const *)argv, NULL, NULL, 0,
				       clock_now_ns() + NS_PER_S, &st, &e),
			 -1);
	assert_int_equal(e.code, ENOENT);
	assert_string_equal(e.text, "cannot start 'no-such-program-here'");
}

static void unwanted_output_goes_nowhere(void **state)
{
	const char *const argv[] = { "sh", "-c", "echo x; echo y >&2; read z",
				     NULL };
	struct spawn_status st;

	(void)state;
	/* nor is there anything to read */
	assert_int_equal(spawn_capture((char *const *)argv, NULL, NULL, 0,
				       clock_now_ns() + 5 * NS_PER_S, &st,
				       NULL),
			 0);
	assert_int_equal(st.exit_code, 1);
}

static void the_rest_beyond_max_is_dropped(void **state)
{
	struct result r;

	(void)state;
	run_shell(&r, "head -c 3000000 /dev/zero | tr '\\0' x; echo >&2 end",
		  1000, 10000);
	assert_int_equal(r.out.len, 1000);
	assert_string_equal(str_text(&r.err), "end\n");
	assert_int_equal(r.st.exit_code, 0);
	release(&r);
}

static void much_output_arrives_whole(void **state)
{
	struct result r;

	(void)state;
	run_shell(&r, "head -c 3000000 /dev/zero | tr '\\0' x", 4000000,
		  10000);
	assert_int_equal(r.out.len, 3000000);
	release(&r);
}

/** Does process @pid still run?  A zombie that waits for init does not. */
static bool is_running(int64_t pid)
{
	char path[64], letter = 'Z';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f) {
		assert_int_equal(fscanf(f, "%*d %*s %c", &letter), 1);
		fclose(f);
	}
	return letter != 'Z';
}

static void a_deadline_kills_the_whole_group(void **state)
{
	struct result r;
	char buf[64];
	int64_t pid;

	(void)state;
	run_shell(&r, "sleep 60 & printf $!; wait", 100, 300);
	assert_true(r.st.timed_out);
	assert_in_range(r.took_ms, 290, 2000);
	assert_string_equal(spawn_status_text(&r.st, buf, sizeof(buf)),
			    "no answer in time");
	assert_int_equal(units_parse_int(str_text(&r.out), 2, INT_MAX, &pid,
					 NULL), 0);
	for (int i = 0; i < 100 && is_running(pid); i++) {
		usleep(20000);
	}
	assert_false(is_running(pid));
	release(&r);
}

static void an_endless_writer_is_stopped(void **state)
{
	struct result r;

	(void)state;
	run_shell(&r, "yes", 10, 300);
	assert_true(r.st.timed_out);
	assert_in_range(r.took_ms, 290, 2000);
	assert_string_equal(str_text(&r.out), "y\ny\ny\ny\ny\n");
	release(&r);
}

static void a_daemon_left_behind_does_not_hold_us(void **state)
{
	struct result r;

	(void)state;
	/* it keeps both pipes open for 2 s */
	run_shell(&r, "sleep 2 & echo started", 100, 10000);
	assert_int_equal(r.st.exit_code, 0);
	assert_string_equal(str_text(&r.out), "started\n");
	assert_true(r.took_ms < 1500);
	release(&r);
}

static void a_child_that_closed_its_outputs_is_waited_for(void **state)
{
	struct result r;

	(void)state;
	run_shell(&r, "exec >&- 2>&-; sleep 0.3; exit 5", 100, 5000);
	assert_int_equal(r.st.exit_code, 5);
	release(&r);
}

/** The signal by which @pid ends, in time; 0 otherwise, and it is killed. */
static int ends_by(pid_t pid)
{
	int64_t deadline_ns = clock_now_ns() + 20 * NS_PER_S;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_ms_left(deadline_ns) == 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return 0;
		}
		usleep(1000);
	}
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/** Whoever starts a child is killed: so is the child, even one that stands
 *  still. */
static void a_child_does_not_outlive_us(void **state)
{
	const char *const argv[] = { "sleep", "60", NULL };

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int stopped = 0; stopped < 2; stopped++) {
		struct spawn_child c;
		int fds[2];
		pid_t us;

		assert_int_equal(pipe(fds), 0);
		us = fork();
		if (us == 0) {
			spawn_start(&c, (char *const *)argv, NULL, NULL, 0,
				    NULL);
			kill(c.pid, stopped ? SIGSTOP : SIGCONT);
			_exit(write(fds[1], &c.pid, sizeof(c.pid)) < 0);
		}
		assert_int_equal(read(fds[0], &c.pid, sizeof(c.pid)),
				 sizeof(c.pid));
		close(fds[0]);
		close(fds[1]);
		waitpid(us, NULL, 0);
		assert_int_equal(ends_by(c.pid), SIGKILL);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void signals_are_not_inherited_ignored(void **state)
{
	void (*old)(int) = signal(SIGPIPE, SIG_IGN);
	struct result r;

	(void)state;
	run_shell(&r, "kill -PIPE $$; exit 0", 100, 5000);
	assert_int_equal(r.st.signal, SIGPIPE);
	release(&r);
	signal(SIGPIPE, old);
}

static void programs_are_found_on_path(void **state)
{
	char path[PATH_MAX], dir[] = "/tmp/gpucheck-test-XXXXXX";
	char full[PATH_MAX], *old = strdup(getenv("PATH"));

	(void)state;
	assert_true(spawn_find("sh", path, sizeof(path)));
	assert_int_equal(path[0], '/');
	assert_true(spawn_find(path, NULL, 0));
	assert_false(spawn_find("no-such-program-here", NULL, 0));
	assert_false(spawn_find("/etc/passwd", NULL, 0));
	/* a directory of that name is no program */
	assert_non_null(mkdtemp(dir));
	snprintf(full, sizeof(full), "%s/sh", dir);
	assert_int_equal(mkdir(full, 0755), 0);
	setenv("PATH", dir, 1);
	assert_false(spawn_find("sh", NULL, 0));
	snprintf(full, sizeof(full), "%s:%s", dir, old);
	setenv("PATH", full, 1);
	assert_true(spawn_find("sh", path, sizeof(path)));
	setenv("PATH", old, 1);
	snprintf(full, sizeof(full), "%s/sh", dir);
	rmdir(full);
	rmdir(dir);
	free(old);
}

static void unsafe_directories_leave_search_paths(void **state)
{
	static const struct {
		const char *name, *was, *is;
		bool again;	/* for the loader */
	} rows[] = {
		{ "LD_LIBRARY_PATH", "/opt/cuda/lib64:", "/opt/cuda/lib64",
		  true },
		{ "LD_LIBRARY_PATH", "/opt/a:/opt/b", "/opt/a:/opt/b", false },
		{ "LD_LIBRARY_PATH", "/opt/a;.", "/opt/a", true },
		{ "LD_LIBRARY_PATH", ":", "", true },
		{ "LD_LIBRARY_PATH", "", "", false },
		{ "PYTHONPATH", "lib:/opt/py::/tmp", "/opt/py", false },
		{ "PATH", ".:bin::/bin:/tmp:/no/such", "/bin:/no/such", false },
		{ "PATH", "", "/usr/bin:/bin", false },
	};
	char *old = strdup(getenv("PATH"));

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setenv(rows[i].name, rows[i].was, 1);
		assert_int_equal(spawn_clean_environment(), rows[i].again);
		assert_string_equal(getenv(rows[i].name), rows[i].is);
		assert_false(spawn_clean_environment());
	}
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("PYTHONPATH");
	assert_false(spawn_clean_environment());
	assert_null(getenv("PYTHONPATH"));
	setenv("PATH", old, 1);
	free(old);
}

/* It has gone to / and has another home: in what is another user's, and in what
 * a group may write. */
static void root_leaves_what_is_another_users(void **state)
{
	static const struct {
		uid_t owner;
		mode_t mode;
		bool left;
	} tries[] = { { 0, 0700, false }, { 65534, 0755, true },
		      { 0, 0770, true } };
	char dir[] = "/tmp/test_spawn.XXXXXX", at[PATH_MAX];
	int status;

	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (chown(dir, tries[i].owner, 0) < 0 ||
			    chmod(dir, tries[i].mode) < 0 || chdir(dir) < 0 ||
			    setenv("HOME", dir, 1) < 0) {
				_exit(2);
			}
			spawn_leave_strangers();
			_exit(!getcwd(at, sizeof(at)) ||
			      (strcmp(at, "/") == 0) != tries[i].left ||
			      (strcmp(getenv("HOME"), dir) != 0) !=
				      tries[i].left);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_int_equal(rmdir(dir), 0);
}

static void this_program_knows_its_path(void **state)
{
	char path[PATH_MAX], small[4];
	struct err e;

	(void)state;
	assert_int_equal(spawn_self(path, sizeof(path), &e), 0);
	assert_non_null(strstr(path, "/test_spawn"));
	assert_int_equal(spawn_self(small, sizeof(small), &e), -1);
	assert_int_equal(e.code, ENAMETOOLONG);
}

#define SPAWN_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SPAWN_TEST(outputs_and_exit_code),
		SPAWN_TEST(a_signal_is_told),
		SPAWN_TEST(a_missing_program_is_enoent),
		SPAWN_TEST(unwanted_output_goes_nowhere),
		SPAWN_TEST(the_rest_beyond_max_is_dropped),
		SPAWN_TEST(much_output_arrives_whole),
		SPAWN_TEST(a_deadline_kills_the_whole_group),
		SPAWN_TEST(an_endless_writer_is_stopped),
		SPAWN_TEST(a_daemon_left_behind_does_not_hold_us),
		SPAWN_TEST(a_child_that_closed_its_outputs_is_waited_for),
		SPAWN_TEST(a_child_does_not_outlive_us),
		SPAWN_TEST(signals_are_not_inherited_ignored),
		SPAWN_TEST(programs_are_found_on_path),
		SPAWN_TEST(unsafe_directories_leave_search_paths),
		SPAWN_TEST(root_leaves_what_is_another_users),
		SPAWN_TEST(this_program_knows_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
