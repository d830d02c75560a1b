/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any text as a Slurm host list: refused with a reason, or a bounded list of
 * names without brackets or commas in them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct err e = { 0 };
	char **names;
	size_t n;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	names = hostlist_expand(text, &n, &e);
	if (!names) {
		if (!e.text[0]) {
			abort();
		}
	} else {
		if (n < 1 || n > HOSTLIST_MAX) {
			abort();
		}
		for (size_t i = 0; i < n; i++) {
			if (!names[i][0] || strpbrk(names[i], "[],")) {
				abort();
			}
		}
		hostlist_free(names, n);
	}
	free(text);
	return 0;
}
