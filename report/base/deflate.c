/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/base/deflate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	   65536	/* bytes of input that share a code */
#define WINDOW	   32768
#define HASH_BITS  15
/** Shorter repeats cost more than they save where figures are noise. */
#define MATCH_MIN  6
#define MATCH_MAX  258
#define LITERALS   286		/* bytes, the end, lengths of repeats */
#define DISTANCES  30
#define END	   256
#define DEPTH_MAX  15

/** A code of @n symbols: how many bits each has, and which. */
struct code {
	int n;
	uint32_t count[LITERALS];
	uint8_t bits[LITERALS];
	uint16_t word[LITERALS];	/* the first bit lowest */
};

/** A byte, or a repeat of @length from @distance back. */
struct token {
	uint16_t length, distance;	/* 0: @distance is the byte */
};

struct deflate {
	struct str *out;
	uint32_t held;
	int n_held;		/* bits */
	struct token *tokens;
	size_t n;
	struct code literals, distances;
};

static void put(struct deflate *d, unsigned value, int bits)
{
	d->held |= value << d->n_held;
	for (d->n_held += bits; d->n_held >= 8; d->n_held -= 8) {
		str_addch(d->out, (char)d->held);
		d->held >>= 8;
	}
}

/** Where @value falls among ranges that double after every @per of them:
 *  symbol, and what is left of it in *@extra of *@bits. */
static int place(int value, int per, int *extra, int *bits)
{
	int first = 0, symbol = 0;

	*bits = 0;
	while (value >= first + (1 << *bits)) {
		first += 1 << *bits;
		symbol++;
		*bits = symbol < 2 * per ? 0 : symbol / per - 1;
	}
	*extra = value - first;
	return symbol;
}

static int length_symbol(int length, int *extra, int *bits)
{
	if (length == MATCH_MAX) {
		*extra = *bits = 0;
		return LITERALS - 1;
	}
	return END + 1 + place(length - 3, 4, extra, bits);
}

static int distance_symbol(int distance, int *extra, int *bits)
{
	return place(distance - 1, 2, extra, bits);
}

/** How deep each symbol with a count stands in a tree of Huffman's; the
 *  deepest. */
static int find_depths(struct code *c)
{
	uint32_t weight[2 * LITERALS];
	int parent[2 * LITERALS], nodes = c->n, deepest = 0;
	bool taken[2 * LITERALS] = { false };

	memcpy(weight, c->count, sizeof(*weight) * (size_t)c->n);
	for (;;) {
		int least[2] = { -1, -1 };

		for (int i = 0; i < nodes; i++) {
			if (taken[i] || weight[i] == 0) {
				continue;
			}
			if (least[0] < 0 || weight[i] < weight[least[0]]) {
				least[1] = least[0];
				least[0] = i;
			} else if (least[1] < 0 ||
				   weight[i] < weight[least[1]]) {
				least[1] = i;
			}
		}
		if (least[1] < 0) {
			break;
		}
		weight[nodes] = weight[least[0]] + weight[least[1]];
		taken[least[0]] = taken[least[1]] = true;
		parent[least[0]] = parent[least[1]] = nodes++;
	}
	for (int i = 0; i < c->n; i++) {
		int depth = 0;

		for (int at = i; c->count[i] > 0 && at != nodes - 1;
		     at = parent[at]) {
			depth++;
		}
		c->bits[i] = (uint8_t)depth;
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/** Two symbols at least have a count. */
static void make_code(struct code *c)
{
	unsigned next = 0;

	while (find_depths(c) > DEPTH_MAX) {
		for (int i = 0; i < c->n; i++) {
			c->count[i] = (c->count[i] + 1) / 2;
		}
	}
	for (int bits = 1; bits <= DEPTH_MAX; bits++, next <<= 1) {
		for (int i = 0; i < c->n; i++) {
			unsigned word = 0;

			for (int b = 0; c->bits[i] == bits && b < bits; b++) {
				word |= (next >> b & 1) << (bits - 1 - b);
			}
			if (c->bits[i] == bits) {
				c->word[i] = (uint16_t)word;
				next++;
			}
		}
	}
}

static void put_symbol(struct deflate *d, const struct code *c, int symbol)
{
	put(d, c->word[symbol], c->bits[symbol]);
}

/** The lengths of both codes, each in four bits: that costs 160 bytes. */
static void put_codes(struct deflate *d)
{
	const struct code *codes[] = { &d->literals, &d->distances };

	put(d, LITERALS - 257, 5);
	put(d, DISTANCES - 1, 5);
	put(d, 19 - 4, 4);
	for (int i = 0; i < 19; i++) {	/* 16, 17, 18 come first */
		put(d, i < 3 ? 0 : 4, 3);
	}
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < codes[k]->n; i++) {
			unsigned bits = codes[k]->bits[i];

			put(d, (bits & 1) << 3 | (bits & 2) << 1 |
			       (bits & 4) >> 1 | bits >> 3, 4);
		}
	}
}

