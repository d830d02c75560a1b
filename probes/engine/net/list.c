/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/list.h"

#include <string.h>

#include "lib/base/hash.h"

/* ---- writing ------------------------------------------------------------ */

void list_release(struct list_out *l)
{
	str_release(&l->entries);
	l->n = 0;
}

bool list_takes(const struct list_out *l, enum message_type type)
{
	return l->n == 0 || (l->type == type && l->n < MESSAGE_LIST);
}

void list_add(struct list_out *l, enum message_type type, const void *bytes,
	      size_t n)
{
	l->type = type;
	l->n++;
	cbor_add_bytes(bytes, n, &l->entries);
}

void list_write(struct list_out *l, struct str *out)
{
	const struct message *m = &messages[l->type];

	cbor_add_map(2, out);
	cbor_add_text("t", 1, out);
	cbor_add_text(m->name, strlen(m->name), out);
	cbor_add_text(m->list, strlen(m->list), out);
	cbor_add_array(l->n, out);
	str_addmem(out, str_text(&l->entries), l->entries.len);
	out->failed = out->failed || l->entries.failed;
	str_reset(&l->entries);
	l->n = 0;
}

/* ---- reading ------------------------------------------------------------ */

static bool next_is(struct cbor_reader *r, const char *text)
{
	struct cbor_item item;

	return cbor_next(r, &item) && item.type == JSON_STRING &&
	       item.n == strlen(text) && memcmp(item.text, text, item.n) == 0;
}

static bool next_type(struct cbor_reader *r, enum message_type *type)
{
	struct cbor_item item;

	if (!cbor_next(r, &item) || item.type != JSON_STRING) {
		return false;
	}
	for (int i = 0; i < MESSAGE_TYPES; i++) {
		const char *name = messages[i].name;

		if (messages[i].list != NULL && strlen(name) == item.n &&
		    memcmp(name, item.text, item.n) == 0) {
			*type = (enum message_type)i;
			return true;
		}
	}
	return false;
}

/* @n entries and nothing behind them? */
static bool are_entries(struct cbor_reader r, size_t n)
{
	struct cbor_item item;

	while (n > 0 && cbor_next(&r, &item) && item.raw) {
		n--;
	}
	return n == 0 && r.left == 0;
}

bool list_open(struct list_in *l, const void *bytes, size_t n,
	       enum message_way way)
{
	struct cbor_item item;

	l->at = (struct cbor_reader){ .at = bytes, .left = n };
	if (!cbor_next(&l->at, &item) || item.type != JSON_OBJECT ||
	    item.n != 2 || !next_is(&l->at, "t") ||
	    !next_type(&l->at, &l->type) ||
	    (messages[l->type].ways & way) == 0 ||
	    !next_is(&l->at, messages[l->type].list) ||
	    !cbor_next(&l->at, &item) || item.type != JSON_ARRAY ||
	    item.n > MESSAGE_LIST) {
		return false;
	}
	l->n = item.n;
	return are_entries(l->at, l->n);
}

const void *list_next(struct list_in *l, size_t *n)
{
	struct cbor_item item;

	if (l->n == 0 || !cbor_next(&l->at, &item)) {
		return NULL;
	}
	l->n--;
	*n = item.n;
	return item.text;
}

const json_t *list_texts(const json_t *msg, enum message_type type)
{
	const json_t *list = type < MESSAGE_TYPES && messages[type].list ?
		json_object_get(msg, messages[type].list) : NULL;
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) {
		if (!json_is_string(v)) {
			return NULL;
		}
	}
	return json_array_size(list) > 0 ? list : NULL;
}

bool list_unhex(const char *text, size_t n, struct str *entry)
{
	char *bytes;

	str_reset(entry);
	bytes = str_more(entry, n / 2);
	return bytes != NULL && n > 0 && n % 2 == 0 &&
	       hash_unhex_part(text, bytes, n / 2) == 0;
}
