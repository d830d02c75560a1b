/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/data/record_rows.h"
#include "lib/data/rundir.h"

/** Every test runs inside a fresh directory of its own. */
static char here[] = "/tmp/gpucheck-test-XXXXXX";
static char above[PATH_MAX];

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	(void)state;
	memcpy(here + sizeof(here) - 7, "XXXXXX", 6);
	return !getcwd(above, sizeof(above)) || !mkdtemp(here) || chdir(here);
}

static int teardown(void **state)
{
	(void)state;
	return chdir(above) ||
	       nftw(here, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void default_name_says_what_and_when(void **state)
{
	/* d: digit, h: hex digit, the rest stands for itself */
	static const char shape[] = "gpucheck-p2p-ddddddddTddddddZ-hhhhhh";
	char path[PATH_MAX], other[PATH_MAX];
	const char *name;

	(void)state;
	assert_int_equal(rundir_create(NULL, "p2p", path, NULL), 0);
	assert_int_equal(rundir_create(NULL, "p2p", other, NULL), 0);
	assert_string_not_equal(path, other);
	assert_true(str_starts(path, here));
	name = strrchr(path, '/') + 1;
	assert_int_equal(strlen(name), strlen(shape));
	for (size_t i = 13; shape[i]; i++) {
		if (shape[i] == 'd' || shape[i] == 'h') {
			assert_non_null(strchr(shape[i] == 'd' ?
						       "0123456789" :
						       "0123456789abcdef",
					       name[i]));
		} else {
			assert_int_equal(name[i], shape[i]);
		}
	}
	assert_memory_equal(name, shape, 13);
	assert_int_equal(rundir_path(path, RUN_LOGS, other, NULL), 0);
	assert_true(is_dir(other));
}

static void a_named_directory_is_made_or_taken_when_empty(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(rundir_create("new", "p2p", path, NULL), 0);
	assert_int_equal(path[0], '/');
	assert_true(is_dir("new/logs"));
	assert_int_equal(mkdir("empty", 0777), 0);
	assert_int_equal(rundir_create("empty/", "p2p", path, NULL), 0);
	assert_true(is_dir("empty/logs"));
	assert_string_equal(strrchr(path, '/'), "/empty");
}

static void a_used_directory_is_refused_untouched(void **state)
{
	char path[PATH_MAX] = "as it was";
	struct err e;

	(void)state;
	assert_int_equal(mkdir("used", 0777), 0);
	assert_int_equal(mkdir("used/.hidden", 0777), 0);
	assert_int_equal(rundir_create("used", "p2p", path, &e), -1);
	assert_int_equal(e.code, ENOTEMPTY);
	assert_non_null(strstr(e.text, "'used'"));
	assert_non_null(strstr(e.hint, "-o"));
	assert_false(is_dir("used/logs"));
	assert_string_equal(path, "as it was");
}

static void what_has_not_begun_is_taken_back(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(rundir_create("back", "p2p", path, NULL), 0);
	assert_int_equal(rundir_write_text(path, RUN_JSON, "{}", 0666, NULL),
			 0);
	assert_int_equal(rundir_write_text(path, "notes", "mine", 0666, NULL),
			 0);
	assert_int_equal(rundir_discard(path, true), -1);
	assert_int_equal(access("back/run.json", F_OK), 0);
	assert_true(is_dir("back/logs"));
	unlink("back/notes");
	assert_int_equal(mkdir("back/logs/x", 0777), 0);
	assert_int_equal(rundir_discard(path, true), -1);
	assert_int_equal(access("back/run.json", F_OK), 0);
	rmdir("back/logs/x");
	assert_int_equal(rundir_discard(path, false), 0);
	assert_int_equal(rmdir("back"), 0);	/* there, and empty */
	assert_int_equal(rundir_create("back", "p2p", path, NULL), 0);
	assert_int_equal(rundir_discard(path, true), 0);
	assert_false(is_dir("back"));
}

/** A writer that was killed leaves no more than its half-written file. */
static void half_written_is_swept(void **state)
{
	static const struct {
		const char *name;
		bool swept;
	} cases[] = {
		{ ".run.json.0af3c9", true }, { "run.json.0af3c9", false },
		{ ".run.json.0af3c", false }, { ".run.json.0af3cg", false },
		{ ".nfs0000000012", false }, { ".0af3c9", false },
		{ "logs/.agent-0.json.0af3c9", true },
	};
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(rundir_create("swept", "p2p", path, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		rundir_write_text(path, cases[i].name, "{", 0666, NULL);
	}
	rundir_sweep(path);
	assert_int_equal(chdir(path), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(access(cases[i].name, F_OK),
				 cases[i].swept ? -1 : 0);
	}
	assert_true(is_dir("logs"));
	assert_int_equal(chdir(".."), 0);
}

static void what_cannot_be_a_directory(void **state)
{
	static const struct {
		const char *name;
		int code;
	} bad[] = {
		{ "no/such/parent", ENOENT },
		{ "", ENOENT },
		{ "/dev/full", ENOTDIR },
		{ "/dev/full/x", ENOTDIR },
		{ "/proc/x", ENOENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char path[PATH_MAX];
		struct err e;

		assert_int_equal(rundir_create(bad[i].name, "p2p", path, &e),
				 -1);
		assert_int_equal(e.code, bad[i].code);
	}
}

static void paths_have_a_limit(void **state)
{
	char dir[PATH_MAX + 1], buf[PATH_MAX];
	struct err e;

	(void)state;
	memset(dir, 'x', sizeof(dir));
	dir[PATH_MAX - 3] = '\0';
	assert_int_equal(rundir_path(dir, "y", buf, &e), 0);
	assert_int_equal(rundir_path(dir, "yy", buf, &e), -1);
	assert_int_equal(e.code, ENAMETOOLONG);
}

static void text_is_replaced_whole(void **state)
{
	struct stat st;
	size_t len;
	char *text;

	(void)state;
	assert_int_equal(rundir_write_text(".", "a", "first\n", 0600, NULL),
			 0);
	assert_int_equal(rundir_write_text(".", "a", "2\n", 0600, NULL), 0);
	text = rundir_read_text(".", "a", 100, &len, NULL);
	assert_string_equal(text, "2\n");
	assert_int_equal(len, 2);
	free(text);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* nothing is left beside it */
	assert_int_equal(unlink("a"), 0);
	assert_int_equal(rmdir(here), 0);
	assert_int_equal(mkdir(here, 0777), 0);
	assert_int_equal(chdir(here), 0);
}

static void a_failed_write_leaves_the_old_text(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(rundir_write_text("gone", "a", "x", 0600, &e), -1);
	assert_int_equal(e.code, ENOENT);
	/* a directory cannot be replaced by a file */
	assert_int_equal(mkdir("a", 0777), 0);
	assert_int_equal(rundir_write_text(".", "a", "x", 0600, &e), -1);
	assert_int_equal(e.code, EISDIR);
	assert_int_equal(rmdir("a"), 0);
	assert_int_equal(rmdir(here), 0);	/* no half-written file left */
	assert_int_equal(mkdir(here, 0777), 0);
	assert_int_equal(chdir(here), 0);
}

static void reading_has_limits(void **state)
{
	struct err e;
	char *text;

	(void)state;
	assert_null(rundir_read_text(".", "none", 10, NULL, &e));
	assert_int_equal(e.code, ENOENT);
	assert_int_equal(rundir_write_text(".", "a", "0123456789", 0600, NULL),
			 0);
	assert_null(rundir_read_text(".", "a", 9, NULL, &e));
	assert_int_equal(e.code, EFBIG);
	text = rundir_read_text(".", "a", 10, NULL, &e);
	assert_string_equal(text, "0123456789");
	free(text);
	assert_int_equal(rundir_write_text(".", "empty", "", 0600, NULL), 0);
	text = rundir_read_text(".", "empty", 10, NULL, &e);
	assert_string_equal(text, "");
	free(text);
	/* would wait for a writer, for ever */
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_null(rundir_read_text(".", "fifo", 10, NULL, &e));
}

static void json_goes_there_and_back(void **state)
{
	json_t *json = json_pack("{s:i, s:s}", "zeta", 1, "alpha", "two");
	json_t *back;
	char *text;

	(void)state;
	assert_int_equal(rundir_write_json(".", RUN_JSON, json, NULL), 0);
	back = rundir_read_json(".", RUN_JSON, NULL);
	assert_true(json_equal(json, back));
	text = rundir_read_text(".", RUN_JSON, 1000, NULL, NULL);
	assert_string_equal(text,
			    "{\n  \"zeta\": 1,\n  \"alpha\": \"two\"\n}\n");
	free(text);
	json_decref(back);
	json_decref(json);
}

/** What no person reads to its end takes a third of the room. */
static void long_lists_are_not_written_for_people(void **state)
{
	json_t *json = json_object(), *pairs = json_array(), *back;
	char *text;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		json_array_append_new(pairs, json_pack("[i,i]", i, i + 1));
	}
	json_object_set_new(json, "pairs", pairs);
	assert_int_equal(rundir_write_json(".", RUN_JSON, json, NULL), 0);
	back = rundir_read_json(".", RUN_JSON, NULL);
	assert_true(json_equal(json, back));
	text = rundir_read_text(".", RUN_JSON, 1 << 20, NULL, NULL);
	assert_non_null(text);
	assert_int_equal(strcspn(text, "\n"), strlen(text) - 1);
	free(text);
	json_decref(back);
	json_decref(json);
}

static void json_that_is_none_says_where(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "run.json" },
		{ "{\n \"a\": 1,\n}", "line 3" },
		{ "[1, 2]", "not a JSON object" },
		{ "{\"a\": 1, \"a\": 2}", "line 1" },
		{ "{} {}", "line 1" },
	};
	struct str deep = STR_INIT;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rundir_write_text(".", RUN_JSON, bad[i].text, 0600, NULL);
		assert_null(rundir_read_json(".", RUN_JSON, &e));
		assert_non_null(strstr(e.text, bad[i].why));
		assert_non_null(strstr(e.text, "./run.json"));
	}
	for (int i = 0; i < 100000; i++) {
		str_add(&deep, "{\"a\":");
	}
	rundir_write_text(".", RUN_JSON, str_text(&deep), 0600, NULL);
	assert_null(rundir_read_json(".", RUN_JSON, &e));
	str_release(&deep);
}

