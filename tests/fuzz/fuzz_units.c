/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any text as size, duration, integer and real: refused, or within the limits
 * and spelled back as something that means the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DAYS_100_NS (INT64_C(100) * 24 * 3600 * 1000000000)

static void check_size(const char *text)
{
	uint64_t bytes, back;
	char buf[64];

	if (units_parse_size(text, &bytes, NULL) < 0) {
		return;
	}
	units_size_arg(bytes, buf, sizeof(buf));
	if (units_parse_size(buf, &back, NULL) < 0 || back != bytes) {
		abort();
	}
	units_size_text(bytes, buf, sizeof(buf));
}

static void check_duration(const char *text)
{
	int64_t ns, back;
	char buf[64];

	if (units_parse_duration(text, &ns, NULL) < 0) {
		return;
	}
	units_duration_arg(ns, buf, sizeof(buf));
	if (ns < 0 || ns > DAYS_100_NS ||
	    units_parse_duration(buf, &back, NULL) < 0 || back != ns) {
		abort();
	}
	units_duration_text(ns, buf, sizeof(buf));
}

static void check_numbers(const char *text)
{
	int64_t n;
	double x;

	if (units_parse_int(text, -5, 1000, &n, NULL) == 0 &&
	    (n < -5 || n > 1000)) {
		abort();
	}
	if (units_parse_real(text, -5, 1000, &x, NULL) == 0 &&
	    !(x >= -5 && x <= 1000)) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	check_size(text);
	check_duration(text);
	check_numbers(text);
	free(text);
	return 0;
}
