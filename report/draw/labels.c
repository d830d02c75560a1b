/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/draw/labels.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

static const char mark[] = "..";

size_t labels_longest(char (*names)[LABEL_SIZE], size_t n)
{
	size_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]);

		longest = len > longest ? len : longest;
	}
	return longest;
}

/** Of the domain that all have in common, with its dot. */
static void strip_domain(char (*names)[LABEL_SIZE], size_t n)
{
	const char *domain = strchr(names[0], '.');
	size_t len = domain ? strlen(domain) : 0;

	for (size_t i = 0; i < n && len > 0; i++) {
		const char *other = strchr(names[i], '.');

		if (!other || other == names[i] || strcmp(other, domain) != 0) {
			return;
		}
	}
	for (size_t i = 0; i < n; i++) {
		names[i][strlen(names[i]) - len] = '\0';
	}
}

/** Letters that all begin with, or with @tail, that all end with behind the
 *  @head of each; one of each is left. */
static size_t shared(char (*names)[LABEL_SIZE], size_t n, size_t head,
		     bool tail)
{
	size_t first = strlen(names[0]), most = first - head;

	for (size_t i = 0; i < n; i++) {
		size_t same = 0, len = strlen(names[i]);

		while (same < most && same + head + 1 < len &&
		       names[i][tail ? len - same - 1 : same] ==
			       names[0][tail ? first - same - 1 : same]) {
			same++;
		}
		most = same;
	}
	return most;
}

/** Without @head letters in front and @tail at the end, and @max at most. */
static void cut(char name[LABEL_SIZE], size_t head, size_t tail, size_t max)
{
	const char *m = max >= LABEL_MARK_MIN ? mark : "";
	char label[2 * LABEL_SIZE];
	size_t len, left, right;

	name[strlen(name) - tail] = '\0';
	snprintf(label, sizeof(label), "%s%s%s", head > 0 ? m : "",
		 name + head, tail > 0 ? m : "");
	len = strlen(label);
	if (len <= max) {
		str_copy(name, LABEL_SIZE, label);
		return;
	}
	/* what differs is more often at the end */
	left = m[0] ? (max - strlen(m)) / 2 : 0;
	right = max - strlen(m) - left;
	snprintf(name, LABEL_SIZE, "%.*s%s%s", (int)left, label, m,
		 label + len - right);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool differ(char (*names)[LABEL_SIZE], size_t n)
{
	char (*sorted)[LABEL_SIZE] = calloc(n, sizeof(*sorted));
	bool same = false;

	if (!sorted) {
		return true;	/* labels are no reason to give up */
	}
	memcpy(sorted, names, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 1; i < n; i++) {
		same |= strcmp(sorted[i - 1], sorted[i]) == 0;
	}
	free(sorted);
	return !same;
}

static void number(char (*names)[LABEL_SIZE], size_t n, size_t max)
{
	for (size_t i = 0; i < n; i++) {
		char end[24];
		size_t room = max - (size_t)snprintf(end, sizeof(end), "#%zu",
						     i);
		size_t len = strlen(names[i]);

		str_copy(names[i] + (len > room ? room : len), sizeof(end),
			 end);
	}
}

bool labels_cut(char (*names)[LABEL_SIZE], size_t n, size_t max)
{
	size_t marks = max >= LABEL_MARK_MIN ? strlen(mark) : 0;
	size_t longest, head, tail;

	if (n == 0) {
		return true;
	}
	strip_domain(names, n);
	longest = labels_longest(names, n);
	if (longest <= max) {
		return true;
	}
	head = shared(names, n, 0, false);
	tail = shared(names, n, head, true);
	if (longest + marks <= max + head) {
		head = longest + marks - max;
		tail = 0;
	} else if (longest + 2 * marks <= max + head + tail) {
		tail = longest + 2 * marks - max - head;
	}
	for (size_t i = 0; i < n; i++) {
		cut(names[i], head, tail, max);
	}
	if (differ(names, n)) {
		return true;
	}
	if (max >= LABEL_MARK_MIN) {
		number(names, n, max);
	}
	return max >= LABEL_MARK_MIN;
}

char (*labels_make(const struct run *run, size_t max))[LABEL_SIZE]
{
	size_t n = (size_t)run->n_nodes;
	char (*labels)[LABEL_SIZE] = calloc(n + 1, sizeof(*labels));

	for (size_t i = 0; labels && i < n; i++) {
		STR_COPY(labels[i], run->nodes[i].name);
	}
	if (labels) {
		labels_cut(labels, n, max);
	}
	return labels;
}

const char *labels_row(const struct view *v, char (*labels)[LABEL_SIZE],
		       int row, char *buf, size_t size)
{
	int first = view_row_node(v, row), last = view_row_last_node(v, row);

	snprintf(buf, size, "%s%s%s", labels[first], first == last ? "" : "-",
		 first == last ? "" : labels[last]);
	return buf;
}

size_t labels_room(const struct view *v, size_t max)
{
	return v->nodes_per > 1 ? (max - 1) / 2 : max;
}
