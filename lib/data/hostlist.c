/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/hostlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MAX       HOSTLIST_NAME_MAX
#define RANGE_DIGITS   9
#define NAME_BRACKETS  8	/* in one name, which bounds the recursion */

bool hostlist_is_name(const char *name)
{
	size_t len = strspn(name, HOSTLIST_NAME_CHARS ":%");

	return len > 0 && len <= HOSTLIST_NAME_MAX && name[len] == '\0' &&
	       !strchr(".-_%", name[0]);
}

/** The list being expanded. */
struct expansion {
	const char *text;	/* all of it, for columns in messages */
	char name[HOST_MAX + 1];	/* the one being put together */
	char **names;
	size_t n, cap;
	struct err *e;
};

static int fail_at(const struct expansion *x, const char *at, const char *what)
{
	return err_set(x->e, 0, "%s at column %zu of host list '%s'", what,
		       (size_t)(at - x->text) + 1, x->text);
}

static int add_name(struct expansion *x, size_t len, const char *at)
{
	if (!len) {
		return fail_at(x, at, "host name missing");
	}
	if (x->n == HOSTLIST_MAX) {
		return fail_at(x, at, "too many hosts");
	}
	if (x->n == x->cap) {
		size_t cap = x->cap ? 2 * x->cap : 16;
		char **names = realloc(x->names, cap * sizeof(*names));

		if (!names) {
			return fail_at(x, at, "out of memory");
		}
		x->names = names;
		x->cap = cap;
	}
	x->names[x->n] = strndup(x->name, len);
	if (!x->names[x->n]) {
		return fail_at(x, at, "out of memory");
	}
	x->n++;
	return 0;
}

/** "07" or "07-12" inside brackets. */
struct range {
	long first, last;
	int width;		/* zero padding of both */
	const char *end;	/* behind it */
};

static int parse_range(const struct expansion *x, const char *at,
		       struct range *r)
{
	size_t digits = strspn(at, "0123456789");
	const char *second = at + digits + 1;
	size_t more = 0;

	if (at[digits] == '-') {
		more = strspn(second, "0123456789");
		if (!more) {
			return fail_at(x, second, "end of range missing");
		}
	}
	if (!digits) {
		return fail_at(x, at, "number missing");
	}
	if (digits > RANGE_DIGITS || more > RANGE_DIGITS) {
		return fail_at(x, at, "number too long");
	}
	r->first = strtol(at, NULL, 10);
	r->last = more ? strtol(second, NULL, 10) : r->first;
	r->width = (int)digits;
	r->end = more ? second + more : at + digits;
	if (r->last < r->first) {
		return fail_at(x, at, "range ends before it begins");
	}
	return 0;
}

static int expand_rest(struct expansion *x, size_t len, const char *at,
		       const char *end, int brackets);

/** Every number of the brackets that open at @at, with what follows them. */
static int expand_brackets(struct expansion *x, size_t len, const char *at,
			   const char *end, int brackets)
{
	const char *close = memchr(at, ']', (size_t)(end - at));
	struct range r = { 0 };
	int rc;

	if (!close) {
		return fail_at(x, at, "'[' not closed");
	}
	if (brackets == NAME_BRACKETS) {
		return fail_at(x, at, "too many brackets");
	}
	do {
		rc = parse_range(x, at + 1, &r);
		for (long i = r.first; rc == 0 && i <= r.last; i++) {
			int n = snprintf(x->name + len, sizeof(x->name) - len,
					 "%0*ld", r.width, i);

			rc = expand_rest(x, len + (size_t)n, close + 1, end,
					 brackets + 1);
		}
		at = rc == 0 ? r.end : close;
	} while (*at == ',');
	if (rc == 0 && at != close) {
		rc = fail_at(x, at, "',', '-' or ']' missing");
	}
	return rc;
}

/** All names that begin with the first @len bytes of x->name and go on as @at
 *  to @end says. */
