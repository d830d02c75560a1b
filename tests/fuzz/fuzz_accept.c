/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/run.h"

/* A file of --accept: limits in range, names ended; and --rails. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct accept_test *list = NULL;
	size_t n_tests = 0;
	double GB_s;
	int n;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (accept_parse(text, &list, &n_tests, NULL) == 0) {
		for (size_t i = 0; i < n_tests; i++) {
			const struct accept_test *t = &list[i];

			if (!(t->bw_min_GB_s > 0) && !(t->max_us > 0)) {
				abort();
			}
			if (strlen(t->words) >= sizeof(t->words) ||
			    strlen(t->path) >= sizeof(t->path)) {
				abort();
			}
		}
	}
	if (machine_rails_parse(text, &n, &GB_s) == 0 &&
	    (n < 1 || n > MACHINE_RAILS_MAX || !(GB_s > 0))) {
		abort();
	}
	free(list);
	free(text);
	return 0;
}
