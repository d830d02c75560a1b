/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/cbor.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

/** The first three bits of a value. */
enum major {
	MAJOR_UINT = 0, MAJOR_NEGATIVE = 1, MAJOR_BYTES = 2, MAJOR_TEXT = 3,
	MAJOR_ARRAY = 4, MAJOR_MAP = 5, MAJOR_SIMPLE = 7,
};

/** The other five: a number, or how many bytes it has behind them. */
enum { MORE_1 = 24, MORE_8 = 27 };
enum { SIMPLE_FALSE = 20, SIMPLE_TRUE = 21, SIMPLE_NULL = 22 };

/* ---- writing ------------------------------------------------------------ */

static void add_head(enum major major, uint64_t n, struct str *out)
{
	uint8_t head[9];
	int more = n <= UINT8_MAX ? 0 : n <= UINT16_MAX ? 1 :
		   n <= UINT32_MAX ? 2 : 3;
	size_t bytes = (size_t)1 << more;

	if (n < MORE_1) {
		head[0] = (uint8_t)(major << 5 | n);
		bytes = 0;
	} else {
		head[0] = (uint8_t)(major << 5 | (MORE_1 + more));
		for (size_t i = 0; i < bytes; i++) {
			head[bytes - i] = (uint8_t)(n >> 8 * i);
		}
	}
	str_addmem(out, head, 1 + bytes);
}

void cbor_add_bytes(const void *bytes, size_t n, struct str *out)
{
	add_head(MAJOR_BYTES, n, out);
	str_addmem(out, bytes, n);
}

void cbor_add_text(const char *text, size_t n, struct str *out)
{
	add_head(MAJOR_TEXT, n, out);
	str_addmem(out, text, n);
}

void cbor_add_real(double value, struct str *out)
{
	uint8_t bytes[9] = { MAJOR_SIMPLE << 5 | MORE_8 };
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits = htobe64(bits);
	memcpy(bytes + 1, &bits, sizeof(bits));
	str_addmem(out, bytes, sizeof(bytes));
}

void cbor_add_int(int64_t n, struct str *out)
{
	add_head(n < 0 ? MAJOR_NEGATIVE : MAJOR_UINT,
		 (uint64_t)(n < 0 ? -1 - n : n), out);
}

void cbor_add_bool(bool value, struct str *out)
{
	add_head(MAJOR_SIMPLE, value ? SIMPLE_TRUE : SIMPLE_FALSE, out);
}

void cbor_add_null(struct str *out)
{
	add_head(MAJOR_SIMPLE, SIMPLE_NULL, out);
}

void cbor_add_array(size_t n, struct str *out)
{
	add_head(MAJOR_ARRAY, n, out);
}

void cbor_add_map(size_t n, struct str *out)
{
	add_head(MAJOR_MAP, n, out);
}

static void add_value(const json_t *v, int depth, struct str *out)
{
	const char *key;
	json_t *one;
	size_t i;

	if (v == NULL || depth == CBOR_DEPTH) {
		out->failed = true;
		return;
	}
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		cbor_add_map(json_object_size(v), out);
		json_object_foreach((json_t *)v, key, one) {
			out->failed = out->failed || strlen(key) > CBOR_KEY;
			cbor_add_text(key, strlen(key), out);
			add_value(one, depth + 1, out);
		}
		break;
	case JSON_ARRAY:
		cbor_add_array(json_array_size(v), out);
		json_array_foreach(v, i, one) {
			add_value(one, depth + 1, out);
		}
		break;
	case JSON_STRING:
		cbor_add_text(json_string_value(v), json_string_length(v), out);
		break;
	case JSON_INTEGER:
		cbor_add_int(json_integer_value(v), out);
		break;
	case JSON_REAL:
		cbor_add_real(json_real_value(v), out);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		cbor_add_bool(json_is_true(v), out);
		break;
	case JSON_NULL:
		cbor_add_null(out);
		break;
	}
}

void cbor_add(const json_t *v, struct str *out)
{
	add_value(v, 0, out);
}

/* ---- reading ------------------------------------------------------------ */

/** The first byte of a value in @first, and its number; false: cut short, or of
 *  unknown length. */
static bool take_head(struct cbor_reader *r, uint8_t *first, uint64_t *n)
{
	size_t bytes = 0;

	if (r->left == 0) {
		return false;
	}
	*first = *r->at;
	*n = *first & 31;
	if (*n > MORE_8) {
		return false;
	}
	if (*n >= MORE_1) {
		bytes = (size_t)1 << (*n - MORE_1);
		*n = 0;
	}
	if (r->left < 1 + bytes) {
		return false;
	}
	for (size_t i = 1; i <= bytes; i++) {
		*n = *n << 8 | r->at[i];
	}
	r->at += 1 + bytes;
	r->left -= 1 + bytes;
	return true;
}

