/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/probe_run.h"

/** More only costs time. */
#define MAX_RANKS 256
#define MAX_NODES 64

static void check(const struct session *s, const struct probe *probe,
		  const char *launcher)
{
	struct str out = STR_INIT;
	struct forecast f;
	double time_s = 0;
	char text[64];
	int k;

	forecast_make(&s->spec, probe, launcher, MAX_RANKS, &f);
	if (f.time_s < 0 || f.retry_s < 0 || f.least_s < 0 || f.ranks < 0) {
		abort();
	}
	k = forecast_sample(&f, &time_s);
	if (k < 0 || (k > 0 && !(time_s < FORECAST_LONG_S))) {
		abort();
	}
	plan_time_text(&f, text, sizeof(text));
	plan_words(s, &f, &out);
	str_release(&out);
	forecast_release(&f);
}

/** "gpucheck plan": the first line is the probe, the others are options,
 *  "name=value". */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[] = { (char *)"gpucheck", (char *)"plan", NULL };
	struct session s = { .plan = true, .argc = 2, .argv = argv,
			     .extra = &argv[2] };
	char *text = calloc(1, size + 1), *next = text, *line;
	const struct probe *probe;
	struct err e;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	line = strsep(&next, "\n");
	probe = probe_find(line);
	spec_init(&s.spec);
	while (probe && (line = strsep(&next, "\n"))) {
		char *value = strchr(line, '=');
		const struct spec_option *o;

		if (value) {
			*value++ = '\0';
		}
		o = spec_find(line);
		if (o && (value || o->optional_value ||
			  o->type == SPEC_FLAG || o->type == SPEC_COUNT)) {
			spec_set(&s.spec, o, value, &e);
		}
	}
	if (probe && spec_check(&s.spec, &e) == 0 &&
	    s.spec.local_nodes <= MAX_NODES && s.spec.nodes <= MAX_NODES) {
		check(&s, probe, "local");
		check(&s, probe, "env");
	}
	free(text);
	return 0;
}
