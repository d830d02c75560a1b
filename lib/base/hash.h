/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_BASE_HASH_H
#define LIB_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/**
 * Mix a seed and three numbers into 64 even bits (splitmix64 finaliser after
 * each; not for secrets).  Same input, same output, on every machine.
 */
uint64_t hash_mix(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/** hash_mix() mapped to [0, 1). */
double hash_unit(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/** Start of hash_bytes(). */
#define HASH_START UINT64_C(0xcbf29ce484222325)
/** @hash of what stands before, continued by @n bytes: FNV-1a, for tables. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	for (const unsigned char *c = bytes; n > 0; n--) {
		hash = (hash ^ *c++) * UINT64_C(0x100000001b3);
	}
	return hash;
}

/** @n bytes, at most 256, from the kernel's generator; 0, or -1 when it gives
 *  none. */
int hash_random(void *buf, size_t n);

/** Lower-case hex of @n bytes into @text (2n+1 bytes). */
void hash_hex(const void *bytes, size_t n, char *text);
/** The other way; -1 unless @text is exactly 2n hex digits. */
int hash_unhex(const char *text, void *bytes, size_t n);

/** memcmp() == 0 in time that does not depend on where they differ. */
int hash_equal(const void *a, const void *b, size_t n);

/* ---- pattern ------------------------------------------------------------ */

/**
 * The bytes that travel: 64-bit word i is (seed + i) times an odd constant,
 * so that shifted, swapped, repeated and zeroed blocks all show.  Both ends
 * make it from the seed; neither sends it separately.  xport_nccl's GPU kernel
 * computes the same.
 */
#define PATTERN_MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

/** The seed of a task and direction, from the task's nonce. */
uint64_t pattern_seed(const char *nonce, int dir);
void pattern_fill(void *buf, size_t n, uint64_t seed);
/** How many of the @n bytes differ from the pattern. */
size_t pattern_wrong(const void *buf, size_t n, uint64_t seed);
/** Flip some bytes of @buf, for the drill "corrupt". */
void pattern_spoil(void *buf, size_t n);

#endif
