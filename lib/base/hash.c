/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/hash.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t finalise(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t hash_mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = finalise(seed);

	x = finalise(x ^ a);
	x = finalise(x ^ b);
	return finalise(x ^ c);
}

double hash_unit(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	/* 53 bits fill the mantissa of a double exactly, so 1 is not reached */
	return (double)(hash_mix(seed, a, b, c) >> 11) * 0x1p-53;
}

int hash_random(void *buf, size_t n)
{
	return getentropy(buf, n);
}

void hash_hex(const void *bytes, size_t n, char *text)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = bytes;

	for (size_t i = 0; i < n; i++) {
		*text++ = digits[b[i] >> 4];
		*text++ = digits[b[i] & 15];
	}
	*text = '\0';
}

/** Return the value of a hexadecimal digit. */
static int digit_of(char c)
{
	return c <= '9'	? c - '0' :
	       c >= 'a' ? c - 'a' + 10 : c - 'A' + 10;
}

int hash_unhex(const char *text, void *bytes, size_t n)
{
	unsigned char *b = bytes;

	if (strlen(text) != 2 * n ||
	    strspn(text, "0123456789abcdefABCDEF") != 2 * n) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		b[i] = (unsigned char)(digit_of(text[2 * i]) << 4 |
				       digit_of(text[2 * i + 1]));
	}
	return 0;
}

int hash_equal(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *x = a, *y = b;
	unsigned char differ = 0;

	for (size_t i = 0; i < n; i++) {
		differ |= x[i] ^ y[i];
	}
	return differ == 0;
}

/* ---- pattern ------------------------------------------------------------ */

static uint64_t pattern_word(uint64_t seed, size_t i)
{
	return (seed + i) * PATTERN_MULTIPLIER;
}

uint64_t pattern_seed(const char *nonce, int dir)
{
	uint64_t seed = (uint64_t)dir;

	for (; *nonce != '\0'; nonce++) {
		seed = hash_mix(seed, (uint64_t)*nonce, 0, 0);
	}
	return seed;
}

void pattern_fill(void *buf, size_t n, uint64_t seed)
{
	unsigned char *p = buf;
	size_t words = n / 8;
	uint64_t v;

	for (size_t i = 0; i < words; i++) {
		v = pattern_word(seed, i);
		memcpy(p + i * 8, &v, 8);
	}
	v = pattern_word(seed, words);
	memcpy(p + words * 8, &v, n % 8);
}

static size_t bytes_differ(const unsigned char *a, uint64_t v, size_t n)
{
	unsigned char b[8];
	size_t wrong = 0;

	memcpy(b, &v, 8);
	for (size_t i = 0; i < n; i++) {
		wrong += a[i] != b[i];
	}
	return wrong;
}

size_t pattern_wrong(const void *buf, size_t n, uint64_t seed)
{
	const unsigned char *p = buf;
	size_t words = n / 8, wrong = 0;

	for (size_t i = 0; i < words; i++) {
		const uint64_t right = pattern_word(seed, i);
		uint64_t v;

		memcpy(&v, p + i * 8, 8);
		if (v != right) {
			wrong += bytes_differ(p + i * 8, right, 8);
		}
	}
	return wrong + bytes_differ(p + words * 8, pattern_word(seed, words),
				    n % 8);
}

void pattern_spoil(void *buf, size_t n)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < n; i += 4096) {
		p[i] ^= 0x55;
	}
}
