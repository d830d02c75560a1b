/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/symptoms/symptom.h"

/* ---- literals ------------------------------------------------------------ */

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

/* ---- symptom pattern ----------------------------------------------------- */

/** Longer ones cost memory and find nothing more. */
#define ANCHOR_MAX 12
#define ANCHOR_MIN 3

/** A part of a pattern between two stars, and what it is matched with. */
struct cursor {
	const char *pattern;
	const char *line, *line_end;
};

static size_t plain_len(const char *pattern)
{
	return strcspn(pattern, "%*");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool take_separators(struct cursor *c)
{
	while (c->line < c->line_end && *c->line &&
	       strchr(" \t:.=", *c->line)) {
		c->line++;
	}
	return true;
}

static bool take_number(struct cursor *c)
{
	bool above_zero = false;
	const char *from = c->line;

	while (c->line < c->line_end && is_digit(*c->line)) {
		above_zero = above_zero || *c->line != '0';
		c->line++;
	}
	return c->line > from && above_zero;
}

static bool no_digit(struct cursor *c)
{
	return c->line == c->line_end || !is_digit(*c->line);
}

static const struct special {
	char letter;
	bool (*take)(struct cursor *c);
	const char *sample;
} specials[] = {
	{ .letter = '~', .take = take_separators, .sample = ": " },
	{ .letter = '+', .take = take_number, .sample = "5" },
	{ .letter = '|', .take = no_digit, .sample = "" },
	{ 0 }
};

static const struct special *special_of(char letter)
{
	for (const struct special *s = specials; s->letter; s++) {
		if (s->letter == letter) {
			return s;
		}
	}
	return NULL;
}

/** Return true if the part matches at this place. */
static bool part_here(struct cursor *c)
{
	while (*c->pattern && *c->pattern != '*') {
		size_t n = plain_len(c->pattern);

		if (n == 0) {
			if (!special_of(c->pattern[1])->take(c)) {
				return false;
			}
			c->pattern += 2;
			continue;
		}
		if ((size_t)(c->line_end - c->line) < n ||
		    memcmp(c->line, c->pattern, n) != 0) {
			return false;
		}
		c->line += n;
		c->pattern += n;
	}
	return true;
}

/** Behind the first place where the part matches, NULL when there is none. */
static const char *find_part(const char *part, const char *line,
			     const char *line_end)
{
	size_t n = plain_len(part);

	while ((line = memmem(line, (size_t)(line_end - line), part, n))) {
		struct cursor c = { .pattern = part, .line = line,
				    .line_end = line_end };

		if (part_here(&c)) {
			return c.line;
		}
		line++;
	}
	return NULL;
}

bool symptom_pattern_in(const char *pattern, const char *line, size_t len)
{
	const char *line_end = line + len;

	while (*pattern) {
		size_t n = strcspn(pattern, "*");

		line = n ? find_part(pattern, line, line_end) : line;
		if (!line) {
			return false;
		}
		pattern += n;
		pattern += *pattern == '*';
	}
	return true;
}

struct literal symptom_pattern_anchor(const char *pattern)
{
	struct literal best = { .text = pattern };

	while (*pattern) {
		size_t n = plain_len(pattern);

		/* later ones are more special: causes come at the end */
		if (n >= best.len) {
			best = (struct literal){ .text = pattern, .len = n };
		}
		pattern += n;
		pattern += *pattern == '%' ? 2 : *pattern == '*';
	}
	if (best.len > ANCHOR_MAX) {
		best.text += best.len - ANCHOR_MAX;
		best.len = ANCHOR_MAX;
	}
	return best;
}

const char *symptom_pattern_wrong(const char *pattern)
{
	for (const char *p = pattern; *p; p++) {
		bool starts = p == pattern || p[-1] == '*';

		if (*p == '%' && starts) {
			return "a part of a match begins with %";
		}
		if (*p == '%' && !special_of(p[1])) {
			return "% is followed by none of ~ + |";
		}
		p += *p == '%';
	}
	return symptom_pattern_anchor(pattern).len < ANCHOR_MIN ?
		       "a match has no three letters on end" :
		       NULL;
}

void symptom_pattern_sample(const char *pattern, struct str *out)
{
	for (; *pattern; pattern++) {
		if (*pattern == '*') {
			str_add(out, "...");
		} else if (*pattern == '%') {
			str_add(out, special_of(*++pattern)->sample);
		} else {
			str_addch(out, *pattern);
		}
	}
}
