/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STR_MIN_CAP 64
/** Longest word that str_nearest() looks at; no option is longer. */
#define STR_MAX_WORD 64
/** Characters that join names of NICs. */
#define NAME_ENDS "+ "

void str_release(struct str *s)
{
	if (s) {
		free(s->data);
		*s = (struct str)STR_INIT;
	}
}

void str_cut(struct str *s, size_t len)
{
	if (len < s->len) {
		s->len = len;
		s->data[len] = '\0';
	}
}

void str_reset(struct str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->data) {
		s->data[0] = '\0';
	}
}

/** Make room for @n more bytes and the final NUL; false = no memory. */
static bool str_room(struct str *s, size_t n)
{
	size_t cap = s->cap ? s->cap : STR_MIN_CAP;
	char *data;

	if (!s->failed && n < s->cap && s->len < s->cap - n) {
		return true;
	}
	if (s->failed || n > SIZE_MAX / 4 || s->len > SIZE_MAX / 4) {
		s->failed = true;
		return false;
	}
	while (cap < s->len + n + 1) {
		cap *= 2;
	}
	data = realloc(s->data, cap);
	if (!data) {
		s->failed = true;
		return false;
	}
	s->data = data;
	s->cap = cap;
	return true;
}

char *str_more(struct str *s, size_t n)
{
	if (!str_room(s, n)) {
		return NULL;
	}
	s->len += n;
	s->data[s->len] = '\0';
	return s->data + s->len - n;
}

void str_addmem(struct str *s, const void *mem, size_t n)
{
	char *to = str_more(s, n);

	if (to && n) {
		memcpy(to, mem, n);
	}
}

void str_add(struct str *s, const char *text)
{
	str_addmem(s, text, strlen(text));
}

void str_addch_slow(struct str *s, char c)
{
	if (str_room(s, 1)) {
		s->data[s->len++] = c;
		s->data[s->len] = '\0';
	}
}

void str_vaddf(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	if (!str_room(s, 1)) {
		return;
	}
	/* most texts fit in the room that is left; the others are written
	 * again */
	va_copy(again, ap);
	n = vsnprintf(s->data + s->len, s->cap - s->len, fmt, ap);
	s->failed = n < 0;
	if (n >= 0 && (size_t)n < s->cap - s->len) {
		s->len += (size_t)n;
	} else if (n >= 0 && str_room(s, (size_t)n)) {
		vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
		s->len += (size_t)n;
	}
	s->data[s->len] = '\0';
	va_end(again);
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(s, fmt, ap);
	va_end(ap);
}

void str_add_number(struct str *list, size_t *n, size_t most, int64_t number)
{
	if (*n < most) {
		str_addf(list, "%s%" PRId64, *n > 0 ? ", " : "", number);
	} else if (*n == most) {
		str_add(list, ", ...");
	}
	++*n;
}

int str_add_file(struct str *s, int fd, size_t max)
{
	const size_t before = s->len;
	char buf[16384];
	ssize_t n;
	int why;

	if (fd < 0) {
		return errno;
	}
	str_addmem(s, "", 0);	/* an empty file is a text too */
	do {
		n = read(fd, buf, sizeof(buf));
		why = n < 0 ? errno : 0;
		str_addmem(s, buf, n > 0 ? (size_t)n : 0);
	} while (why == EINTR || (n > 0 && s->len - before <= max));
	close(fd);
	return why ? why : n > 0 ? EFBIG : s->failed ? ENOMEM : 0;
}

const char *str_text(const struct str *s)
{
	return s->data ? s->data : "";
}

/** Bytes of the UTF-8 character at @text, its number in *@c; 0: it is none. */
static size_t utf8_char(const char *text, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char first = (unsigned char)*text;
	const size_t n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	*c = first;
	if (first < 0x80) {
		return 1;
	}
	if (first < 0xc0 || first > 0xf7) {
		return 0;
	}
	*c &= 0x7fU >> n;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80) {
			return 0;
		}
		*c = *c << 6 | ((unsigned char)text[i] & 0x3f);
	}
	return *c >= least[n] ? n : 0;
}

static bool is_harmful(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} spans[] = {
		{ .first = 0x00, .last = 0x1f },	/* C0 */
		{ .first = 0x7f, .last = 0x9f },	/* DEL, C1 */
		/* marks, line ends and overrides of the writing direction */
		{ .first = 0x061c, .last = 0x061c },
		{ .first = 0x200e, .last = 0x200f },
		{ .first = 0x2028, .last = 0x202e },
		{ .first = 0x2066, .last = 0x2069 },
		/* no characters, which XML refuses */
		{ .first = 0xd800, .last = 0xdfff },
		{ .first = 0xfffe, .last = 0xffff },
		{ .first = 0x110000, .last = UINT32_MAX },
	};
	bool harmful = false;

	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		harmful = harmful ||
			  (c >= spans[i].first && c <= spans[i].last);
	}
	return harmful;
}

/** Bytes at @text that may stay; 0: those of *@len may not. */
static size_t fit_len(const char *text, unsigned keep, size_t *len)
{
	const bool blank = *text == '\n' || *text == '\t';
	uint32_t c;

	if (keep & STR_COLORS && str_starts(text, "\033[")) {
		*len = 2 + strspn(text + 2, "0123456789;");
		if (text[*len] == 'm') {
			return ++*len;
		}
	}
	*len = utf8_char(text, &c);
	if (*len == 0) {
		*len = 1;
		return 0;
	}
	return !is_harmful(c) || (blank && keep & STR_LINES) ? *len : 0;
}

