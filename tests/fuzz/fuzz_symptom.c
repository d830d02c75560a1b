/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/symptom.h"

/* A file of symptoms; each pattern in it must be found in a line like it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct symptoms s;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (symptoms_parse(text, &s, NULL) == 0) {
		for (size_t i = 0; i < s.n; i++) {
			for (size_t k = 0; k < s.list[i].n_matches; k++) {
				const struct str *m = &s.list[i].match[k];

				if (!symptom_match(&s, str_text(m))) {
					abort();
				}
			}
		}
		symptoms_release(&s);
	}
	free(text);
	return 0;
}
