/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/input.h"
#include "lib/base/str.h"

/* ---- hostlist ------------------------------------------------------------ */

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
struct hosts_range {
	long first, last;
	int width;		/* zero padding of both */
	const char *end;	/* behind it */
};

static int parse_range(const struct expansion *x, const char *at,
		       struct hosts_range *r)
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
	struct hosts_range r = { 0 };
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

/** Returns true if both names can be in one bracket: they have the same prefix
 *  and the same number of digits. */
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

/* ---- hosts --------------------------------------------------------------- */

#define LINE_SIZE 4096
#define BLANKS	  " \t\r"

void hosts_release(struct hosts *h)
{
	hostlist_free(h->names, h->n);
	*h = (struct hosts){ 0 };
}

const char *hosts_name(const char *host)
{
	const char *at = strrchr(host, '@');

	return at ? at + 1 : host;
}

static bool is_name(const char *name)
{
	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) &&
		    (c == name || !strchr("._-@:%", *c))) {
			return false;
		}
	}
	return name[0] != '\0' && hosts_name(name)[0] != '\0' &&
	       hosts_name(name)[0] != '-';
}

/** Take over @names; -1 with @e, and then they are freed. */
static int add_names(struct hosts *h, char **names, size_t n, struct err *e)
{
	char **all = realloc(h->names, (h->n + n + 1) * sizeof(*all));

	for (size_t i = 0; all && i < n; i++) {
		if (!is_name(names[i]) || h->n + n > HOSTS_MAX) {
			err_set(e, 0, h->n + n > HOSTS_MAX ?
						   "too many hosts, at "
						   "'%.60s'" :
						   "'%.60s' is not a host name",
				names[i]);
			h->names = all;
			hostlist_free(names, n);
			return -1;
		}
	}
	if (!all) {
		hostlist_free(names, n);
		return err_set(e, ENOMEM, "no memory for the list of hosts");
	}
	memcpy(all + h->n, names, n * sizeof(*all));
	h->names = all;
	h->n += n;
	free(names);
	return 0;
}

static int add_list(struct hosts *h, const char *list, struct err *e)
{
	size_t n = 0;
	char **names = hostlist_expand(list, &n, e);

	return names ? add_names(h, names, n, e) : -1;
}

/** One line without its end: a list, with blanks and a comment around it. */
static int add_line(struct hosts *h, char *line, struct err *e)
{
	size_t end;

	line[strcspn(line, "#")] = '\0';
	line += strspn(line, BLANKS);
	end = strcspn(line, BLANKS);
	if (line[end + strspn(line + end, BLANKS)] == '\0') {
		line[end] = '\0';
	}
	return *line ? add_list(h, line, e) : 0;
}

int hosts_parse(const char *text, size_t len, struct hosts *h, struct err *e)
{
	const char *end = text + len;
	struct err why = { 0 };
	char line[LINE_SIZE];

	*h = (struct hosts){ 0 };
	for (int number = 1; text < end; number++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);
		int rc;

		if (n >= sizeof(line) || memchr(text, '\0', n)) {
			rc = err_set(&why, 0, "not a line of host names");
		} else {
			memcpy(line, text, n);
			line[n] = '\0';
			rc = add_line(h, line, &why);
		}
		if (rc < 0) {
			hosts_release(h);
			err_set(e, 0, "line %d: %s", number, why.text);
			return err_hint(e, "write one host name or one list "
					   "such as gpu[01-16] per line, "
					   "without slots=");
		}
		text += n + (eol ? 1 : 0);
	}
	if (h->n == 0) {
		hosts_release(h);
		return err_set(e, 0, "no host is named");
	}
	return 0;
}

static int read_file(const char *path, struct hosts *h, struct err *e)
{
	struct str text = STR_INIT;
	struct err why = { 0 };
	struct stat st;
	int rc;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		/* it is read once to check it, and again to use it */
		err_set(e, 0, "the list of hosts '%s' is not a file", path);
		return err_hint(e, "save it as a file, or write the list itself: "
				"--ssh='gpu[01-04]'");
	}
	rc = input_read("list of hosts", path, HOSTS_FILE_MAX, &text, e);
	if (rc == 0 && hosts_parse(text.data, text.len, h, &why) < 0) {
		rc = err_set(e, why.code, "%.160s: %.150s", path, why.text);
		err_hint(e, "%s", why.hint);
	}
	str_release(&text);
	return rc;
}

int hosts_read(const char *what, struct hosts *h, struct err *e)
{
	*h = (struct hosts){ 0 };
	if (access(what, F_OK) == 0) {
		return read_file(what, h, e);
	}
	if (add_list(h, what, e) < 0) {
		hosts_release(h);
		return err_hint(e, "there is no file of that name either");
	}
	return 0;
}

/** Mark the machines of @h that @list names. */
static int mark(const struct hosts *h, const char *list, const char *option,
		bool *marks, struct err *e)
{
	size_t n = 0, k;
	char **names = list[0] ? hostlist_expand(list, &n, e) : NULL;
	int rc = list[0] && !names ? -1 : 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		bool known = false;

		for (k = 0; k < h->n; k++) {
			if (strcmp(hosts_name(h->names[k]), names[i]) == 0) {
				marks[k] = known = true;
			}
		}
		if (!known) {
			/* a slip of the pen would be measured, or not */
			err_set(e, 0, "--%s: no node of this run is called "
				"'%.60s'", option, names[i]);
			rc = err_hint(e, "the first of %zu hosts is '%.60s'",
				      h->n, hosts_name(h->names[0]));
		}
	}
	hostlist_free(names, n);
	return rc;
}

int hosts_choose(struct hosts *h, const char *only, const char *without,
		 struct err *e)
{
	bool *in = calloc(2 * h->n + 1, sizeof(*in));
	bool *out = in ? in + h->n : NULL;
	size_t left = 0;
	int rc;

	rc = !in ? err_set(e, ENOMEM, "no memory for the list of hosts") :
		   mark(h, only, "nodelist", in, e) < 0 ||
				   mark(h, without, "exclude", out, e) < 0 ?
		   -1 : 0;
	for (size_t i = 0; rc == 0 && i < h->n; i++) {
		if ((only[0] && !in[i]) || out[i]) {
			free(h->names[i]);
		} else {
			h->names[left++] = h->names[i];
		}
	}
	if (rc == 0) {
		h->n = left;
		rc = left ? 0 : err_set(e, 0, "--exclude leaves no node");
	}
	free(in);
	return rc;
}
