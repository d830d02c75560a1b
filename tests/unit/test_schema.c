/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/data/schema.h"

struct thing {
	int port;
	double GB_s;
	char name[8];
	uint8_t key[2];
};

static const struct field fields[] = {
	FIELD(thing, port, "port", INT, 1, 65535, "a port"),
	FIELD(thing, GB_s, "GB_s", REAL, 0, 1000, "a rate",
	      .optional = FIELD_NULL),
	FIELD(thing, name, "name", TEXT, 0, 0, "a name",
	      .optional = FIELD_OMITTED),
	FIELD(thing, key, "key", HEX, 0, 0, "a key"),
	{ .name = NULL },
};

/* What schema_read() says of @text: "" where it takes it into @t. */
static const char *reads(const char *text, struct thing *t)
{
	static struct err e;
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

	e.text[0] = '\0';
	if (schema_read(fields, t, json, &e) == 0) {
		e.text[0] = '\0';
	} else {
		assert_true(e.text[0] != '\0');
	}
	json_decref(json);
	return e.text;
}

static void members_travel_both_ways(void **state)
{
	struct thing t = { .GB_s = NAN };
	json_t *json;
	char *text;

	(void)state;
	assert_string_equal(reads("{\"port\": 7, \"key\": \"00ff\"}", &t), "");
	assert_int_equal(t.port, 7);
	assert_true(isnan(t.GB_s));
	assert_int_equal(t.key[1], 255);
	json = schema_json(fields, &t);
	text = json_dumps(json, JSON_COMPACT);
	assert_string_equal(text, "{\"port\":7,\"GB_s\":null,"
				  "\"key\":\"00ff\"}");
	assert_string_equal(reads(text, &t), "");
	free(text);
	json_decref(json);
}

static void a_required_member_must_be_there(void **state)
{
	struct thing t = { .port = 0 };

	(void)state;
	assert_true(*reads("{\"key\": \"00ff\"}", &t));
	assert_true(*reads("{\"port\": null, \"key\": \"00ff\"}", &t));
	assert_true(*reads("{\"port\": 0, \"key\": \"00ff\"}", &t));
	assert_true(*reads("{\"port\": 1, \"key\": \"00f\"}", &t));
}

static void what_is_no_object_is_refused(void **state)
{
	struct thing t = { .port = 0 };

	(void)state;
	assert_int_equal(schema_read(fields, &t, NULL, NULL), -1);
	assert_true(*reads("null", &t));
	assert_true(*reads("[7]", &t));
}

struct part {
	const char *name;
	int64_t index;
};

struct whole {
	bool given;
	struct part part, parts[2], *more;
	double *levels;
	size_t n_parts, n_more, n_levels;
};

static const struct part part_usual = { .index = -1 };

static const struct field part_fields[] = {
	FIELD(part, name, "name", LINK, 0, 0, "of the part"),
	FIELD(part, index, "index", INT, 0, 9, "a number",
	      .optional = FIELD_OMITTED),
	{ 0 }
};

static const struct field whole_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 2 },
	FIELD_PART(whole, part, "part", part_fields, "a part",
		   FIELD_GIVEN(whole, given), .optional = FIELD_OMITTED),
	FIELD_ROWS(whole, parts, n_parts, "parts", part_fields, 0, "parts"),
	FIELD_ROWS(whole, more, n_more, "more", part_fields, 3, "more",
		   .usual = &part_usual),
	FIELD_LIST(whole, levels, n_levels, "levels", REALS, 0, 9, "levels",
		   .most = 2),
	{ 0 }
};

static const char whole_text[] =
	"{\"schema\":2,\"part\":{\"name\":\"a\",\"index\":1},"
	"\"parts\":[{\"name\":\"b\",\"index\":0}],"
	"\"more\":[{\"name\":\"c\"},{\"name\":\"d\",\"index\":9}],"
	"\"levels\":[1.5,null]}";

/* Read @text and write it again; "" where it is refused. */
static const char *copy_whole(const char *text, struct err *e)
{
	static char copy[256];
	struct whole w = { .n_parts = 0 };
	json_t *json = json_loads(text, 0, NULL), *back = NULL;
	char *out = NULL;

	if (schema_read(whole_fields, NULL, json, e) == 0 &&
	    schema_read(whole_fields, &w, json, e) == 0) {
		back = schema_json(whole_fields, &w);
		out = json_dumps(back, JSON_COMPACT);
	}
	snprintf(copy, sizeof(copy), "%s", out ? out : "");
	schema_release(whole_fields, &w);
	assert_null(w.more);
	json_decref(back);
	json_decref(json);
	free(out);
	return copy;
}

static void tables_nest(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_string_equal(copy_whole(whole_text, &e), whole_text);
	assert_string_equal(copy_whole("{\"schema\":2,\"parts\":[],"
				       "\"more\":[],\"levels\":[]}", &e),
			    "{\"schema\":2,\"parts\":[],\"more\":[],"
			    "\"levels\":[]}");
}

static void nested_tables_have_limits(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "{\"schema\":3}",
		  "format 3, written by a later version of gpucheck" },
		{ "{\"schema\":2,\"part\":7}",
		  "'part': there is no object with 'name'" },
		{ "{\"schema\":2,\"parts\":[{},{},{}]}",
		  "'parts' has 3 entries, more than 2" },
		{ "{\"schema\":2,\"parts\":[],\"more\":[{\"name\":\"a\"},"
		  "{\"name\":\"b\",\"index\":10}]}",
		  "entry 2 of 'more': 'index' is 10, not within 0 to 9" },
		{ "{\"schema\":2,\"parts\":[],\"more\":[],\"levels\":[10]}",
		  "entry 1 of 'levels': not a number from 0 to 9" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = { 0 };

		assert_string_equal(copy_whole(bad[i].text, &e), "");
		assert_string_equal(e.text, bad[i].why);
	}
}

static void a_look_takes_what_it_can(void **state)
{
	struct whole w = { .part.index = -1 };
	json_t *json = json_loads("{\"part\":{\"name\":7,\"index\":10},"
				  "\"parts\":7,\"levels\":[1]}", 0, NULL);

	(void)state;
	schema_look(whole_fields, &w, json);
	assert_true(w.given);
	assert_string_equal(w.part.name, "");
	assert_int_equal(w.part.index, -1);
	assert_int_equal(w.n_parts, 0);
	assert_int_equal(w.n_levels, 1);
	schema_release(whole_fields, &w);
	schema_look(whole_fields, &w, NULL);
	assert_string_equal(w.part.name, "");
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_travel_both_ways),
		cmocka_unit_test(a_required_member_must_be_there),
		cmocka_unit_test(what_is_no_object_is_refused),
		cmocka_unit_test(tables_nest),
		cmocka_unit_test(nested_tables_have_limits),
		cmocka_unit_test(a_look_takes_what_it_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
