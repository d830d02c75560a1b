/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/symptoms/literals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STRINGS_MAX 65534

static uint32_t key_of(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
}

static uint32_t hash_of(uint32_t key)
{
	return key * UINT32_C(2654435761) >> 16;
}

/** How common a byte is in text, roughly. */
static int commonness(char c)
{
	return c && strchr(" etaoinsrNCL", c) ? 3 :
	       (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? 2 : 1;
}

/** The place of the rarest three bytes. */
static size_t choose(const struct literal *s)
{
	size_t best = 0;
	int least = 10;

	for (size_t i = 0; i + 3 <= s->len; i++) {
		int sum = commonness(s->text[i]) + commonness(s->text[i + 1]) +
			  commonness(s->text[i + 2]);

		if (sum <= least) {
			least = sum;
			best = i;
		}
	}
	return best;
}

int literals_make(const struct literal *list, size_t n, struct literals *l)
{
	*l = (struct literals){ 0 };
	l->list = calloc(n + 1, sizeof(*l->list));
	if (!l->list || n > STRINGS_MAX) {
		literals_release(l);
		return -1;
	}
	for (size_t i = n; i-- > 0;) {	/* so that the first is first */
		size_t at = choose(&list[i]);
		uint32_t hash = hash_of(key_of(list[i].text + at));

		l->list[i] = (struct literal_of){
			.s = list[i], .at = at, .next = l->first[hash],
		};
		l->first[hash] = (uint16_t)(i + 1);
		l->any[hash / 8] |= (uint8_t)(1 << hash % 8);
	}
	return 0;
}

void literals_release(struct literals *l)
{
	free(l->list);
	*l = (struct literals){ 0 };
}

const char *literals_find(const struct literals *l, const char *text,
			  const char *p, const char *end,
			  void (*found)(void *user, size_t string), void *user)
{
	for (; end - p >= 3; p++) {
		uint32_t hash = hash_of(key_of(p));
		bool any = false;

		if (!(l->any[hash / 8] >> hash % 8 & 1)) {
			continue;
		}
		for (size_t i = l->first[hash]; i; i = l->list[i - 1].next) {
			const struct literal_of *o = &l->list[i - 1];

			if ((size_t)(p - text) < o->at ||
			    (size_t)(end - p) < o->s.len - o->at ||
			    memcmp(p - o->at, o->s.text, o->s.len) != 0) {
				continue;
			}
			any = true;
			if (found) {
				found(user, i - 1);
			}
		}
		if (any) {
			return p + 1;
		}
	}
	return NULL;
}
