/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of fields: JSON by name and CBOR by place, both ways. */
#include "lib/data/schema.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "lib/data/record.h"

/* The longest TEXT that CBOR has: a ticket of a transport. */
#define TEXT_BYTES 4096
/* The largest HEX: a key. */
#define HEX_BYTES  64

/* ---- members ------------------------------------------------------------- */

static int64_t get_int(const struct field *f, const void *at)
{
	return f->size == sizeof(bool) ? *(const bool *)at :
	       f->size == sizeof(int)  ? *(const int *)at :
					 *(const int64_t *)at;
}

static void set_int(const struct field *f, void *at, int64_t n)
{
	if (f->size == sizeof(bool)) {
		*(bool *)at = n != 0;
	} else if (f->size == sizeof(int)) {
		*(int *)at = (int)n;
	} else {
		*(int64_t *)at = n;
	}
}

static size_t get_count(const struct field *f, const void *obj)
{
	const char *at = (const char *)obj + f->count_at;

	return f->count_size == sizeof(bool) ? *(const bool *)at :
	       f->count_size == sizeof(int)  ? (size_t)*(const int *)at :
					       *(const size_t *)at;
}

static void set_count(const struct field *f, void *obj, size_t n)
{
	char *at = (char *)obj + f->count_at;

	if (f->count_size == sizeof(bool)) {
		*(bool *)at = n > 0;
	} else if (f->count_size == sizeof(int)) {
		*(int *)at = (int)n;
	} else {
		*(size_t *)at = n;
	}
}

static bool is_none(const struct field *f, const void *obj)
{
	const void *at = (const char *)obj + f->at;

	switch (f->kind) {
	case FIELD_INT:
		return get_int(f, at) < f->min;
	case FIELD_REAL:
		return !isfinite(*(const double *)at);
	case FIELD_BOOL:
		return f->count_size > 0 ? get_count(f, obj) == 0 :
					   !*(const bool *)at;
	case FIELD_TEXT:
		return *(const char *)at == '\0';
	case FIELD_LINK:
		return *(const char *const *)at == NULL ||
		       **(const char *const *)at == '\0';
	case FIELD_STRUCT:
		return get_count(f, obj) == 0;
	case FIELD_WORD:
		return f->size == sizeof(void *) &&
		       *(const void *const *)at == NULL;
	case FIELD_OBJECT:
	case FIELD_ARRAY:
		return *(json_t *const *)at == NULL;
	default:
		return false;
	}
}

/* The first entry of a list; with @n > 0 reading is to fill so many, for which
 * memory is allocated if need be.  NULL without memory. */
static void *list_entries(const struct field *f, void *obj, size_t n)
{
	char *at = (char *)obj + f->at;

	if (f->most > 0 && n > 0) {
		*(void **)at = calloc(n, f->item_size);
	}
	return f->most > 0 ? *(void **)at : at;
}

static const char *word_name(const struct field *f, size_t i)
{
	return *(const char *const *)((const char *)f->words +
				      i * f->word_size);
}

/* ---- JSON ---------------------------------------------------------------- */

static int read_hex(const struct field *f, void *at, const json_t *json,
		    struct err *e)
{
	uint8_t bytes[HEX_BYTES];
	char text[2 * HEX_BYTES + 1];

	if (json_get_text(json, f->name, text, sizeof(text), e) < 0) {
		return -1;
	}
	if (strlen(text) != 2 * f->size ||
	    hash_unhex(text, at != NULL ? at : bytes, f->size) < 0) {
		return err_set(e, EPROTO, "'%s' is not %zu bytes in hex",
			       f->name, f->size);
	}
	return 0;
}

static int read_word(const struct field *f, void *at, const json_t *json,
		     struct err *e)
{
	char word[64];
	size_t i = 0;

