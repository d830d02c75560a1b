/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_UNITS_H
#define LIB_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/* ---- number -------------------------------------------------------------- */

/** Append what "%lld" of printf() makes of @value, in a tenth of its time:
 *  tables of a million rows are made of this. */
void number_add_int(struct str *out, int64_t value);
/** The same of "%.*g", of 1 to 9 @digits. */
void number_add_real(struct str *out, double value, int digits);

/** The sum of two counts, neither below 0, INT64_MAX at most. */
int64_t number_sum(int64_t a, int64_t b);

/* ---- units --------------------------------------------------------------- */

/**
 * Parse a size: digits, then nothing or one of K M G T (powers of 1024, either
 * case).  "KB", "8Q", "-1", "" and overflow are errors; KB and KiB get a hint.
 * Returns 0 and sets *@bytes, or -1 with @e set and *@bytes untouched.
 */
int units_parse_size(const char *text, uint64_t *bytes, struct err *e);

/**
 * Parse a duration: decimal number (may have a fraction) followed by us, ms,
 * s, m or h; a bare number is an error except "0".  At most 100 days.
 * Returns 0 and sets *@ns, or -1 with @e set and *@ns untouched.
 */
int units_parse_duration(const char *text, int64_t *ns, struct err *e);

/** Decimal integer in [@min, @max], nothing else around it; 0 or -1. */
int units_parse_int(const char *text, int64_t min, int64_t max, int64_t *out,
		    struct err *e);

/** Decimal real in [@min, @max], no nan, inf or hex; 0 or -1. */
int units_parse_real(const char *text, double min, double max, double *out,
		     struct err *e);

#define UNITS_COUNT_SIZE 32
/** "261,632"; returns @buf. */
const char *units_count_text(uint64_t n, char buf[UNITS_COUNT_SIZE]);
/** The same in a buffer of the block that asks for it. */
#define UNITS_COUNT(n) \
	units_count_text((uint64_t)(n), (char[UNITS_COUNT_SIZE]){0})

/** "64 MiB", "8 B", "1.5 KiB"; returns @buf. */
const char *units_size_text(uint64_t bytes, char *buf, size_t size);
/** "64M", "8", exact only (the -b spelling); falls back to plain digits. */
const char *units_size_arg(uint64_t bytes, char *buf, size_t size);
/** "3 s", "250 ms", "2 min 5 s"; returns @buf. */
const char *units_duration_text(int64_t ns, char *buf, size_t size);
/** "3s", "250ms": units_parse_duration() reads it back; returns @buf. */
const char *units_duration_arg(int64_t ns, char *buf, size_t size);

#define UNITS_REAL_SIZE 32
/**
 * A finite @value with @digits decimals, or with two significant digits if that
 * shows more of it: "45.20", "0.0035", "8.3e-05".  Returns @buf.
 */
const char *units_real_text(double value, int digits,
			    char buf[UNITS_REAL_SIZE]);
/** The same in a buffer of the block that asks for it. */
#define UNITS_REAL(value, digits) \
	units_real_text(value, digits, (char[UNITS_REAL_SIZE]){0})

#endif
