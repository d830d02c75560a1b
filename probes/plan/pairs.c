/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/strata.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"

/** How much of a wrong pair an error quotes. */
#define QUOTE_MAX 80

static const char *const kind_words[] = {
	[PAIRS_ALL] = "all",
	[PAIRS_INTER] = "inter",
	[PAIRS_INTRA] = "intra",
	[PAIRS_RAIL] = "rail",
	[PAIRS_NODES] = "nodes",
	[PAIRS_DEFAULT] = "default",
	[PAIRS_AUTO] = "auto",
	NULL
};

/** "9", "node:1" or "node:*", exactly @len bytes of @text. */
static bool parse_end(const char *text, size_t len, struct pair_end *end)
{
	const char *colon = memchr(text, ':', len);
	size_t name = colon ? (size_t)(colon - text) : 0;
	size_t skip = colon ? name + 1 : 0;
	char digits[16];
	bool all = colon && len - skip == 1 && text[skip] == '*';
	int64_t index = PAIR_ALL;

	if (len - skip >= sizeof(digits) || name >= sizeof(end->node) ||
	    (colon && name == 0)) {
		return false;
	}
	memcpy(digits, text + skip, len - skip);
	digits[len - skip] = '\0';
	if (!all && units_parse_int(digits, 0, INT32_MAX, &index, NULL) < 0) {
		return false;
	}
	memcpy(end->node, text, name);
	end->node[name] = '\0';
	end->index = (int)index;
	return true;
}

/**
 * "END-END".  Names of nodes have dashes too ("gpu-01:3-gpu-02:3"), but an
 * end closes with its number or *, so at most one dash has an end on both
 * sides.
 */
static bool parse_pair(const char *text, size_t len, struct pair_ends *pair)
{
	for (size_t i = 1; i + 1 < len; i++) {
		if (text[i] == '-' && parse_end(text, i, &pair->a) &&
		    parse_end(text + i + 1, len - i - 1, &pair->b)) {
			return true;
		}
	}
	return false;
}

static int bad_pair(struct err *e, const char *item, size_t len, int column)
{
	char raw[QUOTE_MAX], quote[QUOTE_MAX];
	const char *near;

	snprintf(raw, sizeof(raw), "%.*s", (int)len, item);
	STR_COPY(quote, raw);
	err_set(e, 0, "--pairs, column %d: '%s' is not a pair", column,
		quote);
	near = str_nearest(raw, kind_words);
	if (near) {
		return err_hint(e, "did you mean '%s'?", near);
	}
	return err_hint(e, "write all, nodes, inter, intra, rail, or ranks "
			"such as 0-9,n0:1-n1:1,n0:*-n1:*");
}

static size_t count_items(const char *text)
{
	size_t n = 1;

	for (; *text; text++) {
		n += *text == ',';
	}
	return n;
}

int pairs_parse(const char *text, struct pairs *p, struct err *e)
{
	const char *item = text;
	int kind = str_index(kind_words, text);

	*p = (struct pairs){ .kind = PAIRS_LIST };
	if (kind >= 0) {
		p->kind = (enum pairs_kind)kind;
		return 0;
	}
	p->list = calloc(count_items(text), sizeof(*p->list));
	if (!p->list) {
		return err_set(e, ENOMEM, "no memory for the list of pairs");
	}
	for (;;) {
		size_t len = strcspn(item, ",");
		struct pair_ends *pair = &p->list[p->n++];

		pair->column = (int)(item - text) + 1;
		if (!parse_pair(item, len, pair)) {
			bad_pair(e, item, len, pair->column);
			pairs_release(p);
			return -1;
		}
		if (!item[len]) {
			return 0;
		}
		item += len + 1;
	}
}

void pairs_settle(struct pairs *p, const struct spec *s,
		  const struct layout *l)
{
	bool open = p->kind == PAIRS_DEFAULT || p->kind == PAIRS_AUTO;
	bool many = l->n_ranks > PAIRS_ALL_USUAL;

	if (p->kind == PAIRS_DEFAULT) {
		p->kind = PAIRS_ALL;
	} else if (p->kind == PAIRS_AUTO) {
		p->kind = l->n_nodes > 1 ? PAIRS_RAIL : PAIRS_INTRA;
	}
	p->seed = (uint64_t)s->seed;
	p->rounds = s->sample > 0		? (int)s->sample
		    : s->quick			? STRATA_QUICK
		    : p->kind == PAIRS_INTRA	? 0
		    : p->kind == PAIRS_NODES	? STRATA_DEFAULT
		    : open && many		? STRATA_DEFAULT : 0;
	if (p->rounds >= l->n_ranks - 1 && p->kind != PAIRS_NODES &&
	    p->kind != PAIRS_LIST) {
		p->rounds = 0;
	}
}

int pairs_keep_inside(struct pairs *p, const char *transport, struct err *e)
{
	p->inside = true;
	if (p->kind == PAIRS_ALL || p->kind == PAIRS_DEFAULT ||
	    p->kind == PAIRS_AUTO) {
		p->kind = PAIRS_INTRA;
	}
	if (p->kind == PAIRS_INTRA || p->kind == PAIRS_LIST) {
		return 0;
	}
	err_set(e, 0, "--pairs=%s: --transport=%s stays inside a node",
		kind_words[p->kind], transport);
	return err_hint(e, "between nodes: --transport=nccl or tcp");
}

void pairs_release(struct pairs *p)
{
	if (p) {
		free(p->list);
		*p = (struct pairs){ 0 };
	}
}
