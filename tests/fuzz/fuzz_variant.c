/* SPDX-License-Identifier: BSD-3-Clause */
/* --algo, --proto, --nccl-lib, --env and --variant, split at blank lines. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** As it is, without what does not fit. */
static void take(char *to, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);

	memcpy(to, text, n);
	to[n] = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct variant v[VARIANTS_MAX];
	char text[4096];
	char *parts[5] = { text };
	struct spec s;
	int n;

	size = size < sizeof(text) ? size : sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	for (int i = 1; i < 5; i++) {
		char *gap = strstr(parts[i - 1], "\n\n");

		parts[i] = gap ? gap + 2 : parts[i - 1] + strlen(parts[i - 1]);
		if (gap) {
			*gap = '\0';
		}
	}
	spec_init(&s);
	take(s.algo, sizeof(s.algo), parts[0]);
	take(s.proto, sizeof(s.proto), parts[1]);
	take(s.nccl_libs, sizeof(s.nccl_libs), parts[2]);
	take(s.env, sizeof(s.env), parts[3]);
	take(s.variants, sizeof(s.variants), parts[4]);
	n = variants_make(&s, v, NULL);
	if (n > VARIANTS_MAX) {
		abort();
	}
	variants_release(v, n);
	return 0;
}
