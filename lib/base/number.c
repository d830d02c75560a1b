/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/number.h"

#include <math.h>

#define DIGITS_MAX 20
/** Nearer to the middle of two numbers than this, rounding is left to
 *  the standard library, which knows all digits. */
#define TIE 1e-5

static const double powers[] = {
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
};

/** @value in front of @end, with zeros up to @least digits; returns where it
 *  begins. */
static char *put_digits(uint64_t value, int least, char *end)
{
	char *at = end;

	while (value > 0 || end - at < least) {
		*--at = (char)('0' + value % 10);
		value /= 10;
	}
	return at;
}

void number_add_int(struct str *out, int64_t value)
{
	char digits[DIGITS_MAX], *end = digits + sizeof(digits), *at;

	at = put_digits(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1,
			end);
	if (value < 0) {
		str_addch(out, '-');
	}
	str_addmem(out, at, (size_t)(end - at));
}

/** @scaled / 10^@decimals, without zeros at its end. */
static void add_fixed(struct str *out, uint64_t scaled, int decimals)
{
	uint64_t one = (uint64_t)powers[decimals], part = scaled % one;
	char digits[DIGITS_MAX], *end = digits + sizeof(digits), *at;

	number_add_int(out, (int64_t)(scaled / one));
	if (part == 0) {
		return;
	}
	at = put_digits(part, decimals, end);
	while (end[-1] == '0') {
		end--;
	}
	str_addch(out, '.');
	str_addmem(out, at, (size_t)(end - at));
}

/** The power of ten of the first digit of @size, from 1e-4 to 1e9. */
static int exponent(double size)
{
	int x = 0;

	while (size >= powers[x + 1]) {
		x++;
	}
	while (x <= 0 && size * powers[-x] < 1) {
		x--;
	}
	return x;
}

void number_add_real(struct str *out, double value, int digits)
{
	double size = fabs(value), scaled;
	int decimals;

	if (size >= 1e-4 && size < 1e9) {
		decimals = digits - 1 - exponent(size);
		scaled = decimals >= 0 ? size * powers[decimals] : 0;
		if (decimals >= 0 && fabs(scaled - floor(scaled) - .5) > TIE &&
		    scaled + .5 < powers[digits]) {
			if (value < 0) {
				str_addch(out, '-');
			}
			add_fixed(out, (uint64_t)(scaled + .5), decimals);
			return;
		}
	}
	str_addf(out, "%.*g", digits, value);
}

int64_t number_sum(int64_t a, int64_t b)
{
	return a < INT64_MAX - b ? a + b : INT64_MAX;
}