	if (json_get_text(json, f->name, word, sizeof(word), e) < 0) {
		return -1;
	}
	while (word_name(f, i) != NULL && strcmp(word_name(f, i), word) != 0) {
		i++;
	}
	if (word_name(f, i) == NULL) {
		return err_set(e, EPROTO, "'%s' is '%s', which is unknown",
			       f->name, word);
	}
	if (at != NULL && f->size < sizeof(void *)) {
		set_int(f, at, (int64_t)i);
	} else if (at != NULL) {
		*(const void **)at = (const char *)f->words + i * f->word_size;
	}
	return 0;
}

static bool is_within(const struct field *f, double value)
{
	return value >= f->min && value <= f->max;
}

static int read_number(const struct field *f, const json_t *v, void *to)
{
	const bool null = f->most > 0 && json_is_null(v);

	if (!null && (!(f->kind == FIELD_INTS ? json_is_integer(v) :
						json_is_number(v)) ||
		      !is_within(f, json_number_value(v)))) {
		return -1;
	}
	if (to != NULL && f->kind == FIELD_INTS) {
		*(int64_t *)to = json_integer_value(v);
	} else if (to != NULL) {
		*(double *)to = null ? NAN : json_number_value(v);
	}
	return 0;
}

static int read_list(const struct field *f, void *obj, const json_t *json,
		     struct err *e)
{
	const size_t most = f->most > 0 ? f->most : f->size / f->item_size;
	const json_t *list = json_get_array(json, f->name, most, e), *v;
	const size_t n = json_array_size(list);
	char *to = obj != NULL ? list_entries(f, obj, n) : NULL, *item;
	struct err why;
	size_t i;
	int rc;

	if (list == NULL) {
		return -1;
	}
	if (obj != NULL && to == NULL && n > 0) {
		return err_set(e, ENOMEM, "cannot read '%s'", f->name);
	}
	json_array_foreach(list, i, v) {
		if (obj != NULL) {	/* so that it is freed anyway */
			set_count(f, obj, i + 1);
		}
		item = to != NULL ? to + i * f->item_size : NULL;
		if (f->kind != FIELD_STRUCTS) {
			rc = read_number(f, v, item) == 0 ? 0 :
			     err_set(&why, EPROTO, "not a number from %Lg to "
				     "%Lg", f->min, f->max);
		} else {
			if (item != NULL && f->usual != NULL) {
				memcpy(item, f->usual, f->item_size);
			}
			rc = schema_read(f->places, item, v, &why);
		}
		if (rc < 0) {
			return err_set(e, why.code, "entry %zu of '%s': %s",
				       i + 1, f->name, why.text);
		}
	}
	if (obj != NULL) {
		set_count(f, obj, n);
	}
	return 0;
}

static int read_tree(const struct field *f, json_t **at, const json_t *json,
		     json_t *v, struct err *e)
{
	const size_t max = f->max > 0 ? (size_t)f->max : SIZE_MAX;

	if (f->kind == FIELD_ARRAY && !json_get_array(json, f->name, max, e)) {
		return -1;
	}
	if (f->kind == FIELD_OBJECT && !json_is_object(v)) {
		return err_set(e, EPROTO, "'%s' is not an object", f->name);
	}
	if (at != NULL) {
		*at = v;
	}
	return 0;
}

static int read_struct(const struct field *f, char *obj, const json_t *v,
		       struct err *e)
{
	struct err why;

	if (schema_read(f->places, obj != NULL ? obj + f->at : NULL, v,
			&why) < 0) {
		return err_set(e, why.code, "'%s': %s", f->name, why.text);
	}
	if (obj != NULL && f->optional) {
		set_count(f, obj, 1);
	}
	return 0;
}

static int read_field(const struct field *f, void *obj, const json_t *json,
		      struct err *e)
{
	void *at = obj != NULL && f->size > 0 ? (char *)obj + f->at : NULL;
	json_t *v = json_object_get(json, f->name);
	double real;
	int64_t n;
	bool yes;

