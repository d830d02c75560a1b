/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu/gpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "probes/host/gpu_state.h"
#include "probes/node/child.h"

void seat_begin(struct gpu_seat *s, const char *test)
{
	struct gpu_row row;

	record_init(&schema_gpu, &row);
	STR_COPY(row.node, s->row->node);
	STR_COPY(row.model, s->row->model);
	STR_COPY(row.test, test);
	row.gpu = s->row->gpu;
	row.turn = s->row->turn;
	clock_utc(row.start_utc);
	*s->row = row;
	s->began_ns = clock_now_ns();
}

static void say_row(struct gpu_seat *s, enum outcome outcome)
{
	s->row->wall_s = (double)(clock_now_ns() - s->began_ns) / NS_PER_S;
	s->row->outcome = outcome;
	node_task_row(&schema_gpu, s->row);
}

void seat_good(struct gpu_seat *s)
{
	size_t len = strlen(s->row->detail);
	struct gpu_holders by = { 0 };

	/* a process that came meanwhile has taken a part of it */
	if (strcmp(s->row->test, GPU_TEST_OPEN) != 0) {
		gpu_holders(s->id.uuid, true, &by);
	}
	if (by.n > 0) {
		STR_COPY(s->row->code, GPU_JOINED);
		snprintf(s->row->detail + len, sizeof(s->row->detail) - len,
			 "%sused meanwhile by %s", len > 0 ? "; " : "",
			 by.words);
	}
	say_row(s, OUTCOME_OK);
}

void seat_say(struct gpu_seat *s, enum outcome outcome, const char *code,
	      const char *fmt, ...)
{
	va_list ap;

	STR_COPY(s->row->code, code);
	va_start(ap, fmt);
	vsnprintf(s->row->detail, sizeof(s->row->detail), fmt, ap);
	va_end(ap);
	say_row(s, outcome);
}

bool seat_refused(struct gpu_seat *s, CUresult rc, const char *doing)
{
	char code[DL_CUDA_CODE];
	struct err e;

	gpu_trouble(&s->gpu, rc, code, &e);
	seat_say(s, OUTCOME_ERROR, code, "%s failed: %s", doing, e.text);
	return false;
}

bool gpu_test_open(struct gpu_seat *s)
{
	const char *code = "";
	struct gpu_holders by;
	struct err e = { 0 };

	seat_begin(s, GPU_TEST_OPEN);
	gpu_holders(s->id.uuid, false, &by);
	if (s->drill.busy) {
		by = (struct gpu_holders){ .n = 1, .code = GPU_BUSY,
					   .words = "a drill" };
	}
	if (by.n > 0) {
		seat_say(s, OUTCOME_SKIPPED, by.code, "held by %s", by.words);
		return false;
	}
	if (s->drill.dead) {
		seat_say(s, OUTCOME_ERROR, "drill_dead",
			 GPU_DRILL " does not respond",
			 (long long)s->row->gpu, s->row->node);
		return false;
	}
	if (gpu_open(&s->gpu, (int)s->row->gpu, &code, &e) < 0) {
		seat_say(s, OUTCOME_ERROR, code, "%s", e.text);
		return false;
	}
	seat_good(s);
	return true;
}
