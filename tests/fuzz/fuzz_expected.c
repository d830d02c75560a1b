/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/run.h"

/* What the site adds to expected.ini; numbers in range, names ended. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct expected x = { 0 };

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (expected_parse(text, &x, NULL) == 0) {
		for (size_t i = 0; i < x.n; i++) {
			double percent = expected_percent(&x.list[i], "nccl");

			if (!(percent > 0 && percent <= 100) ||
			    strlen(x.list[i].source) >=
				    sizeof(x.list[i].source)) {
				abort();
			}
		}
	}
	expected_release(&x);
	free(text);
	return 0;
}
