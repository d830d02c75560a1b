/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What agents can say to a coordinator.  The first line is run.json, the others
 * begin with the agent's digit, of AGENTS: its message, or nothing where it
 * goes away.  A blank line is a tick of the clock.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "probes/engine/coord/work.h"
#include "tests/fuzz/fuzz_dir.h"
#include "tests/fuzz/fuzz_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AGENTS	     3
#define MESSAGES_MAX 64
#define TICK_NS	     (2 * NS_PER_S)
#define STOP_TICKS   8

/** A layout of more ranks than there is memory for is refused. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

struct bench {
	struct coord c;
	uv_loop_t loop;
	int64_t late_ns; /* that its clock is ahead */
	struct coord_agent *agents[AGENTS];
};

static bool begin(struct bench *b)
{
	struct coord *c = &b->c;

	uv_loop_init(&b->loop);
	uv_timer_init(&b->loop, &c->tick);
	c->log = run_log_open(fuzz_dir, NULL);
	if (c->log == NULL || coord_read(c, NULL) < 0 ||
	    run_log_begin(c->log, c->probe->schema, NULL) < 0) {
		return false;
	}
	c->agents = agents_new(AGENTS, c->log, &coord_agents_events, c);
	for (int i = 0; i < AGENTS; i++) {
		b->agents[i] = agents_add(c->agents);
	}
	return true;
}

static void tick(struct bench *b)
{
	struct coord *c = &b->c;

	b->late_ns += TICK_NS;
	if (c->phase == COORD_BOOT) {
		coord_agents_events.all_here(c);
	} else if (c->phase != COORD_LEAVE) {
		c->kind->tick(c->work, clock_now_ns() + b->late_ns);
	}
	if (c->phase != COORD_LEAVE) {
		c->kind->go_on(c->work);
	}
}

static void hear(struct bench *b, const char *line, size_t len)
{
	struct coord_agent *a = b->agents[(uint8_t)line[0] % AGENTS];
	json_t *msg;

	if (!a->lost && fuzz_list(line + 1, len - 1, MSG_TO_COORDINATOR,
				  agents_hear_entry, a)) {
		return;
	}
	msg = fuzz_message(line + 1, len - 1, MSG_TO_COORDINATOR);
	if (msg != NULL && message_type(msg) == MSG_HELLO &&
	    json_object_get(msg, "version") == NULL) {
		json_object_set_new(msg, "version", json_string(version_own()));
	}
	if (msg != NULL && !a->lost) {
		agents_hear(a, msg);
	} else if (len == 1 && !a->lost) {
		agents_lose(a, "the end of a line");
	}
	json_decref(msg);
}

/** As after ^C that nobody heeds: it ends all the same. */
static void hurry(struct bench *b)
{
	struct coord *c = &b->c;

	coord_stop(c, "interrupted");
	for (int i = 0; i < STOP_TICKS && c->phase != COORD_LEAVE; i++) {
		c->kind->cancel(c->work);
		tick(b);
	}
	if (c->phase != COORD_LEAVE) {
		coord_leave(c); /* last words are waited for by the clock */
	}
}

/** Whatever was said, rows can be read. */
static void check_rows(const struct coord *c)
{
	FILE *f = rundir_open(fuzz_dir, RUN_RESULTS, NULL);
	void *row = malloc(c->probe->schema->row_size);
	struct record_reader r;

	if (f == NULL || row == NULL ||
	    record_reader_open(&r, c->probe->schema, f, NULL) < 0) {
		abort();
	}
	while (record_reader_next(&r, row, NULL) == 1) {
	}
	if (r.bad_rows > 0) {
		abort();
	}
	record_reader_close(&r);
	fclose(f);
	free(row);
}

static void end(struct bench *b)
{
	struct coord *c = &b->c;

	if (c->work != NULL) {
		c->kind->release(c->work);
		free(c->work);
	}
	agents_free(c->agents);
	json_decref(c->before);
	run_log_close(c->log);
	uv_close((uv_handle_t *)&c->tick, NULL);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&b->loop) != 0) {
		abort();
	}
	free(b);
}

static void make_dir(const char *run, size_t len)
{
	static const char *const files[] = {
		RUN_RESULTS, RUN_FACTS, RUN_EVENTS
	};
	char path[128];

	fuzz_dir_fill((const uint8_t *)run, len);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fuzz_dir, files[i]);
		unlink(path);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_lines l = { .at = data, .left = size };
	struct bench *b = calloc(1, sizeof(*b));
	const char *line;
	size_t len;

	if (b == NULL || !fuzz_line(&l, &line, &len)) {
		free(b);
		return 0;
	}
	make_dir(line, len);
	if (begin(b)) {
		for (int n = 0; n < MESSAGES_MAX && fuzz_line(&l, &line, &len);
		     n++) {
			if (len > 0) {
				hear(b, line, len);
			} else {
				tick(b);
			}
		}
		hurry(b);
		check_rows(&b->c);
	}
	end(b);
	return 0;
}
