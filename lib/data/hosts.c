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

static int expand_rest(struct expansion *x, size_t len, const char *at,
		       const char *end, int brackets);

/** Every number of the brackets that open at @at, such as [07,09-12], with what
 *  follows them. */
static int expand_brackets(struct expansion *x, size_t len, const char *at,
			   const char *end, int brackets)
{
	const char *close = memchr(at, ']', (size_t)(end - at));

	if (!close) {
		return fail_at(x, at, "'[' not closed");
	}
	if (brackets == NAME_BRACKETS) {
		return fail_at(x, at, "too many brackets");
	}
	do {
		const char *first = at + 1;
		const size_t digits = strspn(first, "0123456789");
		const char *second = first + digits + 1;
		size_t more = 0;
		long number, last;

		if (first[digits] == '-') {
			more = strspn(second, "0123456789");
			if (!more) {
				return fail_at(x, second,
					       "end of range missing");
			}
		}
		if (!digits) {
			return fail_at(x, first, "number missing");
		}
		if (digits > RANGE_DIGITS || more > RANGE_DIGITS) {
			return fail_at(x, first, "number too long");
		}
		number = strtol(first, NULL, 10);
		last = more ? strtol(second, NULL, 10) : number;
		if (last < number) {
			return fail_at(x, first, "range ends before it begins");
		}
		for (; number <= last; number++) {
			int n = snprintf(x->name + len, sizeof(x->name) - len,
					 "%0*ld", (int)digits, number);

			if (expand_rest(x, len + (size_t)n, close + 1, end,
					brackets + 1) < 0) {
				return -1;
			}
		}
		at = more ? second + more : first + digits;
	} while (*at == ',');
	return at == close ? 0 : fail_at(x, at, "',', '-' or ']' missing");
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
	len += plain;
	if (at != end) {
		return *at == '[' ? expand_brackets(x, len, at, end, brackets) :
				    fail_at(x, at, "']' without '['");
	}
	/* the name is whole: add it */
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

char **hostlist_expand(const char *text, size_t *n, struct err *e)
{
	struct expansion x = { .text = text, .e = e };
	const char *at = text;

	for (;;) {
		const char *end = at;
		bool inside = false;

		/* a name ends at a comma outside brackets */
		for (; *end && (inside || *end != ','); end++) {
			inside = *end == '[' || (inside && *end != ']');
		}
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

/** Returns true if @number has a leading zero. */
static bool is_padded(const char *number)
{
	return number[0] == '0' && number[1] != '\0';
}

/** "3-5,9" for @n names of one family. */
static void add_numbers(struct str *out, const char *names, size_t size,
			size_t n)
{
	names += number_at(names);
	for (size_t i = 0; i < n;) {
		const long first = strtol(names + i * size, NULL, 10);
		size_t k = i + 1;

		while (k < n && strtol(names + k * size, NULL, 10) ==
					first + (long)(k - i)) {
			k++;
		}
		str_addf(out, "%s%s", i ? "," : "", names + i * size);
		if (k - i > 1) {
			str_addf(out, "%c%s", k - i > 2 ? '-' : ',',
				 names + (k - 1) * size);
		}
		i = k;
	}
}

/** Append the @n @names of @size bytes, in this order. */
static void add_families(struct str *out, const char *names, size_t size,
			 size_t n)
{
	for (size_t i = 0, k; i < n; i = k) {
		const char *first = names + i * size;
		const size_t at = number_at(first), len = strlen(first);

		/* up to k: the same prefix, and as many digits or none that
		 * are padded */
		for (k = i + 1; k < n && first[at]; k++) {
			const char *name = names + k * size;

			if (number_at(name) != at ||
			    memcmp(name, first, at) != 0 ||
			    name[at] == '\0' ||
			    (strlen(name) != len &&
			     (is_padded(first + at) || is_padded(name + at)))) {
				break;
			}
		}
		str_add(out, i ? "," : "");
		if (k - i == 1) {
			str_add(out, first);
			continue;
		}
		str_addmem(out, first, at);
		str_addch(out, '[');
		add_numbers(out, first, size, k - i);
		str_addch(out, ']');
	}
}

void hostlist_add(struct str *out, const char *unsorted, size_t size, size_t n)
{
	char *names = malloc(n * size + 1);

	out->failed = out->failed || !names;
	if (names) {
		memcpy(names, unsorted, n * size);
		qsort(names, n, size, str_order);
		add_families(out, names, size, n);
		free(names);
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
		add_families(out, all, size, n);
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

/** Add the names of @list; -1 with @e. */
static int add_list(struct hosts *h, const char *list, struct err *e)
{
	size_t n = 0;
	char **names = hostlist_expand(list, &n, e), **all;

	if (!names) {
		return -1;
	}
	all = realloc(h->names, (h->n + n + 1) * sizeof(*all));
	h->names = all ? all : h->names;
	for (size_t i = 0; all && i < n; i++) {
		if (!is_name(names[i]) || h->n + n > HOSTS_MAX) {
			err_set(e, 0, h->n + n > HOSTS_MAX ?
						   "too many hosts, at "
						   "'%.60s'" :
						   "'%.60s' is not a host name",
				names[i]);
			hostlist_free(names, n);
			return -1;
		}
	}
	if (!all) {
		hostlist_free(names, n);
		return err_set(e, ENOMEM, "no memory for the list of hosts");
	}
	memcpy(all + h->n, names, n * sizeof(*all));
	h->n += n;
	free(names);
	return 0;
}

int hosts_parse(const char *text, size_t len, struct hosts *h, struct err *e)
{
	const char *end = text + len;
	struct err why = { 0 };
	char line[LINE_SIZE], *at, *last;

	*h = (struct hosts){ 0 };
	for (int number = 1; text < end; number++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((eol ? eol : end) - text);
		int rc = 0;

		if (n >= sizeof(line) || memchr(text, '\0', n)) {
			rc = err_set(&why, 0, "not a line of host names");
		} else {
			/* a list, with blanks and a comment around it */
			memcpy(line, text, n);
			line[n] = '\0';
			line[strcspn(line, "#")] = '\0';
			at = line + strspn(line, BLANKS);
			last = at + strcspn(at, BLANKS);
			if (!last[strspn(last, BLANKS)]) {
				*last = '\0';
			}
			rc = *at ? add_list(h, at, &why) : 0;
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
		return err_set(e, 0, "the list names no host");
	}
	return 0;
}

int hosts_read(const char *what, struct hosts *h, struct err *e)
{
	struct str text = STR_INIT;
	struct err why = { 0 };
	struct stat st;
	int rc;

	*h = (struct hosts){ 0 };
	if (access(what, F_OK) < 0) {
		if (add_list(h, what, e) == 0) {
			return 0;
		}
		hosts_release(h);
		return err_hint(e, "there is no file of that name either");
	}
	if (stat(what, &st) == 0 && !S_ISREG(st.st_mode)) {
		/* it is read once to check it, and again to use it */
		err_set(e, 0, "the list of hosts '%s' is not a file", what);
		return err_hint(e, "save it as a file, or write the list itself: "
				"--ssh='gpu[01-04]'");
	}
	rc = input_read("list of hosts", what, HOSTS_FILE_MAX, &text, e);
	if (rc == 0 && hosts_parse(text.data, text.len, h, &why) < 0) {
		rc = err_set(e, why.code, "%.160s: %.150s", what, why.text);
		err_hint(e, "%s", why.hint);
	}
	str_release(&text);
	return rc;
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
			rc = err_hint(e, "this run has %zu hosts; the first is "
				      "'%.60s'", h->n,
				      hosts_name(h->names[0]));
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

/* ---- pinglist ------------------------------------------------------------ */

struct pinglist pinglist_make(int nodes, bool all, int64_t seed)
{
	return (struct pinglist){
		.nodes = nodes, .seed = seed,
		.groups = all ? 1 : (nodes + PINGLIST_GROUP - 1) /
					    PINGLIST_GROUP,
	};
}

/* Groups as equal as they can be: the first node of @group. */
static int64_t first_of(const struct pinglist *l, int64_t group)
{
	return (group * l->nodes + l->groups - 1) / l->groups;
}

/* Return true if @node of group @own is representative @k towards group
 * @other. */
static bool stands(const struct pinglist *l, int node, int64_t own,
		   int64_t other, int k)
{
	int64_t first = first_of(l, own);
	int64_t size = first_of(l, own + 1) - first;

	return node - first == (l->seed % size + other * PINGLIST_PAIRS + k) %
				       size;
}

bool pinglist_has(const struct pinglist *l, int a, int b)
{
	int64_t of_a, of_b;

	if (l->groups < 2) {
		return true;
	}
	of_a = (int64_t)a * l->groups / l->nodes;
	of_b = (int64_t)b * l->groups / l->nodes;
	if (of_a == of_b) {
		return true;
	}
	for (int k = 0; k < PINGLIST_PAIRS; k++) {
		if (stands(l, a, of_a, of_b, k) &&
		    stands(l, b, of_b, of_a, k)) {
			return true;
		}
	}
	return false;
}

int pinglist_most(const struct pinglist *l)
{
	int most = 0;

	if (l->groups < 2) {
		return l->nodes > 0 ? l->nodes - 1 : 0;
	}
	for (int i = 0; i < l->nodes; i++) {
		const int64_t own = (int64_t)i * l->groups / l->nodes;
		int n = (int)(first_of(l, own + 1) - first_of(l, own)) - 1;

		/* and one for each time that it stands for its group */
		for (int64_t other = 0; other < l->groups; other++) {
			for (int k = 0; k < PINGLIST_PAIRS; k++) {
				n += other != own &&
				     stands(l, i, own, other, k);
			}
		}
		most = n > most ? n : most;
	}
	return most;
}

/* ---- port filter --------------------------------------------------------- */

bool port_matches(const char *filter, const char *name)
{
	const size_t hca = strcspn(name, ":");
	const long port = name[hca] == ':' ? strtol(name + hca + 1, NULL, 10) :
					     1;
	bool except = *filter == '^', exact, found = false;
	const char *at = filter + except;

	if (*filter == '\0') {
		return true;
	}
	exact = *at == '=';
	at += exact;
	while (*at != '\0' && !found) {
		/* "mlx5" or "mlx5_0:2" */
		const size_t n = strcspn(at, ",");
		const char *colon = memchr(at, ':', n);
		const size_t len = colon != NULL ? (size_t)(colon - at) : n;

		found = len > 0 && len <= hca && memcmp(at, name, len) == 0 &&
			(!exact || len == hca) &&
			(colon == NULL || strtol(colon + 1, NULL, 10) == port);
		at += n;
		at += *at == ',';
	}
	return found != except;
}
