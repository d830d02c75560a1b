/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/allocation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/data/hostlist.h"

/** May @nodes be a host list?  Whether it is, its reader says. */
static bool is_list(const char *nodes)
{
	const size_t len = strlen(nodes);

	return len > 0 && *nodes != '-' &&
	       strspn(nodes, HOSTLIST_NAME_CHARS "[],") == len;
}

int allocation_add(struct allocation *a, const char *nodes, size_t len,
		   int gpus, int group)
{
	struct allocation_part p = { .gpus = gpus, .group = group };
	struct allocation_part *grown;

	if (a->n == ALLOCATION_MAX || gpus < 0 || gpus > ALLOCATION_MAX_GPUS ||
	    group < 0) {
		return -1;
	}
	p.nodes = strndup(nodes, len);
	grown = p.nodes && is_list(p.nodes) ?
			realloc(a->parts, (a->n + 1) * sizeof(p)) : NULL;
	if (!grown) {
		free(p.nodes);
		return -1;
	}
	a->parts = grown;
	a->parts[a->n++] = p;
	return 0;
}

/** Has a part in front of number @i as many GPUs? */
static bool is_said(const struct allocation *a, size_t i)
{
	size_t k = 0;

	while (k < i && a->parts[k].gpus != a->parts[i].gpus) {
		k++;
	}
	return k < i;
}

void allocation_text(const struct allocation *a, struct str *out)
{
	struct str list = STR_INIT;

	for (size_t i = 0; i < a->n; i++) {
		if (is_said(a, i)) {
			continue;
		}
		str_reset(&list);
		for (size_t k = i; k < a->n; k++) {
			if (a->parts[k].gpus == a->parts[i].gpus) {
				str_addf(&list, "%s%s", list.len ? "," : "",
					 a->parts[k].nodes);
			}
		}
		str_add(out, i ? " " : "");
		hostlist_shorten(out, str_text(&list));
		str_addf(out, "=%d", a->parts[i].gpus);
	}
	out->failed |= list.failed;
	str_release(&list);
}

/** "gpu[1-2]=8", @len bytes. */
static int parse_part(const char *text, size_t len, struct allocation *a)
{
	const char *equals = memchr(text, '=', len);
	char count[8] = "";
	int64_t gpus;

	if (!equals || len - (size_t)(equals + 1 - text) >= sizeof(count)) {
		return -1;
	}
	memcpy(count, equals + 1, len - (size_t)(equals + 1 - text));
	return units_parse_int(count, 0, ALLOCATION_MAX_GPUS, &gpus, NULL) < 0 ?
		       -1 : allocation_add(a, text, (size_t)(equals - text),
					   (int)gpus, 0);
}

int allocation_parse(const char *text, struct allocation *a, struct err *e)
{
	for (size_t n; *text; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		if (parse_part(text, n, a) < 0) {
			allocation_release(a);
			return err_set(e, EINVAL, "'%.80s' is not NODES=GPUS",
				       text);
		}
	}
	return 0;
}

int allocation_gpus(const struct allocation *a, const char *node)
{
	for (size_t i = 0; i < a->n; i++) {
		if (hostlist_has(a->parts[i].nodes, node)) {
			return a->parts[i].gpus;
		}
	}
	return -1;
}

void allocation_release(struct allocation *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->parts[i].nodes);
	}
	free(a->parts);
	*a = (struct allocation){ 0 };
}
