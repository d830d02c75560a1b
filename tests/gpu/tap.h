/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_GPU_TAP_H
#define TESTS_GPU_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/** Lines of TAP, counted; the plan is the caller's to print. */
static int tests, failures;

/** One test; gives @good. */
__attribute__((format(printf, 2, 3)))
static inline bool ok(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	failures += !good;
	return good;
}

#endif
