/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/explain/explain.h"

static void check_name(const char *name)
{
	if (*name && !isalnum((unsigned char)*name)) {
		abort();
	}
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("_-.:", *name)) {
			abort();
		}
	}
}

/** Lines of a log: whom they are about, who waits for whom, what is unknown. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *line = text;
	const char *end = text + size;
	struct works w = { 0 };
	struct unknown u = { 0 };

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((next ? next : end) - line);
		struct about a;

		about_line(line, len, &a);
		if (next) {
			about_exit(text, line, &a);
		}
		check_name(a.host);
		check_name(a.bus);
		check_name(a.hca);
		if (a.rank < -1 || a.gpu < -1 || a.pid < 0 || a.port < 0 ||
		    (a.bus[0] && strlen(a.bus) != 10)) {
			abort();
		}
		works_line(&w, line, len, a.rank);
		unknown_line(&u, line, len);
		line = next ? next + 1 : end;
	}
	works_judge(&w);
	unknown_sort(&u);
	works_release(&w);
	return 0;
}
