/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_travel_both_ways),
		cmocka_unit_test(a_required_member_must_be_there),
		cmocka_unit_test(what_is_no_object_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