static void add_event(struct rundir_table *t, int64_t seq)
{
	struct event_row row;

	record_init(&schema_events, &row);
	row.seq = seq;
	STR_COPY(row.event, "start");
	assert_int_equal(rundir_table_add(t, &row, NULL), 0);
}

static void expect_text(const char *name, const char *want)
{
	char *text = rundir_read_text(".", name, 10000, NULL, NULL);

	assert_string_equal(text, want);
	free(text);
}

static void a_table_grows_across_openings(void **state)
{
	struct rundir_table t;

	(void)state;
	assert_int_equal(rundir_table_open(&t, ".", &schema_events, NULL), 0);
	add_event(&t, 1);
	/* already there, not in a buffer */
	expect_text(RUN_EVENTS, "utc,seq,node,rank,event,detail\n"
				",1,,,start,\n");
	rundir_table_close(&t);
	rundir_table_close(&t);
	assert_int_equal(rundir_table_open(&t, ".", &schema_events, NULL), 0);
	add_event(&t, 2);
	rundir_table_close(&t);
	expect_text(RUN_EVENTS, "utc,seq,node,rank,event,detail\n"
				",1,,,start,\n,2,,,start,\n");
}

static void a_torn_line_does_not_swallow_the_next(void **state)
{
	struct rundir_table t;

	(void)state;
	rundir_write_text(".", RUN_EVENTS,
			  "utc,seq,node,rank,event,detail\n,1,,,st", 0600,
			  NULL);
	assert_int_equal(rundir_table_open(&t, ".", &schema_events, NULL), 0);
	add_event(&t, 2);
	rundir_table_close(&t);
	expect_text(RUN_EVENTS, "utc,seq,node,rank,event,detail\n"
				",2,,,start,\n");
}

