/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/csv_scan.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { WIDTH = 16 };
typedef unsigned char bytes __attribute__((vector_size(WIDTH)));
typedef signed char flags __attribute__((vector_size(WIDTH)));

static bytes load(const char *p)
{
	bytes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/** All bits of each byte of @v that is @c. */
static flags is_byte(bytes v, unsigned char c)
{
	return v == (v ^ v) + c;
}

static flags is_within(bytes v, unsigned char from, unsigned char to)
{
	return v - from <= (v ^ v) + (unsigned char)(to - from);
}

static bool any(flags v)
{
	uint64_t half[2];

	memcpy(half, &v, sizeof(half));
	return (half[0] | half[1]) != 0;
}

/** A bit for each byte of @v that is set, the first one lowest. */
static unsigned bits_of(flags v)
{
	unsigned bits = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t half[2];

	memcpy(half, &v, sizeof(half));
	for (int i = 0; i < 2; i++) {
		/* the highest bit of each byte to its place in the highest */
		bits |= (unsigned)(((half[i] & 0x8080808080808080) *
				    0x0002040810204081) >> 56) << 8 * i;
	}
#else
	for (int i = 0; i < WIDTH; i++) {
		bits |= (v[i] ? 1u : 0) << i;
	}
#endif
	return bits;
}

/* ---- fields -------------------------------------------------------------- */

/** Bytes that one by one are looked at: what ends a field, or its plainness. */
static bool is_closer(unsigned char c)
{
	return c == '\r' || c == '"' || c == '\0';
}

size_t csv_scan_fields(const char *text, size_t n, size_t max,
		       size_t offsets[])
{
	flags closer = { 0 };
	size_t i = 0, fields = 1;

	offsets[0] = 0;
	for (; i + WIDTH <= n && fields + WIDTH < max; i += WIDTH) {
		const bytes v = load(text + i);
		unsigned commas = bits_of(is_byte(v, ','));

		closer |= is_byte(v, '\r') | is_byte(v, '"') |
			  is_byte(v, '\0');
		for (; commas; commas &= commas - 1) {
			offsets[fields++] =
				i + (size_t)__builtin_ctz(commas) + 1;
		}
	}
	if (any(closer)) {
		return 0;
	}
	for (; i < n && fields < max; i++) {
		if (is_closer((unsigned char)text[i])) {
			return 0;
		}
		offsets[fields] = i + 1;	/* if it is a comma */
		fields += text[i] == ',';
	}
	return fields < max ? fields : 0;
}

/* ---- plain lines --------------------------------------------------------- */

static const bool is_plain[UCHAR_MAX + 1] = {
	['a' ... 'z'] = true, ['A' ... 'Z'] = true, [',' ... ':'] = true,
	['_'] = true, [' '] = true,
};

/** Those of @v that are none of these. */
static flags not_plain(bytes v)
{
	return ~(is_within(v, ',', ':') | is_byte(v, '_') | is_byte(v, ' ') |
		 is_within(v | 0x20, 'a', 'z'));
}

/** As many of the bytes of @sums as were counted down. */
static size_t sum_of(bytes sums)
{
	size_t sum = 0;

	for (int i = 0; i < WIDTH; i++) {
		sum += sums[i];
	}
	return sum;
}

size_t csv_scan_plain(const char *text, size_t n)
{
	size_t i = 0, fields = 1;

	if (n == 0 || text[0] == '-' || text[0] == ' ') {
		return 0;
	}
	while (i + WIDTH < n) {	/* and one more */
		bytes commas = { 0 };
		flags bad = { 0 };

		for (int k = 0; k < UCHAR_MAX && i + WIDTH < n; k++) {
			const bytes v = load(text + i);
			const bytes next = load(text + i + 1);
			const flags comma = is_byte(v, ',');

			/* a formula may begin with it */
			bad |= not_plain(v) |
			       (comma & (is_byte(next, '-') |
					 is_byte(next, ' ')));
			commas -= (bytes)comma;
			i += WIDTH;
		}
		if (any(bad)) {
			return 0;
		}
		fields += sum_of(commas);
	}
	for (; i < n; i++) {
		if (!is_plain[(unsigned char)text[i]] ||
		    ((text[i] == '-' || text[i] == ' ') && i > 0 &&
		     text[i - 1] == ',')) {
			return 0;
		}
		fields += text[i] == ',';
	}
	return fields;
}