	switch (f->kind) {
	case FIELD_INT:
		if (json_get_int(json, f->name, (int64_t)f->min,
				 (int64_t)f->max, &n, e) < 0) {
			return -1;
		}
		if (at != NULL) {
			set_int(f, at, n);
		}
		return 0;
	case FIELD_REAL:
		return json_get_real(json, f->name, (double)f->min,
				     (double)f->max, at != NULL ? at : &real,
				     e);
	case FIELD_BOOL:
		return json_get_bool(json, f->name, at != NULL ? at : &yes, e);
	case FIELD_TEXT:
		return json_get_text(json, f->name, at, f->size > 0 ? f->size :
				     (size_t)f->max + 1, e);
	case FIELD_HEX:
		return read_hex(f, at, json, e);
	case FIELD_WORD:
		return read_word(f, at, json, e);
	case FIELD_INTS:
	case FIELD_REALS:
	case FIELD_STRUCTS:
		return read_list(f, obj, json, e);
	case FIELD_OBJECT:
	case FIELD_ARRAY:
		return read_tree(f, at, json, v, e);
	case FIELD_LINK:
		if (at != NULL) {
			*(const char **)at = json_member(json, f->name);
		}
		return json_get_text(json, f->name, NULL, f->max > 0 ?
				     (size_t)f->max + 1 : SIZE_MAX, e);
	case FIELD_FORMAT:
		if (json_get_int(json, f->name, 1, INT32_MAX, &n, e) < 0) {
			return -1;
		}
		return n == (int64_t)f->min ? 0 :
		       err_set(e, EPROTO, "format %d, written by %s version of "
			       "gpucheck", (int)n,
			       n > f->min ? "a later" : "an earlier");
	case FIELD_STRUCT:
		return read_struct(f, obj, v, e);
	}
	return -1;
}

int schema_read(const struct field *fields, void *obj, const json_t *json,
		struct err *e)
{
	if (!json_is_object(json)) {
		return err_set(e, EPROTO, "there is no object with '%s'",
			       fields->name);
	}
	for (const struct field *f = fields; f->name != NULL; f++) {
		const json_t *v = json_object_get(json, f->name);
		const bool none = v == NULL || json_is_null(v);

		if (!(f->optional && none) &&
		    read_field(f, obj, json, e) < 0) {
			return -1;
		}
	}
	return 0;
}

void schema_look(const struct field *fields, void *obj, const json_t *json)
{
	for (const struct field *f = fields; f->name != NULL; f++) {
		char *at = (char *)obj + f->at;
		const json_t *v = json_object_get(json, f->name);

		if (f->kind == FIELD_STRUCT) {
			schema_look(f->places, at, v);
			if (f->optional) {
				set_count(f, obj, v != NULL);
			}
		} else if (f->kind == FIELD_LINK) {
			*(const char **)at = json_is_string(v) ?
						     json_string_value(v) : "";
		} else if (v != NULL) {
			read_field(f, obj, json, NULL);
		}
	}
}

void schema_release(const struct field *fields, void *obj)
{
	for (const struct field *f = fields; f->name != NULL; f++) {
		char *list = list_entries(f, obj, 0);

		for (size_t i = 0; f->kind == FIELD_STRUCTS && list != NULL &&
				   i < get_count(f, obj); i++) {
			schema_release(f->places, list + i * f->item_size);
		}
		if (f->kind == FIELD_STRUCT) {
			schema_release(f->places, (char *)obj + f->at);
		} else if (f->most > 0) {
			free(list);
			*(void **)((char *)obj + f->at) = NULL;
			set_count(f, obj, 0);
		}
	}
}

static json_t *list_json(const struct field *f, const char *obj)
{
	const char *at = list_entries(f, (char *)(uintptr_t)obj, 0);
	json_t *list = json_array();
	const size_t n = get_count(f, obj);

	for (size_t i = 0; i < n; i++) {
		json_array_append_new(list, f->kind == FIELD_STRUCTS ?
			schema_json(f->places, at + i * f->item_size) :
			f->kind == FIELD_INTS ?
			json_integer(((const int64_t *)at)[i]) :
			json_real_or_null(((const double *)at)[i]));
	}
	return list;
}

