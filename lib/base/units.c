/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/clock.h"

#define DIGITS "0123456789"

/** Each 1024 times the last. */
static const char *const size_units[] = { "", "K", "M", "G", "T", NULL };

/** Longest first, so that the first that divides a duration spells it best. */
static const struct duration_unit {
	const char *name;
	int64_t ns;
} duration_units[] = {
	{ .name = "h",	.ns = 3600 * NS_PER_S },
	{ .name = "m",	.ns = 60 * NS_PER_S },
	{ .name = "s",	.ns = NS_PER_S },
	{ .name = "ms", .ns = NS_PER_MS },
	{ .name = "us", .ns = NS_PER_US },
	{ 0 }
};

#define DURATION_MAX_NS (INT64_C(100) * 24 * 3600 * NS_PER_S)

/** Power of 1024 that @suffix stands for, -1 when it is none. */
static int size_power(const char *suffix)
{
	for (int power = 0; size_units[power]; power++) {
		if (strcasecmp(suffix, size_units[power]) == 0) {
			return power;
		}
	}
	return -1;
}

int units_parse_size(const char *text, uint64_t *bytes, struct err *e)
{
	size_t digits = strspn(text, DIGITS);
	const char *suffix = text + digits;
	const char letter[] = { suffix[0], '\0' };
	int power = size_power(suffix);
	unsigned long long n;

	if (digits && size_power(letter) > 0 &&
	    (strcasecmp(suffix + 1, "b") == 0 ||
	     strcasecmp(suffix + 1, "ib") == 0)) {
		err_set(e, 0, "'%s' is not a size", text);
		return err_hint(e, "write '%.*s%c': K, M, G and T are powers of "
				"1024", (int)digits, text, suffix[0]);
	}
	if (!digits || power < 0) {
		err_set(e, 0, "'%s' is not a size", text);
		return err_hint(e, "write a number of bytes, or a number with "
				"K, M, G or T (powers of 1024), such as 64M");
	}
	errno = 0;
	n = strtoull(text, NULL, 10);
	if (errno || n > UINT64_MAX >> (10 * power)) {
		return err_set(e, 0, "size '%s' is above 2^64 bytes", text);
	}
	*bytes = (uint64_t)n << (10 * power);
	return 0;
}

int units_parse_duration(const char *text, int64_t *ns, struct err *e)
{
	size_t n = strspn(text, DIGITS), fraction;
	const struct duration_unit *unit = duration_units;
	unsigned long long whole;
	int64_t sum_ns;
	char *point;

	if (strcmp(text, "0") == 0) {
		*ns = 0;
		return 0;
	}
	if (n > 0 && text[n] == '.') {		/* "1.5", not "1." */
		fraction = strspn(text + n + 1, DIGITS);
		n = fraction ? n + 1 + fraction : 0;
	}
	while (unit->name && strcmp(unit->name, text + n) != 0) {
		unit++;
	}
	if (!n || !unit->name) {
		err_set(e, 0, "'%s' is not a duration", text);
		return err_hint(e, "write a number with us, ms, s, m or h, "
				"such as 500ms or 1.5s");
	}
	/* a double has too few digits for nanoseconds in days: only the
	 * fraction becomes one; an overflow here is above the limit too */
	whole = strtoull(text, &point, 10);
	sum_ns = *point == '.' ?
			 llround(strtod(point, NULL) * (double)unit->ns) : 0;
	if (whole > (uint64_t)(DURATION_MAX_NS - sum_ns) / (uint64_t)unit->ns) {
		return err_set(e, 0, "duration '%s' is above 100 days", text);
	}
	sum_ns += (int64_t)whole * unit->ns;
	*ns = sum_ns;
	return 0;
}

/** Digits of a whole number that always fits int64_t. */
#define SAFE_DIGITS 18

int units_parse_int(const char *text, int64_t min, int64_t max, int64_t *out,
		    struct err *e)
{
	size_t sign = text[0] == '-', digits = 0;
	long long n = 0;

	while (text[sign + digits] >= '0' && text[sign + digits] <= '9') {
		n = digits < SAFE_DIGITS ? n * 10 + (text[sign + digits] - '0')
					 : 0;
		digits++;
	}
	if (!digits || text[sign + digits]) {
		return err_set(e, 0, "'%s' is not a whole number", text);
	}
	errno = 0;
	n = digits > SAFE_DIGITS ? strtoll(text, NULL, 10) : sign ? -n : n;
	if (errno || n < min || n > max) {
		return err_set(e, 0, "%s is not within %" PRId64 " to %" PRId64,
			       text, min, max);
	}
	*out = n;
	return 0;
}

