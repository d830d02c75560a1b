/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/repeat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** watch.json, which another user may have written; behind a zero byte a
 *  crontab, which has no entry of the watch once that was cut out. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str out = STR_INIT, again = STR_INIT;
	struct repeat r;
	struct err e;

	if (size > 0 && data[0] == 0) {
		char *text = strndup((const char *)data + 1, size - 1);

		repeat_cut(text, "/w", &out);
		if (repeat_cut(str_text(&out), "/w", &again)) {
			abort();
		}
		free(text);
	} else if (repeat_parse((const char *)data, size, &r, &e) == 0) {
		repeat_entry(&r, "/bin/gpucheck", "/w", "", &out, &e);
		repeat_release(&r);
	}
	str_release(&out);
	str_release(&again);
	return 0;
}