/** @n bytes; NULL: cut short, or with a NUL unless they are @raw. */
static const char *take_text(struct cbor_reader *r, uint64_t n, bool raw)
{
	const char *text = (const char *)r->at;

	if (n > r->left || (!raw && memchr(text, '\0', (size_t)n))) {
		return NULL;
	}
	r->at += n;
	r->left -= (size_t)n;
	return text;
}

/** One member of @map; false: none, or one that it has. */
static bool take_member(struct cbor_reader *r, json_t *map)
{
	const size_t before = json_object_size(map);
	const char *text = NULL;
	char key[CBOR_KEY + 1];
	uint8_t first;
	uint64_t n;

	if (take_head(r, &first, &n) && first >> 5 == MAJOR_TEXT &&
	    n <= CBOR_KEY) {
		text = take_text(r, n, false);
	}
	if (!text) {
		return false;
	}
	memcpy(key, text, (size_t)n);
	key[n] = '\0';
	return json_object_set_new(map, key, cbor_take(r)) == 0 &&
	       json_object_size(map) > before;
}

bool cbor_next(struct cbor_reader *r, struct cbor_item *item)
{
	uint8_t first;
	uint64_t n;

	if (!take_head(r, &first, &n)) {
		return false;
	}
	item->n = (size_t)n;
	item->raw = first >> 5 == MAJOR_BYTES;
	switch ((enum major)(first >> 5)) {
	case MAJOR_UINT:
	case MAJOR_NEGATIVE:
		item->type = JSON_INTEGER;
		item->integer = first >> 5 == MAJOR_UINT ? (int64_t)n :
							   -1 - (int64_t)n;
		return n <= INT64_MAX;
	case MAJOR_BYTES:
	case MAJOR_TEXT:
		item->type = JSON_STRING;
		item->text = take_text(r, n, item->raw);
		return item->text != NULL;
	case MAJOR_ARRAY:
		item->type = JSON_ARRAY;
		return true;
	case MAJOR_MAP:
		item->type = JSON_OBJECT;
		return true;
	case MAJOR_SIMPLE:
		break;
	default:
		return false;
	}
	switch (first & 31) {
	case SIMPLE_FALSE:
	case SIMPLE_TRUE:
		item->type = (first & 31) == SIMPLE_TRUE ? JSON_TRUE :
							   JSON_FALSE;
		return true;
	case SIMPLE_NULL:
		item->type = JSON_NULL;
		return true;
	case MORE_8:
		item->type = JSON_REAL;
		memcpy(&item->real, &n, sizeof(n));
		return isfinite(item->real);
	default:
		return false;
	}
}

json_t *cbor_take(struct cbor_reader *r)
{
	struct cbor_item item;
	json_t *v = NULL;
	bool good;

	if (!cbor_next(r, &item)) {
		return NULL;
	}
	switch (item.type) {
	case JSON_INTEGER:
		return json_integer((json_int_t)item.integer);
	case JSON_REAL:
		return json_real(item.real);
	case JSON_STRING:
		return item.raw ? NULL : json_stringn(item.text, item.n);
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		return json_boolean(item.type == JSON_TRUE);
	case JSON_NULL:
		return json_null();
	}
	/* each of the entries has a byte: too large a number ends soon */
	v = item.type == JSON_OBJECT ? json_object() : json_array();
	good = v && ++r->depth <= CBOR_DEPTH;
	for (size_t i = 0; good && i < item.n; i++) {
		good = item.type == JSON_OBJECT ?
			       take_member(r, v) :
			       json_array_append_new(v, cbor_take(r)) == 0;
	}
	r->depth--;
	if (!good) {
		json_decref(v);
		return NULL;
	}
	return v;
}

json_t *cbor_parse(const void *bytes, size_t n, struct err *e)
{
	struct cbor_reader r = { .at = bytes, .left = n };
	json_t *v;

	errno = 0;	/* malloc() says there why it fails */
	v = cbor_take(&r);
	if (!v && errno == ENOMEM) {
		err_set(e, ENOMEM, "no memory for %zu bytes", n);
		return NULL;
	}
	if (!v || r.left > 0) {
		json_decref(v);
		err_set(e, EPROTO, "byte %zu of %zu is invalid",
			n - r.left, n);
		return NULL;
	}
	return v;
}
