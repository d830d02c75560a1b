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
#include "probes/engine/worker/worker.h"
#include "probes/transport/order.h"

#define WAIT_NS (5 * NS_PER_S)

static void say(struct wire_fd *w, json_t *msg)
{
	wire_fd_send(w, msg, clock_now_ns() + WAIT_NS, NULL);
}

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

static int be_worker(void)
{
	struct rlimit no_core = { 0, 0 };
	struct wire_fd w = {.fd = WORKER_FD, .way = MSG_TO_WORKER};
	json_t *msg;

	setrlimit(RLIMIT_CORE, &no_core);
	while (wire_fd_recv(&w, &msg, clock_now_ns() + WAIT_NS, NULL) == 1) {
		const json_t *go = json_object_get(msg, "ends");
		struct order_word word = { 0 };
		int64_t id;

		order_word_parse(json_array_get(go, 0), &word, NULL);
		id = word.id;
		if (message_type(msg) == MSG_INIT) {
			say(&w, message_new(MSG_READY, "{s:i,s:s,s:[]}", "rank",
					    0, "ticket", "", "facts"));
		} else if (message_type(msg) == MSG_QUIT) {
			return 0;
		} else if (id % 4 == 0) {
			if (id == 12) {
				leave_words();
			}
			raise(SIGKILL);
		} else {
			const struct order_report r = {
				.id = id, .unfit = id % 2,
				.crashed = RECORD_NONE };

			say(&w, message_new(MSG_DONE, "{s:[o]}", "reports",
					    order_report_json(&r)));
			if (id == 1) {
				return 3;	/* 5 waits for a word */
			}
		}
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

static void died(struct slot *s, const struct slot_death *how)
{
	struct bench *b = s->arg;

	b->deaths++;
	b->last = *how;
}

static const struct slot_events events = { .message = ignore, .died = died };

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

static json_t *go_of(int id)
{
	const struct order_word go = { .id = id, .text = "n" };

	return message_new(MSG_GO, "{s:[o]}", "ends", order_word_json(&go));
}

static void give(struct bench *b, int id)
{
	json_t *task = go_of(id);

	assert_true(slot_task(&b->slot, task, id, "n", WAIT_NS));
	json_decref(task);
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
	json_t *task = go_of(2);

	start(b);
	give(b, 5);
	await_state(b, SLOT_UNFIT);
	assert_false(slot_task(&b->slot, task, 2, "n", WAIT_NS));
	slot_quit(&b->slot);
	await_state(b, SLOT_DOWN);
	json_decref(task);
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
