/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_CBOR_H
#define LIB_DATA_CBOR_H

#include <stddef.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * JSON values as bytes that cost little to write and to read: the part of CBOR
 * (RFC 8949) that has them.  Maps with text keys, arrays, texts, integers,
 * doubles, true, false and null; all of known length, no tags.
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

#endif
