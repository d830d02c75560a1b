/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A slot and its workers.  This program is its own worker: a task whose id is
 * odd spoils it, one that can be divided by four crashes it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "probes/engine/agent/agent.h"
#include "probes/engine/net/wire.h"
#include "probes/transport/order.h"

#define WAIT_NS (5 * NS_PER_S)

/* As NCCL would: into the file that the agent holds, not in append mode. */
static void leave_words(void)
{
	struct worker_note *note = mmap(NULL, sizeof(*note),
					PROT_READ | PROT_WRITE, MAP_SHARED,
					WORKER_NOTE_FD, 0);
	FILE *log = fopen("/proc/self/fd/5", "w");

	if (note == MAP_FAILED || log == NULL) {
		_exit(9);
	}
	fputs("x NCCL WARN of an older pair\n", log);
	fflush(log);
	note->log_from = ftell(log);
	note->peer = 3;
	note->attempt = 2;
	STR_COPY(note->step, "first contact with rank 3");
	fputs("x NCCL INFO comm 0x1\nx NCCL WARN its last words\n", log);
	fflush(log);
}

static void worker_told(void *arg, json_t *msg)
{
	if (message_type(msg) == MSG_INIT) {
		wire_fd_send(arg, message_new(MSG_READY, "{s:i,s:s,s:[]}",
					      "rank", 0, "ticket", "",
					      "facts"),
			     clock_now_ns() + WAIT_NS, NULL);
	} else {
		_exit(message_type(msg) != MSG_QUIT);
	}
}

static void worker_told_entry(void *arg, enum message_type type,
			      const void *bytes, size_t n)
{
	struct order_report r = { .crashed = RECORD_NONE };
	struct str entry = STR_INIT;
	struct order_word go;

	if (order_word_read(bytes, n, &go, NULL) < 0 || type != MSG_GO) {
		_exit(1);
	}
	if (go.id % 4 == 0) {
		if (go.id == 12) {
			leave_words();
		}
		raise(SIGKILL);
	}
	r.id = go.id;
	r.unfit = go.id % 2;
	order_report_add(&r, &entry);
	wire_fd_send_entry(arg, MSG_DONE, &entry, clock_now_ns() + WAIT_NS,
			   NULL);
	str_release(&entry);
	if (go.id == 1) {
		_exit(3);	/* 5 waits for a word */
	}
}

static const struct wire_events told = {
	.message = worker_told, .entry = worker_told_entry,
};

static int be_worker(void)
{
	struct rlimit no_core = { 0, 0 };
	struct wire_fd w = {.fd = WORKER_FD, .way = MSG_TO_WORKER};

	setrlimit(RLIMIT_CORE, &no_core);
	while (wire_fd_hear(&w, &told, &w, clock_now_ns() + WAIT_NS, NULL) ==
	       1) {
	}
	return 0;
}

struct bench {
	uv_loop_t loop;
	uv_timer_t tick;
	struct slot slot;
	char self[PATH_MAX];
	int deaths;
	struct slot_death last;
};

static void ignore(struct slot *s, json_t *msg)
{
	(void)s;
	(void)msg;
}

static void ignore_entry(struct slot *s, enum message_type type,
			 const void *bytes, size_t n, int64_t late_ns)
{
	(void)s;
	(void)type;
	(void)bytes;
	(void)n;
	(void)late_ns;
}

static void died(struct slot *s, const struct slot_death *how)
{
	struct bench *b = s->arg;

	b->deaths++;
	b->last = *how;
}

static const struct slot_events events = {
	.message = ignore, .entry = ignore_entry, .died = died };

static void ticked(uv_timer_t *t)
{
	struct bench *b = t->data;

	slot_tick(&b->slot);
}

/* Until the slot is in @state. */
static void await_state(struct bench *b, enum slot_state state)
{
	int64_t deadline = clock_now_ns() + WAIT_NS;

	while (b->slot.state != state) {
		assert_true(clock_now_ns() < deadline);
		uv_run(&b->loop, UV_RUN_ONCE);
	}
}

static void give(struct bench *b, int id)
{
	const struct order_word go = { .id = id, .text = "n" };
	struct str entry = STR_INIT;

	assert_true(slot_task(&b->slot, id, "n", WAIT_NS));
	order_word_add(&go, &entry);
	wire_send_entry(&b->slot.wire, MSG_GO, entry.data, entry.len);
	str_release(&entry);
}

static json_t *an_init(void)
{
	return message_new(
		MSG_INIT, "{s:i,s:i,s:s,s:s,s:s,s:b,s:i,s:{},s:s,s:s,s:s,s:s}",
		"rank", 7, "local_rank", 0, "part", "", "transport", "tcp",
		"node", "n0", "pretend", 0, "open_ns", 5000000, "options",
		"token", "", "run", "", "data_addr", "", "dir", "");
}

