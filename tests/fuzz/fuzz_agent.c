/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a coordinator can say to an agent, a message a line.  Its two ranks have
 * workers that hear nothing, and none can be started.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/engine/agent/agent.h"
#include "tests/fuzz/fuzz_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Each may be a process that is not there. */
#define MESSAGES_MAX 24
#define RANKS	     2

static void no_message(struct slot *s, json_t *msg)
{
	(void)s;
	(void)msg;
}

static void no_entry(struct slot *s, enum message_type type, const void *bytes,
		     size_t n, int64_t late_ns)
{
	(void)s;
	(void)type;
	(void)bytes;
	(void)n;
	(void)late_ns;
}

static void no_death(struct slot *s, const struct slot_death *how)
{
	(void)s;
	(void)how;
}

static void no_word(struct slot *s)
{
	(void)s;
}

static const struct slot_events deaf = {
	.message = no_message, .entry = no_entry, .died = no_death,
	.left = no_word,
};

static void begin(struct agent *a)
{
	setpgid(0, 0);	/* what kills number 0 kills this process alone */
	a->dir = "/nowhere";
	a->state = AGENT_RUNNING;
	STR_COPY(a->self, "/nowhere/gpucheck");
	a->inventory = json_object();
	spec_init(&a->spec);
	uv_loop_init(&a->loop);
	for (int i = 0; i < RANKS; i++) {
		json_t *init = json_pack("{s:i}", "rank", i);

		if (slot_init(&a->slots[i], &a->loop, init, &deaf, a, NULL)) {
			abort();
		}
		a->slots[i].state = SLOT_IDLE;
		a->n_slots++;
	}
}

static void end(struct agent *a)
{
	node_task_kill(&a->node_task);
	uv_run(&a->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&a->loop) != 0) {
		abort();	/* something was begun, and has no end */
	}
	for (int i = 0; i < a->n_slots; i++) {
		slot_release(&a->slots[i]);
	}
	model_free(a->model);
	json_decref(a->inventory);
	free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_lines l = { .at = data, .left = size };
	struct agent *a = calloc(1, sizeof(*a));
	const char *line;
	size_t len;

	if (a == NULL) {
		return 0;
	}
	begin(a);
	for (int n = 0; n < MESSAGES_MAX && fuzz_line(&l, &line, &len); n++) {
		json_t *msg = fuzz_list(line, len, MSG_TO_AGENT,
					agent_obey_entry, a) ?
			NULL : fuzz_message(line, len, MSG_TO_AGENT);

		if (msg != NULL) {
			agent_obey(a, msg);
			uv_run(&a->loop, UV_RUN_NOWAIT);
		}
		json_decref(msg);
	}
	end(a);
	return 0;
}
