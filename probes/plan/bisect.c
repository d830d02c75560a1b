/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/retry.h"

#include <stdlib.h>
#include <string.h>

enum stage { PIECES, RESTS, WITNESS, DONE };

struct bisect {
	int least;
	int n_all;
	int set[BISECT_MAX], n;		/* known to be bad */
	int asked[BISECT_MAX], n_asked;
	enum stage stage;
	int pieces, piece;	/* how many, and which is asked about */
	bool bad_with[2];	/* of two: bad with a good part too */
};

int bisect_across(int n, int i, int *set)
{
	const int half = n / 2, more = (half + 1) / 2, less = half / 2;
	const int odd = more - less;
	/* of the quarters in order; where some have less, a part of others */
	const int take[BISECT_ACROSS][4] = {
		{ more, 0, more, 0 },
		{ more, 0, odd, less },
		{ 0, less, more, odd },
		{ 2 * odd, less, 0, less },
	};
	int k = 0;

	for (int q = 0; q < 4; q++) {
		int first = (q < 2 ? 0 : n - half) + (q % 2 == 0 ? 0 : more);

		if (q == 2 && n % 2 == 1) {
			set[k++] = half;
		}
		for (int part = 0; part < take[i][q]; part++) {
			set[k++] = first + part;
		}
	}
	return k;
}

struct bisect *bisect_new(int n, int least)
{
	struct bisect *b = n <= BISECT_MAX ? calloc(1, sizeof(*b)) : NULL;

	if (b == NULL) {
		return NULL;
	}
	b->n = b->n_all = n;
	b->least = least;
	b->pieces = 2;
	for (int i = 0; i < n; i++) {
		b->set[i] = i;
	}
	return b;
}

/** The last part that is in no bad set; -1. */
static int good_part(const struct bisect *b)
{
	for (int i = b->n_all - 1; i >= 0; i--) {
		bool in = false;

		for (int k = 0; k < b->n; k++) {
			in = in || b->set[k] == i;
		}
		if (!in) {
			return i;
		}
	}
	return -1;
}

/** Nothing can be left out any more. */
static void narrowed(struct bisect *b)
{
	b->stage = b->n == 2 && good_part(b) >= 0 ? WITNESS : DONE;
	b->piece = 0;
}

/** On to the next piece, the next stage, finer pieces, or the end. */
static void go_on(struct bisect *b)
{
	if (++b->piece < b->pieces) {
		return;
	}
	b->piece = 0;
	if (b->stage == PIECES && b->pieces > 2) {
		b->stage = RESTS;	/* of two, each is the other's rest */
	} else if (b->pieces < b->n) {
		b->stage = PIECES;
		b->pieces = 2 * b->pieces < b->n ? 2 * b->pieces : b->n;
	} else {
		narrowed(b);
	}
}

int bisect_next(struct bisect *b, const int **parts)
{
	int from, to;

	*parts = b->asked;
	while (b->stage == PIECES || b->stage == RESTS) {
		if (b->n < 2 || b->n <= b->least) {
			narrowed(b);
			break;
		}
		/* piece number b->piece, or all but that */
		from = b->n * b->piece / b->pieces;
		to = b->n * (b->piece + 1) / b->pieces;
		b->n_asked = 0;
		for (int i = 0; i < b->n; i++) {
			if ((i >= from && i < to) != (b->stage == RESTS)) {
				b->asked[b->n_asked++] = b->set[i];
			}
		}
		if (b->n_asked >= b->least && b->n_asked < b->n) {
			return b->n_asked;
		}
		go_on(b);
	}
	if (b->stage == WITNESS) {
		b->asked[0] = b->set[b->piece];
		b->asked[1] = good_part(b);
		return b->n_asked = 2;
	}
	return 0;
}

void bisect_tell(struct bisect *b, bool bad)
{
	if (b->stage == WITNESS) {
		b->bad_with[b->piece] = bad;
		if (++b->piece < 2) {
			return;
		}
		b->stage = DONE;
		if (b->bad_with[0] != b->bad_with[1]) {
			b->set[0] = b->set[b->bad_with[0] ? 0 : 1];
			b->n = 1;
		}
		return;
	}
	if (!bad) {
		go_on(b);
		return;
	}
	memcpy(b->set, b->asked, (size_t)b->n_asked * sizeof(*b->set));
	b->n = b->n_asked;
	b->pieces = b->stage == RESTS && b->pieces > 2 ? b->pieces - 1 : 2;
	b->pieces = b->pieces > b->n ? b->n : b->pieces;
	b->stage = PIECES;
	b->piece = 0;
}

int bisect_answer(const struct bisect *b, const int **parts)
{
	*parts = b->set;
	return b->n;
}