static int open_bench(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	*state = b;
	assert_int_equal(spawn_self(b->self, sizeof(b->self), NULL), 0);
	uv_loop_init(&b->loop);
	uv_timer_init(&b->loop, &b->tick);
	b->tick.data = b;
	uv_timer_start(&b->tick, ticked, 10, 10);
	assert_int_equal(
		slot_init(&b->slot, &b->loop, an_init(), &events, b, NULL), 0);
	return 0;
}

static void start(struct bench *b)
{
	assert_int_equal(slot_start(&b->slot, b->self, NULL), 0);
	await_state(b, SLOT_IDLE);
}

static int close_bench(void **state)
{
	struct bench *b = *state;

	if (!slot_closed(&b->slot)) {
		slot_quit(&b->slot);
		await_state(b, SLOT_DOWN);
	}
	uv_close((uv_handle_t *)&b->tick, NULL);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	uv_loop_close(&b->loop);
	slot_release(&b->slot);
	free(b);
	return 0;
}

static void a_crash_is_a_death(void **state)
{
	struct bench *b = *state;

	start(b);
	give(b, 2);
	await_state(b, SLOT_IDLE);
	give(b, 4);
	await_state(b, SLOT_DOWN);
	assert_int_equal(b->last.task, 4);
	assert_int_equal(b->last.signal, SIGKILL);
	assert_false(b->last.unfit);
	assert_false(b->last.retired);
	start(b);
	give(b, 8);
	await_state(b, SLOT_DOWN);
	assert_true(b->last.retired);
}

static void last_words_of_the_killed_are_kept(void **state)
{
	static const char name[] = "/logs/pair-3-7-try2-rank7.log";
	char dir[] = "/tmp/gpucheck-slot-XXXXXX", path[96], text[160] = "";
	struct bench *b = *state;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/logs", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	start(b);
	give(b, 12);
	await_state(b, SLOT_DOWN);
	assert_int_equal(b->last.signal, SIGKILL);
	assert_string_equal(b->last.step, "first contact with rank 3; NCCL: "
					  "its last words");
	assert_int_equal(slot_save_log(&b->slot, &b->last, dir, NULL), 0);
	snprintf(path, sizeof(path), "%s%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(text, "x NCCL INFO comm 0x1\n"
				  "x NCCL WARN its last words\n");
	unlink(path);

	/* they are not those of the next one, which says nothing */
	start(b);
	give(b, 4);
	await_state(b, SLOT_DOWN);
	assert_string_equal(b->last.step, "");
	assert_int_equal(slot_save_log(&b->slot, &b->last, dir, NULL), 0);
	snprintf(path, sizeof(path), "%s/logs", dir);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void leaving_unfit_is_none(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 4; i++) {
		start(b);
		give(b, 2);	/* one good report between two bad ones */
		await_state(b, SLOT_IDLE);
		give(b, 1);
		await_state(b, SLOT_DOWN);
		assert_true(b->last.unfit);
		assert_int_equal(b->last.task, -1);
		assert_false(b->last.retired);
	}
	assert_int_equal(b->deaths, 4);
	assert_int_equal(b->slot.deaths, 0);
}

static void leaving_unfit_again_and_again_is(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 3; i++) {
		start(b);
		give(b, 1);
		await_state(b, SLOT_DOWN);
		assert_int_equal(b->last.retired, i == 2);
	}
}

static void who_leaves_takes_no_task(void **state)
{
	struct bench *b = *state;

	start(b);
	give(b, 5);
	await_state(b, SLOT_UNFIT);
	assert_false(slot_task(&b->slot, 2, "n", WAIT_NS));
	slot_quit(&b->slot);
	await_state(b, SLOT_DOWN);
}

/* In a process group of its own: that is what number 0 would kill. */
static void fail_to_start(void)
{
	struct slot s;
	uv_loop_t loop;

	setpgid(0, 0);
	uv_loop_init(&loop);
	if (slot_init(&s, &loop, an_init(), &events, NULL, NULL) < 0 ||
	    slot_start(&s, "/nowhere/gpucheck", NULL) == 0) {
		_exit(1);
	}
	slot_kill(&s);
	_exit(s.hung ? 2 : 0);
}

static void who_did_not_start_is_nobody_to_kill(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		fail_to_start();
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define SLOT_TEST(fn) \
	cmocka_unit_test_setup_teardown(fn, open_bench, close_bench)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SLOT_TEST(a_crash_is_a_death),
		SLOT_TEST(last_words_of_the_killed_are_kept),
		SLOT_TEST(leaving_unfit_is_none),
		SLOT_TEST(leaving_unfit_again_and_again_is),
		SLOT_TEST(who_leaves_takes_no_task),
		cmocka_unit_test(who_did_not_start_is_nobody_to_kill),
	};

	if (argc > 1 && strcmp(argv[1], "worker") == 0) {
		return be_worker();
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