static void count_tokens(struct deflate *d)
{
	int extra, bits;

	d->literals = (struct code){ .n = LITERALS };
	d->distances = (struct code){ .n = DISTANCES };
	/* a code has two words at least */
	d->literals.count[END] = d->literals.count[0] = 1;
	d->distances.count[0] = d->distances.count[1] = 1;
	for (size_t i = 0; i < d->n; i++) {
		const struct token *t = &d->tokens[i];

		if (t->length == 0) {
			d->literals.count[t->distance]++;
			continue;
		}
		d->literals.count[length_symbol(t->length, &extra, &bits)]++;
		d->distances.count[distance_symbol(t->distance, &extra,
						   &bits)]++;
	}
	make_code(&d->literals);
	make_code(&d->distances);
}

static void put_block(struct deflate *d, bool last)
{
	int extra, bits, symbol;

	count_tokens(d);
	put(d, last, 1);
	put(d, 2, 2);
	put_codes(d);
	for (size_t i = 0; i < d->n; i++) {
		const struct token *t = &d->tokens[i];

		if (t->length == 0) {
			put_symbol(d, &d->literals, t->distance);
			continue;
		}
		symbol = length_symbol(t->length, &extra, &bits);
		put_symbol(d, &d->literals, symbol);
		put(d, (unsigned)extra, bits);
		symbol = distance_symbol(t->distance, &extra, &bits);
		put_symbol(d, &d->distances, symbol);
		put(d, (unsigned)extra, bits);
	}
	put_symbol(d, &d->literals, END);
	d->n = 0;
}

static unsigned hash_of(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v * 2654435761U >> (32 - HASH_BITS);
}

/** Bytes that are alike at @a and @b, before @end. */
static size_t alike(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
	size_t n = 0;

	while (n < MATCH_MAX && b + n < end && a[n] == b[n]) {
		n++;
	}
	return n;
}

/** The tokens of @p[@at ... @end[; @last: where each hash was seen, + 1. */
static void find_tokens(struct deflate *d, const uint8_t *p, size_t at,
			size_t end, uint32_t *last)
{
	while (at < end) {
		size_t length = 0, from = 0;

		if (at + 4 <= end) {
			uint32_t *seen = &last[hash_of(p + at)];

			from = *seen;
			*seen = (uint32_t)at + 1;
			if (from > 0 && at + 1 - from <= WINDOW) {
				length = alike(p + from - 1, p + at, p + end);
			}
		}
		if (length < MATCH_MIN) {
			d->tokens[d->n++] = (struct token){
				.distance = p[at++] };
			continue;
		}
		d->tokens[d->n++] = (struct token){
			.length = (uint16_t)length,
			.distance = (uint16_t)(at + 1 - from) };
		at += length;
	}
}

void deflate_add(const void *bytes, size_t n, struct str *out)
{
	struct deflate d = { .out = out };
	uint32_t *last = calloc((size_t)1 << HASH_BITS, sizeof(*last));

	d.tokens = calloc(BLOCK, sizeof(*d.tokens));
	out->failed |= !last || !d.tokens;
	for (size_t at = 0; !out->failed && (at < n || at == 0); at += BLOCK) {
		size_t end = n - at > BLOCK ? at + BLOCK : n;

		find_tokens(&d, bytes, at, end, last);
		put_block(&d, end == n);
	}
	put(&d, 0, 7);		/* to a whole byte */
	free(d.tokens);
	free(last);
}