static json_t *field_json(const struct field *f, const void *obj)
{
	const char *at = (const char *)obj + f->at;
	char hex[2 * HEX_BYTES + 1];

	switch (f->kind) {
	case FIELD_INT:
		return json_integer(get_int(f, at));
	case FIELD_REAL:
		return json_real(*(const double *)at);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_TEXT:
		return json_text(at);
	case FIELD_HEX:
		hash_hex(at, f->size, hex);
		return json_string(hex);
	case FIELD_WORD:
		return json_string(f->size < sizeof(void *) ?
				   word_name(f, (size_t)get_int(f, at)) :
				   **(const char *const *const *)at);
	case FIELD_INTS:
	case FIELD_REALS:
	case FIELD_STRUCTS:
		return list_json(f, obj);
	case FIELD_OBJECT:
	case FIELD_ARRAY:
		return json_incref(*(json_t *const *)at);
	case FIELD_LINK:
		return json_text(*(const char *const *)at);
	case FIELD_FORMAT:
		return json_integer((json_int_t)f->min);
	case FIELD_STRUCT:
		return schema_json(f->places, at);
	}
	return NULL;
}

json_t *schema_json(const struct field *fields, const void *obj)
{
	json_t *json = json_object();

	for (const struct field *f = fields; f->name != NULL; f++) {
		const bool none = f->size > 0 && f->optional != FIELD_KEPT &&
				  f->optional != FIELD_REQUIRED &&
				  is_none(f, obj);

		if (f->kind == FIELD_LINK && f->optional == FIELD_KEPT &&
		    *(const char *const *)((const char *)obj + f->at) == NULL) {
			continue;	/* "" is written, NULL is not */
		}
		if ((f->size > 0 || f->kind == FIELD_FORMAT) &&
		    !(none && f->optional == FIELD_OMITTED) &&
		    json_object_set_new(json, f->name, none ? json_null() :
					field_json(f, obj)) < 0) {
			json_decref(json);
			return NULL;
		}
	}
	return json;
}

/* ---- CBOR ---------------------------------------------------------------- */

static void add_field(const struct field *f, const void *obj, struct str *out)
{
	const void *at = (const char *)obj + f->at;
	char text[TEXT_BYTES];

	if ((f->optional || f->kind == FIELD_REAL) && is_none(f, obj)) {
		cbor_add_null(out);
		return;
	}
	switch (f->kind) {
	case FIELD_INT:
		cbor_add_int(get_int(f, at), out);
		return;
	case FIELD_REAL:
		cbor_add_real(*(const double *)at, out);
		return;
	case FIELD_TEXT:		/* a library's text may not be UTF-8 */
		str_copy(text, f->size, at);
		cbor_add_text(text, strlen(text), out);
		return;
	case FIELD_BOOL:
		cbor_add_bool(*(const bool *)at, out);
		return;
	case FIELD_ARRAY:
		cbor_add(*(json_t *const *)at, out);
		return;
	default:
		out->failed = true;
	}
}

void schema_add(const struct field *fields, const void *obj, const void *usual,
		struct str *out)
{
	size_t n = 0;

	while (fields[n].name != NULL) {
		n++;
	}
	/* trailing fields with their usual value may be omitted */
	for (; n > 0; n--) {
		const struct field *f = &fields[n - 1];
		const char *one = (const char *)obj + f->at;

		if (f->kind == FIELD_TEXT ?
			    *one != '\0' || ((const char *)usual)[f->at] :
			    memcmp(one, (const char *)usual + f->at,
				   f->size) != 0) {
			break;
		}
	}
	cbor_add_array(n, out);
	for (size_t i = 0; i < n; i++) {
		add_field(&fields[i], obj, out);
	}
}

