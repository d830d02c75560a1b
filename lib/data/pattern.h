/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_PATTERN_H
#define LIB_DATA_PATTERN_H

#include <stddef.h>
#include <stdint.h>

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