/**
 * Plain decimals of up to 15 digits, "-12.345": whole number and power of ten
 * are both exact in a double, so that one division rounds as strtod() does
 * (Clinger 1990), in a tenth of its time.  False: anything else.
 */
static bool parse_decimal(const char *text, double *out)
{
	static const double tens[] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15,
	};
	const char *p = text + (text[0] == '-');
	int64_t whole = 0;
	int digits = 0, behind = 0;
	bool point = false;

	for (; *p; p++) {
		if (*p == '.' && !point) {
			point = true;
		} else if (*p >= '0' && *p <= '9' && digits < 15) {
			whole = whole * 10 + (*p - '0');
			digits++;
			behind += point;
		} else {
			return false;
		}
	}
	*out = (double)whole / tens[behind];
	*out = text[0] == '-' ? -*out : *out;
	return digits > 0;
}

int units_parse_real(const char *text, double min, double max, double *out,
		     struct err *e)
{
	double value;

	if (!parse_decimal(text, &value)) {
		/* the set keeps out what strtod() takes too: nan, inf, hex,
		 * blanks */
		size_t n = strspn(text, DIGITS "+-.eE");
		char *end = NULL;

		value = strtod(text, &end);
		if (!n || text[n] || end != text + n) {
			return err_set(e, 0, "'%s' is not a number", text);
		}
	}
	if (!isfinite(value) || value < min || value > max) {
		return err_set(e, 0, "%s is not within %g to %g", text, min,
			       max);
	}
	*out = value;
	return 0;
}

const char *units_count_text(uint64_t n, char buf[UNITS_COUNT_SIZE])
{
	char digits[UNITS_COUNT_SIZE];
	int len = snprintf(digits, sizeof(digits), "%llu",
			   (unsigned long long)n);
	int at = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0) {
			buf[at++] = ',';
		}
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *units_size_text(uint64_t bytes, char *buf, size_t size)
{
	static const char *const names[] = { "B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	size_t power = 0;

	while (bytes >> (10 * power) >= 1024) {
		power++;
	}
	snprintf(buf, size, "%.4g %s",
		 (double)bytes / (double)(UINT64_C(1) << (10 * power)),
		 names[power]);
	return buf;
}

const char *units_size_arg(uint64_t bytes, char *buf, size_t size)
{
	int power = 0;

	while (bytes && bytes % 1024 == 0 && size_units[power + 1]) {
		bytes /= 1024;
		power++;
	}
	snprintf(buf, size, "%" PRIu64 "%s", bytes, size_units[power]);
	return buf;
}

/** "2 min 5 s", "3 h": two units, the smaller left out when it is zero. */
static const char *two_units(int64_t n, const char *big, const char *small,
			     char *buf, size_t size)
{
	snprintf(buf, size, n % 60 ? "%" PRId64 " %s %" PRId64 " %s" :
				     "%" PRId64 " %s", n / 60, big, n % 60,
		 small);
	return buf;
}

const char *units_duration_text(int64_t ns, char *buf, size_t size)
{
	const int64_t minute_ns = 60 * NS_PER_S;
	const struct duration_unit *u = duration_units;

	if (ns >= 60 * minute_ns) {
		return two_units(ns / minute_ns, "h", "min", buf, size);
	}
	if (ns >= minute_ns) {
		return two_units(ns / NS_PER_S, "min", "s", buf, size);
	}
	while (u->name && u->ns > (ns ? ns : NS_PER_S)) {
		u++;
	}
	snprintf(buf, size, "%.4g %s",
		 (double)ns / (u->name ? (double)u->ns : 1),
		 u->name ? u->name : "ns");
	return buf;
}

const char *units_duration_arg(int64_t ns, char *buf, size_t size)
{
	if (ns == 0) {
		snprintf(buf, size, "0");
		return buf;
	}
	for (const struct duration_unit *u = duration_units; u->name; u++) {
		if (ns % u->ns == 0) {
			snprintf(buf, size, "%" PRId64 "%s", ns / u->ns,
				 u->name);
			return buf;
		}
	}
	snprintf(buf, size, "%" PRId64 ".%03" PRId64 "us", ns / NS_PER_US,
		 ns % NS_PER_US);
	return buf;
}

const char *units_real_text(double value, int digits,
			    char buf[UNITS_REAL_SIZE])
{
	double least = pow(10, 1 - digits);	/* of two digits that matter */
	bool small = value != 0 && fabs(value) < least;

	snprintf(buf, UNITS_REAL_SIZE, small ? "%.*g" : "%.*f",
		 small ? 2 : digits, value);
	return buf;
}