#define EVENTS "utc,seq,node,rank,event,detail\n"

/* Even numbers stay; 13 ends it. */
static int keep_even(void *arg, const void *row, struct err *e)
{
	const struct event_row *r = row;
	int64_t *sum = arg;

	if (r->seq == 13) {
		return err_set(e, 0, "thirteen");
	}
	*sum += r->seq;
	return r->seq % 2 ? RUNDIR_DROP : RUNDIR_KEEP;
}

static void a_table_is_thinned_out_byte_for_byte(void **state)
{
	/* quotes and a comma as they may stand there, a torn last line */
	static const char text[] = EVENTS ",1,,,odd,\n,2,,\"3\",\"a,b\",\n"
				   "no row\n,4,,,x,\n,6,,,half,";
	int64_t sum = 0;
	size_t out = 7;
	struct stat st;
	struct err e;

	(void)state;
	/* no file, or nothing in it: no rows */
	assert_int_equal(rundir_table_walk(".", &schema_events, true,
					   keep_even, &sum, &out, NULL), 0);
	assert_int_equal(out, 0);
	rundir_write_text(".", RUN_EVENTS, "", 0640, NULL);
	assert_int_equal(rundir_table_walk(".", &schema_events, true,
					   keep_even, &sum, NULL, NULL), 0);

	rundir_write_text(".", RUN_EVENTS, text, 0640, NULL);
	assert_int_equal(rundir_table_walk(".", &schema_events, false,
					   keep_even, &sum, &out, NULL), 0);
	assert_int_equal(sum, 7);
	assert_int_equal(out, 3);
	expect_text(RUN_EVENTS, text);
	assert_int_equal(rundir_table_walk(".", &schema_events, true,
					   keep_even, &sum, &out, NULL), 0);
	assert_int_equal(out, 3);
	expect_text(RUN_EVENTS, EVENTS ",2,,\"3\",\"a,b\",\n,4,,,x,\n");
	assert_int_equal(stat(RUN_EVENTS, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);

	rundir_write_text(".", RUN_EVENTS, EVENTS ",2,,,a,\n,13,,,b,\n",
			  0600, NULL);
	assert_int_equal(rundir_table_walk(".", &schema_events, true,
					   keep_even, &sum, NULL, &e), -1);
	assert_string_equal(e.text, "thirteen");
	expect_text(RUN_EVENTS, EVENTS ",2,,,a,\n,13,,,b,\n");
}

static void other_columns_are_not_added_to(void **state)
{
	int64_t sum = 0;
	struct err e;

	(void)state;
	rundir_write_text(".", RUN_EVENTS, "event,seq\n,2\n", 0600, NULL);
	assert_int_equal(rundir_table_walk(".", &schema_events, false,
					   keep_even, &sum, NULL, NULL), 0);
	assert_int_equal(rundir_table_walk(".", &schema_events, true,
					   keep_even, &sum, NULL, &e), -1);
	assert_non_null(strstr(e.text, "columns of"));
	expect_text(RUN_EVENTS, "event,seq\n,2\n");
}

static void what_others_write_is_not_believed(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(mkdir("shared", 0755), 0);
	assert_int_equal(rundir_check_trust("shared", &e), 0);
	assert_int_equal(chmod("shared", 0775), 0);	/* a project's */
	assert_int_equal(rundir_check_trust("shared", &e),
			 geteuid() == 0 ? -1 : 0);
	assert_int_equal(chmod("shared", 0777), 0);
	assert_int_equal(rundir_check_trust("shared", &e), -1);
	assert_int_equal(chmod("shared", 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown("shared", 65534, 65534), 0);
		assert_int_equal(rundir_check_trust("shared", &e), -1);
	}
	assert_int_equal(rmdir("shared"), 0);
	assert_int_equal(rundir_check_trust("shared", &e), -1);
	assert_int_equal(e.code, ENOENT);
}

/** What was checked is used, and not what is put in its place. */
static void a_checked_directory_stays(void **state)
{
	char base[PATH_MAX], whole[PATH_MAX + 8];
	const char *const names[] = { whole, "./kept" };
	struct err e;
	char *text;

	(void)state;
	assert_non_null(getcwd(base, sizeof(base)));
	snprintf(whole, sizeof(whole), "%s/kept", base);
	for (int i = 0; i < 2; i++) {
		const char *dir = names[i];

		assert_int_equal(mkdir("kept", 0755), 0);
		rundir_write_text(dir, "a", "ours", 0600, NULL);
		assert_int_equal(rundir_check_trust(dir, &e), 0);
		assert_int_equal(rename("kept", "away"), 0);
		assert_int_equal(mkdir("kept", 0755), 0);
		rundir_write_text("kept", "a", "theirs", 0600, NULL);

		text = rundir_read_text(dir, "a", 100, NULL, &e);
		assert_non_null(text);
		assert_string_equal(text, "ours");
		free(text);
		rundir_write_text(dir, "b", "ours", 0600, NULL);
		assert_int_equal(access("away/b", F_OK), 0);
		assert_int_equal(access("kept/b", F_OK), -1);
		rundir_remove(dir, "b");
		assert_false(rundir_has(dir, "b"));

		/* until it is gone: then another may be made */
		rundir_remove(dir, "a");
		assert_int_equal(rmdir("away"), 0);
		assert_int_equal(rundir_check_trust(dir, &e), 0);
		text = rundir_read_text(dir, "a", 100, NULL, &e);
		assert_non_null(text);
		assert_string_equal(text, "theirs");
		free(text);
		rundir_remove(dir, "a");
		assert_int_equal(rmdir("kept"), 0);
		rundir_forget(dir);
	}
}

/** Root would write where the link of another user leads. */
static void root_follows_no_link_of_others(void **state)
{
	char path[PATH_MAX];
	struct err e = { 0 };

	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	assert_int_equal(mkdir("target", 0755), 0);
	assert_int_equal(symlink("target", "link"), 0);
	assert_int_equal(rundir_create("link", "p2p", path, &e), 0);
	assert_int_equal(rundir_discard(path, false), 0);
	assert_int_equal(lchown("link", 65534, 65534), 0);
	assert_int_equal(rundir_create("link", "p2p", path, &e), -1);
	assert_non_null(strstr(e.text, "does not follow the link to 'target', "
				       "which belongs to user 65534"));
	assert_int_equal(rundir_create("link/below", "p2p", path, &e), -1);
	assert_int_equal(access("target/below", F_OK), -1);
	assert_int_equal(access("target/logs", F_OK), -1);
}

static void one_front_at_a_time(void **state)
{
	char who[64], self[64];
	int first, second;

	(void)state;
	assert_int_equal(rundir_claim(".", &first, who, sizeof(who)), 0);
	assert_true(first >= 0);
	assert_int_equal(rundir_claim(".", &second, who, sizeof(who)), -1);
	assert_int_equal(second, -1);
	snprintf(self, sizeof(self), "process %ld on ", (long)getpid());
	assert_memory_equal(who, self, strlen(self));
	rundir_unclaim(".", first);
	assert_int_equal(access(RUN_HOLDER, F_OK), -1);
	assert_int_equal(rundir_claim(".", &second, who, sizeof(who)), 0);
	rundir_unclaim(".", second);
}

static void a_table_begins_anew(void **state)
{
	struct rundir_table t;

	(void)state;
	rundir_table_open(&t, ".", &schema_events, NULL);
	add_event(&t, 1);
	assert_int_equal(rundir_table_restart(&t, NULL), 0);
	add_event(&t, 2);
	rundir_table_close(&t);
	expect_text(RUN_EVENTS, EVENTS ",2,,,start,\n");
}

static void one_coordinator_a_directory(void **state)
{
	struct rundir_table one, two;
	struct err e;

	(void)state;
	assert_false(rundir_is_held("."));
	rundir_table_open(&one, ".", &schema_events, NULL);
	assert_false(rundir_is_held("."));
	assert_int_equal(rundir_hold(one.fd, &e), 0);
	assert_true(rundir_is_held("."));
	assert_true(rundir_is_held("."));
	rundir_table_open(&two, ".", &schema_events, NULL);
	assert_int_equal(rundir_hold(two.fd, &e), -1);
	assert_int_equal(e.code, EBUSY);
	rundir_table_close(&two);
	assert_true(rundir_is_held("."));
	rundir_table_close(&one);
	assert_false(rundir_is_held("."));
	/* who has runs made in there has no events of its own */
	rundir_table_open(&one, ".", &schema_step, NULL);
	assert_int_equal(rundir_hold(one.fd, &e), 0);
	assert_true(rundir_is_held("."));
	rundir_table_close(&one);
	assert_false(rundir_is_held("."));
}

/* Touches its events a little later, as a coordinator does. */
static void *touch_later(void *arg)
{
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	utimensat(AT_FDCWD, RUN_EVENTS, NULL, 0);
	return arg;
}

static void signs_of_life_are_new_ones(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	pthread_t thread;

	(void)state;
	assert_false(rundir_signs("."));
	rundir_write_text(".", RUN_EVENTS, "x", 0600, NULL);
	utimensat(AT_FDCWD, RUN_EVENTS, old, 0);
	assert_false(rundir_signs("."));	/* without a wait */
	utimensat(AT_FDCWD, RUN_EVENTS, NULL, 0);
	assert_int_equal(pthread_create(&thread, NULL, touch_later, NULL), 0);
	assert_true(rundir_signs("."));
	pthread_join(thread, NULL);
}

/* What others put there leads nobody's hand or eye elsewhere. */
static void no_link_is_followed_inside(void **state)
{
	struct rundir_table t;
	int64_t sum = 0;
	struct err e;

	(void)state;
	rundir_write_text(".", "victim", EVENTS "half a line", 0600, NULL);
	assert_int_equal(mkdir("real", 0755), 0);
	assert_int_equal(symlink("../victim", "real/" RUN_EVENTS), 0);
	assert_int_equal(symlink("real", "typed"), 0);
	assert_int_equal(rundir_table_open(&t, "typed", &schema_events, &e),
			 -1);
	assert_non_null(strstr(e.text,
			       "'typed/events.csv' is a symbolic link"));
	assert_null(rundir_open("real", RUN_EVENTS, &e));
	assert_null(rundir_read_text("real", RUN_EVENTS, 100, NULL, &e));
	assert_int_equal(rundir_table_walk("real", &schema_events, true,
					   keep_even, &sum, NULL, &e), -1);
	assert_false(rundir_is_held("real"));
	assert_int_equal(rundir_sign_ns("real"), 0);
	expect_text("victim", EVENTS "half a line");
	/* it is replaced, not what it leads to */
	assert_int_equal(rundir_write_text("real", RUN_EVENTS, "x", 0600,
					   NULL), 0);
	expect_text("victim", EVENTS "half a line");
	expect_text("real/" RUN_EVENTS, "x");
	/* nor by a folder below */
	assert_int_equal(symlink("..", "real/" RUN_LOGS), 0);
	assert_null(rundir_open("real", RUN_LOGS "/victim", &e));
	assert_null(rundir_open("real", "../victim", &e));
	assert_int_equal(rundir_write_text("real", RUN_LOGS "/victim", "x",
					   0600, &e), -1);
}

/* A FIFO would wait for ever, a device take what it gets. */
static void only_files_are_written(void **state)
{
	struct rundir_table t;
	struct err e;

	(void)state;
	assert_int_equal(mkfifo(RUN_EVENTS, 0600), 0);
	assert_int_equal(rundir_table_open(&t, ".", &schema_events, &e), -1);
	assert_non_null(strstr(e.text, "'./events.csv' is not a file"));
	assert_int_equal(rundir_open_fd(".", RUN_EVENTS, O_WRONLY, &e), -1);
	assert_non_null(strstr(e.text, "is not a file"));
	assert_false(rundir_is_held("."));
	rundir_table_close(&t);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static void nothing_is_made_for_others_to_write(void **state)
{
	const bool root = geteuid() == 0;
	const struct {
		mode_t was;
		unsigned dir, file;
	} rows[] = {
		{ 0, 0755, 0644 },     { 002, 0775, 0664 },
		{ 020, 0755, 0644 },   { 022, 0755, 0644 },
		{ 027, 0750, 0640 },   { 077, 0700, 0600 },
	};
	const mode_t before = umask(022);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char path[PATH_MAX];

		umask(rows[i].was);
		rundir_umask();
		assert_int_equal(rundir_create(NULL, "p2p", path, NULL), 0);
		assert_int_equal(mode_of(path), root ? 0700 : rows[i].dir);
		assert_int_equal(chdir(path), 0);
		rundir_write_text(".", "a", "x", 0666, NULL);
		assert_int_equal(mode_of("a"), root ? 0600 : rows[i].file);
		assert_int_equal(mode_of(RUN_LOGS), root ? 0700 : rows[i].dir);
		assert_int_equal(chdir(".."), 0);
	}
	umask(before);
}

/** Is directory "x", below one of mode @over, of @owner and with @mode,
 *  taken? */
static int take(unsigned over, unsigned owner, unsigned mode, struct err *e)
{
	char path[PATH_MAX];
	int rc;

	*e = (struct err){ 0 };
	assert_int_equal(mkdir("above", 0755), 0);
	assert_int_equal(mkdir("above/x", 0755), 0);
	assert_int_equal(chmod("above/x", mode), 0);
	assert_int_equal(chown("above/x", owner, (gid_t)-1), 0);
	assert_int_equal(chmod("above", over), 0);
	rc = rundir_create("above/x", "p2p", path, e);
	assert_int_equal(chmod("above", 0755), 0);
	rmdir("above/x/logs");
	assert_int_equal(rmdir("above/x"), 0);
	assert_int_equal(rmdir("above"), 0);
	return rc;
}

static void only_an_own_directory_is_written(void **state)
{
	const unsigned me = geteuid();
	struct err e;

	(void)state;
	assert_int_equal(take(0755, me, 0755, &e), 0);
	assert_int_equal(take(0755, me, 0777, &e), -1);
	assert_non_null(strstr(e.text, "all users can write"));
	assert_non_null(strstr(e.hint, "chmod"));
	/* a project's folder */
	assert_int_equal(take(0775, me, 0775, &e), me ? 0 : -1);
	assert_int_equal(take(0777, me, 0755, &e), me ? 0 : -1);
	if (me != 0) {
		print_message("# not root: no directory of others to try\n");
		skip();
	}
	assert_non_null(strstr(e.text, "rename"));
	assert_int_equal(take(01777, me, 0755, &e), 0);
	assert_int_equal(take(0755, me, 0775, &e), -1);
	assert_non_null(strstr(e.text, "a group can write"));
	assert_int_equal(take(0755, 65534, 0755, &e), -1);
	assert_non_null(strstr(e.text, "belongs to user 65534"));
	assert_non_null(strstr(e.hint, "-o"));
}

/** What was put waits for a flush, for 64 KiB, or for a row that is added. */
static void rows_are_kept_back_for_a_while(void **state)
{
	const char *head = "utc,seq,node,rank,event,detail\n";
	struct rundir_table t;
	struct event_row row;
	struct stat st;

	(void)state;
	unlink(RUN_EVENTS);
	assert_int_equal(rundir_table_open(&t, ".", &schema_events, NULL), 0);
	record_init(&schema_events, &row);
	row.seq = 1;
	assert_int_equal(rundir_table_put(&t, &row, NULL), 0);
	expect_text(RUN_EVENTS, head);
	assert_int_equal(rundir_table_flush(&t, NULL), 0);
	expect_text(RUN_EVENTS, "utc,seq,node,rank,event,detail\n,1,,,,\n");
	assert_int_equal(rundir_table_put(&t, &row, NULL), 0);
	add_event(&t, 2);
	expect_text(RUN_EVENTS, "utc,seq,node,rank,event,detail\n,1,,,,\n"
				",1,,,,\n,2,,,start,\n");
	memset(row.detail, 'x', 250);
	for (int i = 0; i < RUNDIR_TABLE_BYTES / 250; i++) {
		assert_int_equal(rundir_table_put(&t, &row, NULL), 0);
	}
	assert_int_equal(stat(RUN_EVENTS, &st), 0);
	assert_in_range(st.st_size, RUNDIR_TABLE_BYTES,
			RUNDIR_TABLE_BYTES + 500);
	rundir_table_close(&t);		/* the rest */
	assert_int_equal(stat(RUN_EVENTS, &st), 0);
	assert_in_range(st.st_size, RUNDIR_TABLE_BYTES + 500,
			2 * RUNDIR_TABLE_BYTES);
	unlink(RUN_EVENTS);
}

/** A file system of 16 KiB that fills up while rows are added, one by one and
 *  several at a time. */
static void fill_disk(int (*add)(struct rundir_table *t, const void *row,
				 struct err *e), size_t kept_back)
{
	struct record_reader r;
	struct rundir_table t;
	struct event_row row;
	struct err e = { 0 };
	size_t added = 0, found = 0;
	FILE *f;

	assert_int_equal(mkdir("small", 0777), 0);
	if (mount("tmpfs", "small", "tmpfs", 0, "size=16k") < 0) {
		print_message("# cannot mount a tmpfs here: %s\n",
			      strerror(errno));
		skip();
	}
	assert_int_equal(rundir_table_open(&t, "small", &schema_events, &e),
			 0);
	record_init(&schema_events, &row);
	memset(row.detail, 'x', 250);
	for (row.seq = 0; add(&t, &row, &e) == 0; row.seq++) {
		added++;
	}
	rundir_table_close(&t);
	f = fopen("small/events.csv", "r");
	record_reader_open(&r, &schema_events, f, NULL);
	while (record_reader_next(&r, &row, NULL) == 1) {
		found++;
	}
	fclose(f);
	record_reader_close(&r);
	assert_int_equal(umount("small"), 0);

	assert_int_equal(e.code, ENOSPC);
	assert_non_null(strstr(e.text, "small/events.csv"));
	assert_in_range(found, 10, 100);
	assert_in_range(added, found, found + kept_back);
	assert_int_equal(r.bad_rows, 0);
	assert_int_equal(rmdir("small"), 0);
}

static void rows_stay_whole_when_the_disk_fills(void **state)
{
	(void)state;
	fill_disk(rundir_table_add, 0);
	fill_disk(rundir_table_put, RUNDIR_TABLE_BYTES / 250);
}

/** A writer that leaves errors to the stream. */
static int put_pages(void *arg, FILE *f)
{
	for (int i = 0; i < 3 * 4096; i++) {
		fputc('x', f);
	}
	return *(int *)arg;
}

/** Of a file system that fills up there is room for the last words. */
static void room_is_kept_for_the_last_words(void **state)
{
	struct err e = { 0 };
	struct stat st;
	int filler, fd, rc = 0;
	char page[4096] = { 0 };

	(void)state;
	assert_int_equal(mkdir("small", 0777), 0);
	if (mount("tmpfs", "small", "tmpfs", 0, "size=64k") < 0) {
		print_message("# cannot mount a tmpfs here: %s\n",
			      strerror(errno));
		skip();
	}
	/* not more than a quarter of what there is, and not to be seen */
	fd = rundir_keep_room("small", 1 << 20);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 16 * 1024);
	assert_int_equal(st.st_nlink, 0);
	filler = open("small/filler", O_WRONLY | O_CREAT, 0666);
	while (write(filler, page, sizeof(page)) > 0) {
	}
	close(filler);
	assert_int_equal(rundir_write_text("small", RUN_JSON, "{}", 0666, &e),
			 -1);
	assert_int_equal(e.code, ENOSPC);
	assert_int_equal(rundir_write_with("small", "rows", 0666, put_pages,
					   &rc, &e), -1);
	assert_int_equal(access("small/rows", F_OK), -1);
	/* where there is none, none is held */
	assert_int_equal(rundir_keep_room("small/none", 4096), -1);
	close(fd);
	assert_int_equal(rundir_write_text("small", RUN_JSON, "{}", 0666, &e),
			 0);
	assert_int_equal(umount("small"), 0);
}

