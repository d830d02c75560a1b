/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of messages: what fits it, and that docs/dev/protocol.md shows it.
 * UPDATE=1 in the environment writes that page anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "probes/collective/collective.h"
#include "probes/engine/net/message.h"

#define PAGE	"docs/dev/protocol.md"
#define SECTION "## Messages\n"

/* ---- the page ----------------------------------------------------------- */

static void add_ways(struct str *out, unsigned ways)
{
	static const char *const names[] = {
		"agent → coordinator", "coordinator → agent",
		"worker → agent", "agent → worker",
	};
	const char *comma = "";

	for (int i = 0; i < 4; i++) {
		if (ways & 1u << i) {
			str_addf(out, "%s%s", comma, names[i]);
			comma = ", ";
		}
	}
}

static void add_table(struct str *out, const char *of,
		      const struct field *fields)
{
	if (of != NULL) {
		str_addf(out, "\n`%s`:\n", of);
	}
	str_add(out, "\n| field | value | |\n|---|---|---|\n");
	for (const struct field *f = fields; f->name != NULL; f++) {
		str_addf(out, "| %s | ", f->name);
		schema_add_limits(f, out);
		str_addf(out, " | %s |\n", f->help);
	}
	for (const struct field *f = fields; f->name != NULL; f++) {
		if (f->places != NULL) {
			add_table(out, f->name, f->places);
		}
	}
}

static void make_section(struct str *out)
{
	str_add(out, SECTION);
	for (int i = 0; i < MESSAGE_TYPES; i++) {
		const struct message *m = &messages[i];

		str_addf(out, "\n### %s\n\n%s\n\n", m->name, m->what);
		add_ways(out, m->ways);
		str_add(out, "\n");
		if (m->fields != NULL) {
			add_table(out, NULL, m->fields);
		}
	}
}

static void the_page_shows_the_table(void **state)
{
	static char text[1 << 16];
	struct str section = STR_INIT;
	FILE *page = fopen(PAGE, "r");
	size_t n;
	char *at;

	(void)state;
	assert_non_null(page);
	n = fread(text, 1, sizeof(text) - 1, page);
	text[n] = '\0';
	fclose(page);
	at = strstr(text, SECTION);
	assert_non_null(at);
	make_section(&section);
	if (getenv("UPDATE") != NULL) {
		page = fopen(PAGE, "w");
		assert_non_null(page);
		fprintf(page, "%.*s%s", (int)(at - text), text,
			str_text(&section));
		fclose(page);
	} else {
		assert_string_equal(at, str_text(&section));
	}
	str_release(&section);
}

/* ---- what fits ---------------------------------------------------------- */

static int check(const char *text, enum message_way way)
{
	json_t *msg = json_loads(text, 0, NULL);
	struct err e = { 0 };
	int rc;

	assert_non_null(msg);
	rc = message_check(msg, way, &e);
	assert_true((rc < 0) == (e.text[0] != '\0'));
	json_decref(msg);
	return rc;
}