size_t str_harmless(char *text, unsigned keep)
{
	const char *from = text;
	char *to = text;

	while (*from) {
		size_t len, fit;

		if (*from >= ' ' && *from < 0x7f) {	/* nearly all */
			*to++ = *from++;
			continue;
		}
		fit = fit_len(from, keep, &len);
		if (fit == 0) {
			*to++ = '?';
		}
		memmove(to, from, fit);
		to += fit;
		from += len;
	}
	*to = '\0';
	return (size_t)(to - text);
}

size_t str_harmful(const char *text, uint32_t *c)
{
	const size_t n = utf8_char(text, c);

	return n > 0 && is_harmful(*c) ? n : 0;
}

void str_harmless_from(struct str *s, size_t from, unsigned keep)
{
	if (s->data) {
		s->len = from + str_harmless(s->data + from, keep);
	}
}

bool str_copy(char *buf, size_t size, const char *text)
{
	size_t len = 0;
	bool whole;

	while (len < size && text[len] >= ' ' && text[len] < 0x7f) {
		buf[len] = text[len];	/* mostly all of it */
		len++;
	}
	if (len < size && text[len] == '\0') {
		buf[len] = '\0';
		return true;
	}
	len += strlen(text + len);
	whole = len < size;
	if (size == 0) {
		return false;
	}
	if (!whole) {
		/* back from n to the start of the UTF-8 character that n
		 * would cut */
		size_t n = size - 1;

		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
			n--;
		}
		len = n;
	}
	memmove(buf, text, len);
	buf[len] = '\0';
	str_harmless(buf, 0);
	return whole;
}

bool str_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

/**
 * Levenshtein distance of @a and @b, neighbours swapped counting as one edit;
 * three rows of the usual table are enough for that.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][STR_MAX_WORD + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t n = strlen(b);

	for (size_t j = 0; j <= n; j++) {
		above[j] = j;
	}
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *spare = before;

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t change = a[i - 1] != b[j - 1];

			size_t least = above[j] < row[j - 1] ? above[j] :
							       row[j - 1];

			row[j] = above[j - 1] + change < least + 1 ?
					 above[j - 1] + change : least + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j]) {
				row[j] = before[j - 2] + 1;
			}
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[n];
}

bool str_names_meet(const char *a, const char *b)
{
	size_t n = strcspn(a, NAME_ENDS), m;

	for (; n > 0; a += n + (a[n] != '\0'), n = strcspn(a, NAME_ENDS)) {
		for (const char *at = b; *at; at += m + (at[m] != '\0')) {
			m = strcspn(at, NAME_ENDS);
			if (m == n && memcmp(a, at, n) == 0) {
				return true;
			}
		}
	}
	return false;
}

size_t str_find(const void *list, size_t n, size_t size, size_t at, bool chars,
		const char *word)
{
	size_t i = 0;

	for (; i < n; i++) {
		const char *member = (const char *)list + i * size + at;
		const char *text = chars ? member :
					   *(const char *const *)member;

		if (!text || strcmp(text, word) == 0) {
			break;
		}
	}
	return i;
}

int str_index(const char *const words[], const char *word)
{
	for (int i = 0; words[i]; i++) {
		if (words[i][0] == word[0] && strcmp(words[i], word) == 0) {
			return i;
		}
	}
	return -1;
}

const char *str_nearest(const char *word, const char *const words[])
{
	size_t best = SIZE_MAX;
	const char *nearest = NULL;
	size_t len = strlen(word);

	if (len > STR_MAX_WORD) {
		return NULL;
	}
	for (size_t i = 0; words[i]; i++) {
		size_t d;

		if (strlen(words[i]) > STR_MAX_WORD) {
			continue;
		}
		d = edit_distance(word, words[i]);
		if (d * 3 <= len && d < best) {
			best = d;
			nearest = words[i];
		}
	}
	return nearest;
}

/* Characters that a shell takes as they are. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_-+=:,./%@";

void str_plain_from(struct str *s, size_t from)
{
	for (size_t i = from; i < s->len; i++) {
		if (!strchr(plain, s->data[i]) ||
		    (i == from && strchr("-=", s->data[i]))) {
			s->data[i] = '_';
		}
	}
}

void str_add_quoted(struct str *out, const char *word)
{
	if (*word && word[strspn(word, plain)] == '\0') {
		str_add(out, word);
		return;
	}
	str_addch(out, '\'');
	for (; *word; word++) {
		if (*word == '\'') {
			str_add(out, "'\\''");
		} else {
			str_addch(out, *word);
		}
	}
	str_addch(out, '\'');
}

const char *str_quoted_dir(const char *dir, char *buf, size_t size)
{
	struct str word = STR_INIT;

	str_add_quoted(&word, dir);
	snprintf(buf, size, "%s", word.failed || word.len >= size ?
					  "DIR" : str_text(&word));
	str_release(&word);
	return buf;
}

int str_order(const void *a, const void *b)
{
	return strverscmp(a, b);
}

int str_order_text(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}
