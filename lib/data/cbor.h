/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_CBOR_H
#define LIB_DATA_CBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * JSON values as bytes that cost little to write and to read: the part of CBOR
 * (RFC 8949) that has them.  Maps with text keys, arrays, texts, integers,
 * doubles, true, false and null; all of known length, no tags.  Value by value
 * there may be bytes as well.
 */

/** Levels of maps and arrays within each other. */
#define CBOR_DEPTH 32
/** Bytes of a key. */
#define CBOR_KEY 255

/** Append @v; what goes beyond that fails @out. */
void cbor_add(const json_t *v, struct str *out);
/**
 * The value that the @n bytes are, all of them (new reference); NULL with @e
 * where they are none of the above, have a key twice, or a text that is no
 * UTF-8 or has a NUL.
 */
json_t *cbor_parse(const void *bytes, size_t n, struct err *e);

/* ---- value by value, without a tree of them ----------------------------- */

void cbor_add_int(int64_t n, struct str *out);
void cbor_add_real(double value, struct str *out);	/* finite */
void cbor_add_text(const char *text, size_t n, struct str *out);
void cbor_add_bytes(const void *bytes, size_t n, struct str *out);
void cbor_add_bool(bool value, struct str *out);
void cbor_add_null(struct str *out);
/** @n values follow; @n keys and values. */
void cbor_add_array(size_t n, struct str *out);
void cbor_add_map(size_t n, struct str *out);

struct cbor_reader {
	const uint8_t *at;
	size_t left;
	int depth;	/* of cbor_take(): 0 */
};

struct cbor_item {
	json_type type;
	int64_t integer;
	double real;
	bool raw;		/* a text that is bytes */
	const char *text;	/* @n bytes, no NUL among them unless @raw;
				 * borrowed */
	size_t n;		/* of an array: values that follow, of an
				 * object: keys and values */
};

/** The next value, of an array or object its head alone; false: none, or not
 *  as cbor_parse() has it (but that texts are not looked into). */
bool cbor_next(struct cbor_reader *r, struct cbor_item *item);
/** The next value, all of it (new reference); NULL. */
json_t *cbor_take(struct cbor_reader *r);

#endif