static void what_does_not_fit_is_refused(void **state)
{
	static const struct {
		int fits;
		enum message_way way;
		const char *text;
	} cases[] = {
		{ 1, MSG_TO_AGENT, "{\"t\":\"kill\",\"rank\":3}" },
		{ 1, MSG_TO_AGENT, "{\"t\":\"kill\",\"rank\":3,\"new\":1}" },
		{ 0, MSG_TO_AGENT, "{\"t\":\"explode\",\"rank\":3}" },
		{ 0, MSG_TO_AGENT, "{\"t\":7}" },
		{ -1, MSG_TO_WORKER, "{\"t\":\"kill\",\"rank\":3}" },
		{ -1, MSG_TO_COORDINATOR, "{\"t\":\"kill\",\"rank\":3}" },
		{ -1, MSG_TO_AGENT, "{\"t\":\"kill\"}" },
		{ -1, MSG_TO_AGENT, "{\"t\":\"kill\",\"rank\":null}" },
		{ -1, MSG_TO_AGENT, "{\"t\":\"kill\",\"rank\":\"3\"}" },
		{ -1, MSG_TO_AGENT, "{\"t\":\"kill\",\"rank\":3.5}" },
		{ -1, MSG_TO_AGENT, "{\"t\":\"kill\",\"rank\":-1}" },
		{ -1, MSG_TO_AGENT, "{\"t\":\"kill\",\"rank\":9999999}" },
		/* a list of bytes is none of values */
		{ -1, MSG_FROM_WORKER,
		  "{\"t\":\"done\",\"reports\":[\"80\"]}" },
		{ 1, MSG_TO_AGENT, "{\"t\":\"welcome\",\"why\":\"\","
		  "\"version\":null}" },
		{ -1, MSG_TO_AGENT, "{\"t\":\"welcome\",\"why\":\"\","
		  "\"version\":1}" },
		{ 1, MSG_TO_COORDINATOR,
		  "{\"t\":\"event\",\"event\":\"e\",\"detail\":\"\"}" },
		{ -1, MSG_TO_COORDINATOR,
		  "{\"t\":\"event\",\"detail\":\"\",\"event\":"
		  "\"a word that is longer than the 47 bytes of an event\"}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (check(cases[i].text, cases[i].way) != cases[i].fits) {
			fail_msg("%s", cases[i].text);
		}
	}
}

static void nothing_else_is_built(void **state)
{
	json_t *msg = message_new(MSG_CANCEL, "{s:i,s:i}", "id", 4, "rank", 2);

	(void)state;
	assert_int_equal(message_type(msg), MSG_CANCEL);
	assert_int_equal(message_check(msg, MSG_TO_WORKER, NULL), 1);
	json_decref(msg);
	assert_null(message_new(MSG_CANCEL, "{s:i}", "rank", 2));
	assert_null(message_new(MSG_CANCEL, "{s:i,s:i}", "id", -4, "rank", 2));
	assert_null(message_of(MSG_CANCEL, NULL));
	msg = message_new(MSG_QUIT, NULL);
	assert_int_equal(message_type(msg), MSG_QUIT);
	json_decref(msg);
}

/* The limits of a collective order are those of the struct it is read into. */
static void an_order_has_one_limit_per_field(void **state)
{
	const struct collective_order o = {
		.ranks = 2, .nodes = 1, .factor = 2, .slow_factor = 1,
		.dtype = dtypes, .redop = redops,
	};
	json_t *msg = message_of(MSG_COLLECTIVE, collective_order_json(&o));
	struct err e = { 0 };

	(void)state;
	assert_int_equal(message_check(msg, MSG_TO_WORKER, &e), 1);
	json_object_set_new(msg, "drill",
			    json_integer(XPORT_DRILL_CORRUPT + 1));
	assert_int_equal(message_check(msg, MSG_TO_WORKER, &e), -1);
	assert_non_null(strstr(e.text, "'drill' is 5, not within 0 to 4"));
	json_object_set_new(msg, "drill", json_integer(0));
	json_object_set_new(msg, "dtype", json_string("int7"));
	assert_int_equal(message_check(msg, MSG_TO_WORKER, &e), -1);
	assert_non_null(strstr(e.text, "'dtype' is 'int7'"));
	json_decref(msg);
}

static void the_table_makes_sense(void **state)
{
	(void)state;
	for (int i = 0; i < MESSAGE_TYPES; i++) {
		const struct message *m = &messages[i];

		assert_non_null(m->name);
		assert_non_null(m->what);
		assert_true(m->ways > 0 && m->ways < 16);
		for (int k = 0; k < i; k++) {
			assert_string_not_equal(m->name, messages[k].name);
		}
		for (const struct field *f = m->fields;
		     f != NULL && f->name != NULL; f++) {
			assert_non_null(f->help);
			assert_true(f->kind != FIELD_INT || f->max > f->min);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_shows_the_table),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(nothing_else_is_built),
		cmocka_unit_test(an_order_has_one_limit_per_field),
		cmocka_unit_test(the_table_makes_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
