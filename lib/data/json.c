/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Neither missing nor null. */
static bool has(const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);

	return v && !json_is_null(v);
}

static int not_a(const json_t *obj, const char *key, const char *what,
		 struct err *e)
{
	return err_set(e, 0, has(obj, key) ? "'%s' is not %s" :
					     "'%s' is missing, it should be %s",
		       key, what);
}

int json_get_int(const json_t *obj, const char *key, int64_t min, int64_t max,
		 int64_t *out, struct err *e)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_integer(v)) {
		return not_a(obj, key, "a whole number", e);
	}
	if (json_integer_value(v) < min || json_integer_value(v) > max) {
		return err_set(e, 0, "'%s' is %" JSON_INTEGER_FORMAT
			       ", not within %" PRId64 " to %" PRId64, key,
			       json_integer_value(v), min, max);
	}
	*out = json_integer_value(v);
	return 0;
}

int json_get_real(const json_t *obj, const char *key, double min, double max,
		  double *out, struct err *e)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_number(v)) {
		return not_a(obj, key, "a number", e);
	}
	if (json_number_value(v) < min || json_number_value(v) > max) {
		return err_set(e, 0, "'%s' is %g, not within %g to %g", key,
			       json_number_value(v), min, max);
	}
	*out = json_number_value(v);
	return 0;
}

int json_get_bool(const json_t *obj, const char *key, bool *out, struct err *e)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_boolean(v)) {
		return not_a(obj, key, "true or false", e);
	}
	*out = json_is_true(v);
	return 0;
}

int json_get_text(const json_t *obj, const char *key, char *buf, size_t size,
		  struct err *e)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_string(v)) {
		return not_a(obj, key, "text", e);
	}
	if (json_string_length(v) >= size) {
		return err_set(e, 0, "'%s' has %zu bytes, more than %zu", key,
			       json_string_length(v), size - 1);
	}
	if (buf != NULL) {
		str_copy(buf, size, json_string_value(v));
	}
	return 0;
}

int json_opt_int(const json_t *obj, const char *key, int64_t min, int64_t max,
		 int64_t *out, struct err *e)
{
	return has(obj, key) ? json_get_int(obj, key, min, max, out, e) : 0;
}

int json_opt_real(const json_t *obj, const char *key, double min, double max,
		  double *out, struct err *e)
{
	return has(obj, key) ? json_get_real(obj, key, min, max, out, e) : 0;
}

int json_opt_bool(const json_t *obj, const char *key, bool *out, struct err *e)
{
	return has(obj, key) ? json_get_bool(obj, key, out, e) : 0;
}

int json_opt_text(const json_t *obj, const char *key, char *buf, size_t size,
		  struct err *e)
{
	return has(obj, key) ? json_get_text(obj, key, buf, size, e) : 0;
}

const char *json_member(const json_t *obj, const char *key)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text ? text : "";
}

json_t *json_get_array(const json_t *obj, const char *key, size_t max,
		       struct err *e)
{
	json_t *v = json_object_get(obj, key);

	if (!json_is_array(v)) {
		not_a(obj, key, "a list", e);
		return NULL;
	}
	if (json_array_size(v) > max) {
		err_set(e, 0, "'%s' has %zu entries, more than %zu", key,
			json_array_size(v), max);
		return NULL;
	}
	return v;
}

json_t *json_text(const char *text)
{
	json_t *v = json_string(text);
	char *ascii;

	if (v) {
		return v;
	}
	ascii = strdup(text);
	if (!ascii) {
		return NULL;
	}
	for (char *c = ascii; *c; c++) {
		if (*c & 0x80) {
			*c = '?';
		}
	}
	v = json_string(ascii);
	free(ascii);
	return v;
}

static int add_piece(const char *text, size_t n, void *out)
{
	str_addmem(out, text, n);
	return 0;
}

void json_add(const json_t *json, size_t flags, struct str *out)
{
	const size_t begin = out->len;
	struct str rest = STR_INIT;
	const char *c;
	uint32_t number;
	size_t n;

	if (json_dump_callback(json, add_piece, out, flags) < 0) {
		out->failed = true;
	}
	/* what may steer a terminal becomes \uXXXX.  jansson does so for C0;
	 * others are in strings only */
	c = str_text(out) + begin;
	while (*c > 0 && *c < 0x7f) {	/* nearly all */
		c++;
	}
	str_add(&rest, c);
	str_cut(out, (size_t)(c - str_text(out)));
	for (c = str_text(&rest); *c != '\0'; c += n) {
		n = *c > 0 && *c < 0x7f ? 0 : str_harmful(c, &number);
		if (n > 0) {
			str_addf(out, "\\u%04x", (unsigned)number);
		} else {
			n = 1;
			str_addch(out, *c);
		}
	}
	out->failed |= rest.failed;
	str_release(&rest);
}

int json_print(const json_t *json, FILE *f, size_t flags)
{
	struct str text = STR_INIT;
	int rc;

	json_add(json, flags, &text);
	rc = text.failed || fputs(str_text(&text), f) < 0 ? -1 : 0;
	str_release(&text);
	return rc;
}

json_t *json_parse(const char *text, size_t len, struct err *e)
{
	json_error_t why;
	json_t *v;

	errno = 0;	/* malloc() says there why it fails */
	v = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!v && errno == ENOMEM) {
		err_set(e, ENOMEM, "no memory for %zu bytes", len);
		return NULL;
	}
	if (!v) {
		err_set(e, 0, "line %d, column %d: %s", why.line, why.column,
			why.text);
		return NULL;
	}
	if (!json_is_object(v)) {
		err_set(e, 0, "line 1: not a JSON object");
		json_decref(v);
		return NULL;
	}
	return v;
}

json_t *json_text_or_null(const char *text)
{
	return text && text[0] ? json_text(text) : json_null();
}

json_t *json_real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_int_or_null(int64_t v)
{
	return v >= 0 ? json_integer(v) : json_null();
}