static bool take_field(const struct field *f, struct cbor_reader *r, void *at)
{
	struct cbor_item v;
	json_t *list;

	if (f->kind == FIELD_ARRAY) {
		list = cbor_take(r);
		if (json_is_null(list)) {
			return f->optional;
		}
		*(json_t **)at = list;
		return json_is_array(list) &&
		       is_within(f, (double)json_array_size(list));
	}
	if (!cbor_next(r, &v)) {
		return false;
	}
	if (v.type == JSON_NULL && f->kind == FIELD_INT) {
		set_int(f, at, RECORD_NONE);
		return f->optional;
	}
	if (v.type == JSON_NULL && f->kind == FIELD_REAL) {
		*(double *)at = NAN;
		return f->optional;
	}
	switch (f->kind) {
	case FIELD_INT:
		set_int(f, at, v.integer);
		return v.type == JSON_INTEGER &&
		       v.integer >= f->min && v.integer <= f->max;
	case FIELD_REAL:
		*(double *)at = v.type == JSON_REAL ? v.real :
						      (double)v.integer;
		return (v.type == JSON_REAL || v.type == JSON_INTEGER) &&
		       is_within(f, *(double *)at);
	case FIELD_TEXT:
		if (v.type != JSON_STRING || v.raw || v.n >= f->size) {
			return false;
		}
		memcpy(at, v.text, v.n);
		((char *)at)[v.n] = '\0';
		str_harmless(at, 0);
		return true;
	case FIELD_BOOL:
		*(bool *)at = v.type == JSON_TRUE;
		return v.type == JSON_TRUE || v.type == JSON_FALSE;
	default:
		return false;
	}
}

int schema_take(const struct field *fields, struct cbor_reader *r, void *obj,
		const char *what, struct err *e)
{
	struct cbor_item head = { .type = JSON_NULL };
	const struct field *f = fields;
	size_t left;

	if (!cbor_next(r, &head) || head.type != JSON_ARRAY) {
		return err_set(e, EPROTO, "'%s' is invalid", what);
	}
	for (left = head.n; left > 0 && f->name != NULL; left--, f++) {
		if (!take_field(f, r, (char *)obj + f->at)) {
			struct str limits = STR_INIT;

			schema_add_limits(f, &limits);
			err_set(e, EPROTO, "'%s': '%s' is not %s", what,
				f->name, str_text(&limits));
			str_release(&limits);
			return -1;
		}
	}
	return left == 0 ? 0 :
			   err_set(e, EPROTO, "'%s' has %zu fields too many",
				   what, left);
}

/* ---- docs ---------------------------------------------------------------- */

void schema_add_limits(const struct field *f, struct str *out)
{
	static const char *const kinds[] = {
		[FIELD_INT] = "integer", [FIELD_REAL] = "number",
		[FIELD_BOOL] = "boolean", [FIELD_TEXT] = "text",
		[FIELD_HEX] = "hex digits", [FIELD_WORD] = "one of",
		[FIELD_OBJECT] = "object",
		[FIELD_ARRAY] = "array", [FIELD_INTS] = "array of integers",
		[FIELD_REALS] = "array of numbers", [FIELD_LINK] = "text",
		[FIELD_FORMAT] = "format", [FIELD_STRUCT] = "object",
		[FIELD_STRUCTS] = "array of objects",
	};
	const size_t bytes = f->kind == FIELD_TEXT && f->size > 0 ?
				     f->size - 1 : (size_t)f->max;

	str_add(out, kinds[f->kind]);
	switch (f->kind) {
	case FIELD_TEXT:
	case FIELD_LINK:
		if (bytes > 0) {
			str_addf(out, " of at most %zu bytes", bytes);
		}
		break;
	case FIELD_HEX:
		str_addf(out, " of %zu bytes", f->size);
		break;
	case FIELD_ARRAY:
		if (f->max > 0) {
			str_addf(out, " of at most %.0Lf entries", f->max);
		}
		break;
	case FIELD_WORD:
		for (size_t i = 0; word_name(f, i) != NULL; i++) {
			str_addf(out, "%s %s", i > 0 ? "," : "",
				 word_name(f, i));
		}
		break;
	case FIELD_BOOL:
	case FIELD_OBJECT:
	case FIELD_STRUCT:
	case FIELD_STRUCTS:
		break;
	case FIELD_REAL:
	case FIELD_REALS:
		str_addf(out, " %Lg to %Lg", f->min, f->max);
		break;
	default:
		str_addf(out, " %.0Lf to %.0Lf", f->min, f->max);
	}
	str_add(out, f->optional ? ", optional" : "");
}
