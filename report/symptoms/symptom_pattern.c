/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/symptoms/symptom.h"

/* ---- literals ------------------------------------------------------------ */

#define STRINGS_MAX (65534 / LITERALS_STEP)

/** Hash of LITERALS_BYTES bytes. */
static inline uint32_t hash_of(const char *p)
{
	uint32_t key;

	memcpy(&key, p, sizeof(key));
	return key * UINT32_C(2654435761) >> 16;
}

/** How common a byte is in text, roughly. */
static int commonness(char c)
{
	return c && strchr(" etaoinsrNCL", c) ? 3 :
	       (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? 2 : 1;
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
		struct literal *s = &l->list[i];
		int least = INT_MAX;

		*s = list[i];
		for (size_t k = 0; k + LITERAL_MIN <= s->len; k++) {
			int sum = 0;

			for (size_t b = 0; b < LITERAL_MIN; b++) {
				sum += commonness(s->text[k + b]);
			}
			if (sum <= least) {	/* the rarest bytes */
				least = sum;
				s->at = k;
			}
		}
		for (size_t k = 0; k < LITERALS_STEP; k++) {
			uint32_t hash = hash_of(s->text + s->at + k);

			s->next[k] = l->first[hash];
			l->first[hash] = (uint16_t)(LITERALS_STEP * i + k + 1);
			l->any[hash / 8] |= (uint8_t)(1 << hash % 8);
		}
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
	for (; end - p >= LITERALS_BYTES; p += LITERALS_STEP) {
		uint32_t hash = hash_of(p);
		bool any = false;

		if (!(l->any[hash / 8] >> hash % 8 & 1)) {
			continue;
		}
		for (size_t i = l->first[hash], k; i;
		     i = l->list[(i - 1) / LITERALS_STEP].next[k]) {
			const struct literal *o =
				&l->list[(i - 1) / LITERALS_STEP];
			size_t at;

			k = (i - 1) % LITERALS_STEP;
			at = o->at + k;
			if ((size_t)(p - text) < at ||
			    (size_t)(end - p) < o->len - at ||
			    memcmp(p - at, o->text, o->len) != 0) {
				continue;
			}
			any = true;
			if (found) {
				found(user, (i - 1) / LITERALS_STEP);
			}
		}
		if (any) {
			return p + LITERALS_STEP;
		}
	}
	return NULL;
}

/* ---- symptom pattern ----------------------------------------------------- */

/** More bytes have rarer ones among them; beyond that few are found. */
#define ANCHOR_MAX 32

static size_t plain_len(const char *pattern)
{
	return strcspn(pattern, "%*");
}

/** The end of @part, up to a star or the end, if it matches at @line; NULL. */
static const char *part_end(const char *part, const char *line,
			    const char *line_end)
{
	while (*part && *part != '*') {
		const size_t n = plain_len(part);
		const char *from = line;
		bool above_zero = false;

		if (n > 0) {
			if ((size_t)(line_end - line) < n ||
			    memcmp(line, part, n) != 0) {
				return NULL;
			}
			line += n;
			part += n;
			continue;
		}
		switch (part[1]) {
		case '~':
			while (line < line_end && *line &&
			       strchr(" \t:.=", *line)) {
				line++;
			}
			break;
		case '+':
			while (line < line_end &&
			       isdigit((unsigned char)*line)) {
				above_zero = above_zero || *line != '0';
				line++;
			}
			if (line == from || !above_zero) {
				return NULL;
			}
			break;
		default:	/* | */
			if (line < line_end && isdigit((unsigned char)*line)) {
				return NULL;
			}
		}
		part += 2;
	}
	return line;
}

bool symptom_pattern_in(const char *pattern, const char *line, size_t len)
{
	const char *line_end = line + len;

	while (*pattern) {
		const size_t n = strcspn(pattern, "*");
		const size_t plain = plain_len(pattern);
		const char *end = n ? NULL : line;

		/* the first place where the part up to the star matches */
		while (!end && (line = memmem(line, (size_t)(line_end - line),
					      pattern, plain))) {
			end = part_end(pattern, line, line_end);
			line++;
		}
		if (!end) {
			return false;
		}
		line = end;
		pattern += n + (pattern[n] == '*');
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
		if (*p == '%' && (!p[1] || !strchr("~+|", p[1]))) {
			return "% is followed by none of ~ + |";
		}
		p += *p == '%';
	}
	return symptom_pattern_anchor(pattern).len < LITERAL_MIN ?
		       "a match has no five letters on end" :
		       NULL;
}

void symptom_pattern_sample(const char *pattern, struct str *out)
{
	for (; *pattern; pattern++) {
		if (*pattern == '*') {
			str_add(out, "...");
		} else if (*pattern == '%') {
			pattern++;
			str_add(out, *pattern == '~' ? ": " :
				     *pattern == '+' ? "5" : "");
		} else {
			str_addch(out, *pattern);
		}
	}
}
