/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/symptoms/symptom.h"

/* A file of symptoms; what a pattern is in, the search for all finds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct symptoms s;

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (symptoms_parse("[xid]\n[xid do]\nremedy=r\n", &s, NULL) == 0) {
		xids_add(&s, text, NULL);
		symptoms_release(&s);
	}
	if (symptoms_parse(text, &s, NULL) == 0) {
		for (size_t i = 0; i < s.n; i++) {
			for (size_t k = 0; k < s.list[i].n_matches; k++) {
				struct str line = STR_INIT;

				const char *match =
					str_text(&s.list[i].match[k]);

				symptom_pattern_sample(match, &line);
				if (symptom_pattern_in(match, str_text(&line),
						       line.len) &&
				    !symptom_match(&s, str_text(&line),
						   line.len)) {
					abort();
				}
				str_release(&line);
			}
		}
		symptoms_release(&s);
	}
	free(text);
	return 0;
}