#define DIR_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIR_TEST(default_name_says_what_and_when),
		DIR_TEST(a_named_directory_is_made_or_taken_when_empty),
		DIR_TEST(a_used_directory_is_refused_untouched),
		DIR_TEST(what_has_not_begun_is_taken_back),
		DIR_TEST(half_written_is_swept),
		DIR_TEST(what_cannot_be_a_directory),
		DIR_TEST(paths_have_a_limit),
		DIR_TEST(text_is_replaced_whole),
		DIR_TEST(a_failed_write_leaves_the_old_text),
		DIR_TEST(reading_has_limits),
		DIR_TEST(json_goes_there_and_back),
		DIR_TEST(json_that_is_none_says_where),
		DIR_TEST(a_table_grows_across_openings),
		DIR_TEST(a_torn_line_does_not_swallow_the_next),
		DIR_TEST(a_table_is_thinned_out_byte_for_byte),
		DIR_TEST(other_columns_are_not_added_to),
		DIR_TEST(a_checked_directory_stays),
		DIR_TEST(root_follows_no_link_of_others),
		DIR_TEST(one_front_at_a_time),
		DIR_TEST(what_others_write_is_not_believed),
		DIR_TEST(a_table_begins_anew),
		DIR_TEST(one_coordinator_a_directory),
		DIR_TEST(signs_of_life_are_new_ones),
		DIR_TEST(no_link_is_followed_inside),
		DIR_TEST(only_files_are_written),
		DIR_TEST(long_lists_are_not_written_for_people),
		DIR_TEST(nothing_is_made_for_others_to_write),
		DIR_TEST(only_an_own_directory_is_written),
		DIR_TEST(rows_are_kept_back_for_a_while),
		DIR_TEST(rows_stay_whole_when_the_disk_fills),
		DIR_TEST(room_is_kept_for_the_last_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
