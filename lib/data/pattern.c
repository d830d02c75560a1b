/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/pattern.h"

#include <string.h>

#include "lib/base/hash.h"

static uint64_t word(uint64_t seed, size_t i)
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
		v = word(seed, i);
		memcpy(p + i * 8, &v, 8);
	}
	v = word(seed, words);
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
		uint64_t v;

		memcpy(&v, p + i * 8, 8);
		if (v != word(seed, i)) {
			wrong += bytes_differ(p + i * 8, word(seed, i), 8);
		}
	}
	return wrong + bytes_differ(p + words * 8, word(seed, words), n % 8);
}

void pattern_spoil(void *buf, size_t n)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < n; i += 4096) {
		p[i] ^= 0x55;
	}
}