static int expand_rest(struct expansion *x, size_t len, const char *at,
		       const char *end, int brackets)
{
	const size_t plain = strcspn(at, "[],");

	if (len + plain > HOST_MAX) {
		return fail_at(x, at + plain, "host name too long");
	}
	memcpy(x->name + len, at, plain);
	at += plain;
	return at == end  ? add_name(x, len + plain, at) :
	       *at == '[' ? expand_brackets(x, len + plain, at, end, brackets) :
			    fail_at(x, at, "']' without '['");
}

/** Where the name at @at ends: at a comma outside brackets, or the end. */
static const char *name_end(const char *at)
{
	bool inside = false;

	for (; *at && (inside || *at != ','); at++) {
		inside = *at == '[' || (inside && *at != ']');
	}
	return at;
}

char **hostlist_expand(const char *text, size_t *n, struct err *e)
{
	struct expansion x = { .text = text, .e = e };
	const char *at = text;

	for (;;) {
		const char *end = name_end(at);

		if (expand_rest(&x, 0, at, end, 0) < 0) {
			hostlist_free(x.names, x.n);
			return NULL;
		}
		if (!*end) {
			*n = x.n;
			return x.names;
		}
		at = end + 1;
	}
}

void hostlist_free(char **names, size_t n)
{
	for (size_t i = 0; names && i < n; i++) {
		free(names[i]);
	}
	free(names);
}

bool hostlist_has(const char *list, const char *name)
{
	size_t n = 0;
	char **names = list[0] ? hostlist_expand(list, &n, NULL) : NULL;
	bool found = false;

	for (size_t i = 0; i < n && !found; i++) {
		found = strcmp(names[i], name) == 0;
	}
	hostlist_free(names, n);
	return found;
}

/** Where the number at the end of @name begins; at its end when there is none
 *  that can be counted with. */
static size_t number_at(const char *name)
{
	size_t end = strlen(name), at = end;

	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' &&
	       end - at < 9) {
		at--;
	}
	return at;
}

/** Same prefix and as many digits: can both be in one bracket? */
static bool same_family(const char *a, const char *b)
{
	size_t at = number_at(a);

	return a[at] && number_at(b) == at && strlen(a) == strlen(b) &&
	       memcmp(a, b, at) == 0;
}

static long number_of(const char *name)
{
	return strtol(name + number_at(name), NULL, 10);
}

/** "3-5,9" for @n names of one family. */
static void add_numbers(struct str *out, const char *names, size_t size,
			size_t n)
{
	for (size_t i = 0; i < n;) {
		const char *first = names + i * size;
		size_t k = i + 1;

		while (k < n && number_of(names + k * size) ==
					number_of(first) + (long)(k - i)) {
			k++;
		}
		str_addf(out, "%s%s", i ? "," : "", first + number_at(first));
		if (k - i > 1) {
			const char *last = names + (k - 1) * size;

			str_addf(out, "%c%s", k - i > 2 ? '-' : ',',
				 last + number_at(last));
		}
		i = k;
	}
}

void hostlist_add(struct str *out, const char *names, size_t size, size_t n)
{
	for (size_t i = 0; i < n;) {
		const char *first = names + i * size;
		size_t k = i + 1;

		while (k < n && same_family(first, names + k * size)) {
			k++;
		}
		str_add(out, i ? "," : "");
		if (k - i == 1) {
			str_add(out, first);
		} else {
			str_addmem(out, first, number_at(first));
			str_addch(out, '[');
			add_numbers(out, first, size, k - i);
			str_addch(out, ']');
		}
		i = k;
	}
}

void hostlist_shorten(struct str *out, const char *list)
{
	size_t n = 0, size = 1;
	char **names = hostlist_expand(list, &n, NULL), *all;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]) + 1;

		size = len > size ? len : size;
	}
	all = names ? calloc(n, size) : NULL;
	for (size_t i = 0; all && i < n; i++) {
		snprintf(all + i * size, size, "%s", names[i]);
	}
	if (all) {
		hostlist_add(out, all, size, n);
	} else {
		str_add(out, list);
	}
	free(all);
	if (names) {
		hostlist_free(names, n);
	}
}
