/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIB_DATA_SCHEMA_H
#define LIB_DATA_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/str.h"
#include "lib/data/cbor.h"

/**
 * Tables of fields: one row per member of a struct gives its name, type,
 * limits and help.  From the table come JSON both ways (by name), CBOR both
 * ways (by place), the checks of a message and the tables of
 * docs/dev/protocol.md.
 */
enum field_kind {
	FIELD_INT,	/* int, enum or int64_t; optional: below min is none */
	FIELD_REAL,	/* double; NAN is none */
	FIELD_BOOL,	/* optional: none while the bool, count or pointer at
			 * count_at is 0; without one, false is none */
	FIELD_TEXT,	/* char[]; "" is none */
	FIELD_HEX,	/* uint8_t[], all of it; in JSON two digits per byte */
	FIELD_WORD,	/* one of field.words: its index, as a bool, int or
			 * enum, or a pointer to it (NULL is none); in JSON
			 * its name */
	FIELD_OBJECT,	/* json_t *; NULL is none */
	FIELD_ARRAY,	/* the same */
	FIELD_LINK,	/* const char *, borrowed; NULL and "" are none */
	FIELD_FORMAT,	/* no member: the number min of the file's format */
	FIELD_INTS,	/* int64_t[], counted by an int or size_t */
	FIELD_REALS,	/* double[], the same; with most a double * that reading
			 * allocates, where null is NAN */
	FIELD_STRUCT,	/* a struct of the table places; an optional one is
			 * none while the bool or count at count_at is 0 */
	FIELD_STRUCTS,	/* an array of these, counted as above; with most
			 * a pointer that reading allocates */
};

/** Representation of an optional member without a value; in CBOR null. */
enum field_absence {
	FIELD_REQUIRED,
	FIELD_OMITTED,	/* missing or null; none is not written */
	FIELD_NULL,	/* the same; none is written as null */
	FIELD_KEPT,	/* the same; written as it is */
};

struct field {
	const char *name;	/* NULL ends a table */
	enum field_kind kind;
	enum field_absence optional;
	size_t at, size;	/* the member; size 0: only checked */
	size_t count_at, count_size;	/* the count of a list; whether a
					 * struct or bool is there */
	size_t most;		/* entries of a list that is allocated */
	size_t item_size;	/* of an entry of a list */
	const void *usual;	/* such an entry before it is read; NULL: 0 */
	/* limits of a value; entries of ARRAY, bytes of LINK and of TEXT
	 * without a member: at most, 0 = any.  A long double has every
	 * int64_t. */
	long double min, max;
	const void *words;	/* structs or pointers that begin with a name,
				 * closed by a NULL name */
	size_t word_size;
	const struct field *places;	/* the table of STRUCT, STRUCTS; an
					 * entry of ARRAY, for the docs */
	const char *help;
};

#define FIELD_MEMBER(tag, member) \
	.at = offsetof(struct tag, member), \
	.size = sizeof(((struct tag *)0)->member)
#define FIELD(tag, member, key, type, from, to, ...) \
	{ .name = key, .kind = FIELD_##type, FIELD_MEMBER(tag, member), \
	  .min = from, .max = to, .help = __VA_ARGS__ }
#define FIELD_WORDS(tag, member, key, list, ...) \
	{ .name = key, .kind = FIELD_WORD, FIELD_MEMBER(tag, member), \
	  .words = list, .word_size = sizeof((list)[0]), .help = __VA_ARGS__ }
/* only written: @member points to what begins with its name */
#define FIELD_NAME(tag, member, key, ...) \
	{ .name = key, .kind = FIELD_WORD, FIELD_MEMBER(tag, member), \
	  .help = __VA_ARGS__ }
#define FIELD_LIST(tag, member, count, key, type, from, to, ...) \
	{ .name = key, .kind = FIELD_##type, FIELD_MEMBER(tag, member), \
	  FIELD_COUNT(tag, member, count), \
	  .min = from, .max = to, .help = __VA_ARGS__ }
#define FIELD_COUNT(tag, member, count) \
	.count_at = offsetof(struct tag, count), \
	.count_size = sizeof(((struct tag *)0)->count), \
	.item_size = sizeof(*((struct tag *)0)->member)
#define FIELD_GIVEN(tag, member) \
	.count_at = offsetof(struct tag, member), \
	.count_size = sizeof(((struct tag *)0)->member)
#define FIELD_PART(tag, member, key, table, ...) \
	{ .name = key, .kind = FIELD_STRUCT, FIELD_MEMBER(tag, member), \
	  .places = table, .help = __VA_ARGS__ }
#define FIELD_ROWS(tag, member, count, key, table, to, ...) \
	{ .name = key, .kind = FIELD_STRUCTS, FIELD_MEMBER(tag, member), \
	  FIELD_COUNT(tag, member, count), .places = table, .most = to, \
	  .help = __VA_ARGS__ }

/**
 * Fill @obj with the members of @json; an optional one that is missing or null
 * leaves @obj as it is.  JSON values are borrowed.  @obj NULL: only check.
 * Returns 0, or -1 with @e (which member, what is wrong) and @obj undefined.
 */
int schema_read(const struct field *fields, void *obj, const json_t *json,
		struct err *e);
/** The same of a file that is read as far as possible: a member that is not
 *  what it should be is as if it was missing, and a missing LINK is "". */
void schema_look(const struct field *fields, void *obj, const json_t *json);
/** Free what reading allocated, also after it failed; @obj began zeroed. */
void schema_release(const struct field *fields, void *obj);
/** @obj as a JSON object in the order of @fields, new reference; NULL without
 *  memory, and where a required member is none. */
json_t *schema_json(const struct field *fields, const void *obj);

/** Append @obj as a CBOR array by place, without the last members that are as
 *  in @usual. */
void schema_add(const struct field *fields, const void *obj, const void *usual,
		struct str *out);
/** Read such an array into @obj, which is as usual; -1 with @e, which calls it
 *  @what.  JSON values are new references, of @obj even then. */
int schema_take(const struct field *fields, struct cbor_reader *r, void *obj,
		const char *what, struct err *e);

/** Append what values @f may have, in words: "integer 0 to 3, optional". */
void schema_add_limits(const struct field *f, struct str *out);

#endif
