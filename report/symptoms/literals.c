/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/symptoms/literals.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 256
#define STATES_MAX 65535

/** While it is built: the trie, its states in the order they were made. */
struct trie {
	uint16_t (*child)[BYTES];	/* 0 = none, the root is nobody's child */
	uint16_t *fail;
	uint16_t *queue;		/* the states, breadth first */
	bool *hit;			/* ends a string, or its fail does */
	uint32_t *owned;
	size_t n;
};

static void trie_release(struct trie *t)
{
	free(t->child);
	free(t->fail);
	free(t->queue);
	free(t->hit);
	free(t->owned);
}

static int trie_open(struct trie *t, size_t states)
{
	*t = (struct trie){ .n = 1 };
	t->child = calloc(states, sizeof(*t->child));
	t->fail = calloc(states, sizeof(*t->fail));
	t->queue = calloc(states, sizeof(*t->queue));
	t->hit = calloc(states, sizeof(*t->hit));
	t->owned = calloc(states, sizeof(*t->owned));
	return t->child && t->fail && t->queue && t->hit && t->owned ? 0 : -1;
}

static void add_string(struct trie *t, const struct literal *s, size_t number,
		       uint32_t *same)
{
	size_t at = 0;

	for (size_t i = 0; i < s->len; i++) {
		uint16_t *child = &t->child[at][(unsigned char)s->text[i]];

		if (*child == 0) {
			*child = (uint16_t)t->n++;
		}
		at = *child;
	}
	same[number] = t->owned[at];
	t->owned[at] = (uint32_t)number + 1;
	t->hit[at] = true;
}

/** Breadth first: what a state lacks, the shorter one that it fails to has. */
static void add_fails(struct trie *t)
{
	size_t head = 0, tail = 1;

	while (head < tail) {
		size_t at = t->queue[head++];

		for (int b = 0; b < BYTES; b++) {
			uint16_t fallen = t->child[t->fail[at]][b];
			uint16_t *child = &t->child[at][b];

			if (*child == 0) {
				*child = fallen;
				continue;
			}
			t->fail[*child] = at == 0 ? 0 : fallen;
			t->hit[*child] = t->hit[*child] ||
					 t->hit[t->fail[*child]];
			t->queue[tail++] = *child;
		}
	}
}

/** Number the states so that one comparison tells a hit. */
static void number_states(const struct trie *t, uint16_t *name,
			  struct literals *l)
{
	uint16_t next = 0;

	for (int hit = 0; hit < 2; hit++) {
		for (size_t i = 0; i < t->n; i++) {
			if (t->hit[i] == (hit == 1)) {
				name[i] = next++;
			}
		}
		if (hit == 0) {
			l->first_hit = next;
		}
	}
}

static void fill_in(const struct trie *t, const uint16_t *name,
		    struct literals *l)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t to = name[i];

		for (size_t b = 0; b < BYTES; b++) {
			l->next[to * BYTES + b] = name[t->child[i][b]];
		}
		l->fail[to] = name[t->fail[i]];
		l->owned[to] = t->owned[i];
	}
}

int literals_make(const struct literal *list, size_t n, struct literals *l)
{
	size_t states = 1;
	struct trie t = { 0 };
	uint16_t *name = NULL;
	int rc = -1;

	*l = (struct literals){ 0 };
	for (size_t i = 0; i < n; i++) {
		states += list[i].len;
	}
	if (states > STATES_MAX || trie_open(&t, states) < 0) {
		goto release;
	}
	l->same = calloc(n + 1, sizeof(*l->same));
	if (!l->same) {
		goto release;
	}
	for (size_t i = n; i > 0; i--) {	/* so that the first is first */
		add_string(&t, &list[i - 1], i - 1, l->same);
	}
	add_fails(&t);
	name = calloc(t.n, sizeof(*name));
	l->n_states = t.n;
	l->next = calloc(t.n * BYTES, sizeof(*l->next));
	l->fail = calloc(t.n, sizeof(*l->fail));
	l->owned = calloc(t.n, sizeof(*l->owned));
	if (name && l->next && l->fail && l->owned) {
		number_states(&t, name, l);
		fill_in(&t, name, l);
		rc = 0;
	}
release:
	free(name);
	trie_release(&t);
	if (rc < 0) {
		literals_release(l);
	}
	return rc;
}

void literals_release(struct literals *l)
{
	free(l->next);
	free(l->fail);
	free(l->owned);
	free(l->same);
	*l = (struct literals){ 0 };
}

const char *literals_find(const struct literals *l, uint16_t *state,
			  const char *p, const char *end)
{
	const uint16_t *next = l->next;
	uint16_t first_hit = l->first_hit;
	size_t at = *state;

	while (p < end) {
		at = next[at * BYTES + (unsigned char)*p++];
		if (at >= first_hit) {
			*state = (uint16_t)at;
			return p;
		}
	}
	*state = (uint16_t)at;
	return NULL;
}

void literals_race(const struct literals *l,
		   struct literals_walk w[LITERALS_WALKS])
{
	const uint16_t *next = l->next;
	const unsigned char *a = (const unsigned char *)w[0].p;
	const unsigned char *b = (const unsigned char *)w[1].p;
	const unsigned char *c = (const unsigned char *)w[2].p;
	const unsigned char *d = (const unsigned char *)w[3].p;
	size_t at_a = w[0].state, at_b = w[1].state;
	size_t at_c = w[2].state, at_d = w[3].state;
	size_t hit = l->first_hit, n = SIZE_MAX, i = 0;

	for (int k = 0; k < LITERALS_WALKS; k++) {
		size_t left = (size_t)(w[k].end - w[k].p);

		n = left < n ? left : n;
	}
	/* spelled out: in registers all of it */
	while (i < n) {
		at_a = next[at_a * BYTES + a[i]];
		at_b = next[at_b * BYTES + b[i]];
		at_c = next[at_c * BYTES + c[i]];
		at_d = next[at_d * BYTES + d[i]];
		i++;
		if ((at_a >= hit) | (at_b >= hit) | (at_c >= hit) |
		    (at_d >= hit)) {
			break;
		}
	}
	w[0].state = (uint16_t)at_a;
	w[1].state = (uint16_t)at_b;
	w[2].state = (uint16_t)at_c;
	w[3].state = (uint16_t)at_d;
	for (int k = 0; k < LITERALS_WALKS; k++) {
		w[k].p += i;
	}
}

void literals_each(const struct literals *l, uint16_t state,
		   void (*found)(void *user, size_t string), void *user)
{
	for (uint16_t at = state; at != 0 && at >= l->first_hit;
	     at = l->fail[at]) {
		for (uint32_t s = l->owned[at]; s != 0; s = l->same[s - 1]) {
			found(user, s - 1);
		}
	}
}
