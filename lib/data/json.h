/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_JSON_H
#define LIB_DATA_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/base/str.h"

/**
 * Typed, limited reads of a JSON object that others wrote: a wire message, a
 * run.json.  Each returns 0 and sets its output, or -1 with @e naming the key,
 * and the output untouched.  A missing key and null are errors, except to the
 * _opt variants, which return 0 and leave the output as it was (the default
 * that the caller put there).
 */
int json_get_int(const json_t *obj, const char *key, int64_t min, int64_t max,
		 int64_t *out, struct err *e);
int json_opt_int(const json_t *obj, const char *key, int64_t min, int64_t max,
		 int64_t *out, struct err *e);

/** An integer is a real too; nan and infinity do not exist in JSON. */
int json_get_real(const json_t *obj, const char *key, double min, double max,
		  double *out, struct err *e);
int json_opt_real(const json_t *obj, const char *key, double min, double max,
		  double *out, struct err *e);

int json_get_bool(const json_t *obj, const char *key, bool *out,
		  struct err *e);
int json_opt_bool(const json_t *obj, const char *key, bool *out,
		  struct err *e);

/**
 * Text into @buf through str_copy(), harmless.  Text that does not fit is an
 * error, not cut: names that lose their end name others.  @buf NULL: only
 * check.
 */
int json_get_text(const json_t *obj, const char *key, char *buf, size_t size,
		  struct err *e);
int json_opt_text(const json_t *obj, const char *key, char *buf, size_t size,
		  struct err *e);

/** The borrowed text of a member, for callers that only show it; "" if there is
 *  no such text. */
const char *json_member(const json_t *obj, const char *key);

/** Borrowed array of at most @max entries; NULL with @e set. */
json_t *json_get_array(const json_t *obj, const char *key, size_t max,
		       struct err *e);

/** Return @text as a JSON string, bytes that are not UTF-8 as '?'; new
 *  reference, NULL without memory. */
json_t *json_text(const char *text);
/** The same, or null: for NULL and "", for a value that is not finite, for a
 *  number below 0. */
json_t *json_text_or_null(const char *text);
json_t *json_real_or_null(double v);
json_t *json_int_or_null(int64_t v);

/** Append the object @json as text, with @flags of json_dumps(); @out fails
 *  without memory, and where @json is NULL for want of it.  Characters that
 *  str_harmless() would replace are written as \uXXXX. */
void json_add(const json_t *json, size_t flags, struct str *out);
/** The same into @f, for json_dumpf(): 0 or -1. */
int json_print(const json_t *json, FILE *f, size_t flags);

/** Parse @len bytes, depth-limited, no duplicate keys, an object at the top;
 *  new reference, or NULL with @e (what and where). */
json_t *json_parse(const char *text, size_t len, struct err *e);
/**
 * The value of a pickle of protocol 2 to 5 that has texts, numbers, lists,
 * tuples (as lists) and dictionaries alone; keys that are integers become
 * texts, what is not finite null.  New reference, or NULL with @e: it is cut
 * short, would run code, or has more than four million values.  A value may
 * occur several times in it.
 */
json_t *json_parse_pickle(const void *bytes, size_t n, struct err *e);

#endif
