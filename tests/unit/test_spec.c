/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/spec/spec.h"

static const struct spec_option *option(const char *name)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (spec_is_called(o, name)) {
			return o;
		}
	}
	fail_msg("no option %s", name);
	return NULL;
}

static struct spec defaults(void)
{
	struct spec s;

	spec_init(&s);
	return s;
}

static void set(struct spec *s, const char *name, const char *text)
{
	struct err e = { 0 };

	if (spec_set(s, option(name), text, &e) < 0) {
		fail_msg("%s=%s: %s", name, text ? text : "", e.text);
	}
}

/** @text is refused, the option is named, and nothing has changed. */
static void refused(const char *name, const char *text)
{
	struct spec s = defaults(), before = s;
	struct err e = { 0 };

	assert_int_equal(spec_set(&s, option(name), text, &e), -1);
	assert_non_null(strstr(e.text, name));
	assert_memory_equal(&s, &before, sizeof(s));
}

static void test_defaults(void **state)
{
	struct spec s = defaults();

	(void)state;
	assert_string_equal(s.transport, "auto");
	assert_string_equal(s.pairs, "default");
	assert_int_equal(s.size_factor, 2);
	assert_int_equal(s.seed, 1);
	assert_int_equal(spec_boot_ns(&s), 30 * NS_PER_S);
	assert_int_equal(spec_boot_first_ns(&s, false), 30 * NS_PER_S);
	/* a step of Slurm may import an image first */
	assert_int_equal(spec_boot_first_ns(&s, true), 900 * NS_PER_S);
	s.boot_timeout_ns = 5 * NS_PER_S;
	assert_int_equal(spec_boot_ns(&s), 5 * NS_PER_S);
	assert_int_equal(spec_boot_first_ns(&s, true), 5 * NS_PER_S);
	s.start_timeout_ns = 7 * NS_PER_S;
	assert_int_equal(spec_boot_ns(&s), 5 * NS_PER_S);
	assert_int_equal(spec_boot_first_ns(&s, false), 7 * NS_PER_S);
	assert_int_equal(spec_boot_first_ns(&s, true), 7 * NS_PER_S);
	assert_int_equal(s.silence_ns, 15 * NS_PER_S);
	assert_true(s.check);
	assert_int_equal(spec_check(&s, NULL), 0);
}

static void test_values(void **state)
{
	struct spec s = defaults();

	(void)state;
	set(&s, "nodes", "4");
	set(&s, "minbytes", "8");
	set(&s, "maxbytes", "64M");
	set(&s, "timeout", "1.5s");
	set(&s, "check", "0");
	set(&s, "strict", NULL);
	set(&s, "verbose", NULL);
	set(&s, "verbose", NULL);
	set(&s, "schedule", "serial");
	set(&s, "transport", "tcp");
	set(&s, "out", "somewhere");
	assert_int_equal(s.nodes, 4);
	assert_int_equal(s.size_begin_B, 8);
	assert_int_equal(s.size_end_B, 64 << 20);
	assert_int_equal(s.timeout_ns, 1500 * NS_PER_MS);
	assert_false(s.check);
	assert_true(s.strict);
	assert_int_equal(s.verbose, 2);
	assert_int_equal(s.schedule, SCHEDULE_SERIAL);
	assert_string_equal(s.transport, "tcp");
	assert_string_equal(s.out, "somewhere");
	assert_int_equal(spec_check(&s, NULL), 0);
}

static void test_refused_values(void **state)
{
	char longest[SPEC_PAIRS_MAX + 1];

	(void)state;
	memset(longest, '1', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	refused("pairs", longest);
	refused("nodes", "0");
	refused("nodes", "4097");
	refused("nodes", "four");
	refused("minbytes", "8Q");
	refused("minbytes", "0");
	refused("minbytes", "2T");
	refused("timeout", "3");
	refused("timeout", "0");
	refused("check", "2");
	refused("strict", "yes");
	refused("schedule", "nics");
	refused("transport", "TCP");
	refused("out", "");
	refused("stepfactor", "1");
}

static void test_nearest_word(void **state)
{
	struct spec s = defaults();
	struct err e = { 0 };

	(void)state;
	assert_int_equal(spec_set(&s, option("schedule"), "serail", &e), -1);
	assert_string_equal(e.hint, "did you mean 'serial'?");
}

static void test_local(void **state)
{
	static const char *const bad[] = { "0x3", "3x0", "2", "x", "2x", "x8",
					   "2x65", "4097x1", "-1x2", "2x8x2",
					   "2X8", " 2x8", NULL };
	struct spec s = defaults();

	(void)state;
	set(&s, "local", NULL);
	assert_true(s.local);
	assert_int_equal(s.local_nodes, 0);
	set(&s, "local", "2x8");
	assert_int_equal(s.local_nodes, 2);
	assert_int_equal(s.local_gpus, 8);
	for (int i = 0; bad[i]; i++) {
		refused("local", bad[i]);
	}
}

/** spec_check() refuses the options, given as name, value, ..., NULL. */
static void conflict(const char *const *pairs)
{
	struct spec s = defaults();
	struct err e = { 0 };

	for (int i = 0; pairs[i]; i += 2) {
		set(&s, pairs[i], pairs[i + 1]);
	}
	assert_true(spec_check(&s, &e) < 0 || spec_check_ranks(&s, &e) < 0);
	assert_true(e.text[0]);
}

#define CONFLICT(...) conflict((const char *const[]){ __VA_ARGS__, NULL })

static void test_conflicts(void **state)
{
	(void)state;
	CONFLICT("local", "2x8", "nodes", "2");
	CONFLICT("local", "2x8", "gpus-per-node", "2");
	CONFLICT("local", "2x8", "launcher", "sbatch");
	CONFLICT("local", "2x8", "no-wait", NULL);
	CONFLICT("local", "1x1");
	CONFLICT("nodes", "1", "gpus-per-node", "1");
	CONFLICT("nodes", "4096", "gpus-per-node", "16");
	CONFLICT("local", "4096x64");
	CONFLICT("minbytes", "16", "maxbytes", "8");
	CONFLICT("nodes", "3", "nodelist", "gcn[1-2]");
	CONFLICT("json", NULL, "csv", NULL);
	CONFLICT("node", NULL, "local", NULL);
	CONFLICT("node", NULL, "nodes", "2");
	CONFLICT("node", NULL, "launcher", "srun");
	CONFLICT("force-net", NULL, "transport", "tcp");
	CONFLICT("pxn", NULL, "transport", "sim");
	CONFLICT("contrast", "pxn", "transport", "tcp");
	CONFLICT("contrast", "pxn", "pxn", NULL);
	CONFLICT("contrast", "schedule", "schedule", "serial");
	CONFLICT("contrast", "memory", "memory", "gpu");
	CONFLICT("nccl-lib", "x", "transport", "sim");
	CONFLICT("no-wait", NULL, "launcher", "srun");
	CONFLICT("diagnose", NULL, "launcher", "env");
	CONFLICT("ssh", "h1", "nodes", "2");
	CONFLICT("production-settings", NULL, "transport", "cuda");
}

/** The options travel through run.json unchanged. */
static void round_trip(const struct spec *s, size_t keys)
{
	struct err e = { 0 };
	struct spec back;
	json_t *json = spec_json(s), *again;

	assert_non_null(json);
	assert_int_equal(json_object_size(json), keys);
	assert_int_equal(spec_from_json(&back, json, &e), 0);
	again = spec_json(&back);
	assert_true(json_equal(json, again));
	json_decref(again);
	json_decref(json);
}

/* An end alone: from the usual begin on, or, below it, that size. */
static void test_sizes_of_an_end_alone(void **state)
{
	int64_t sizes[SPEC_MAX_SIZES];
	struct spec s = defaults();

	(void)state;
	set(&s, "maxbytes", "32");
	assert_int_equal(spec_check(&s, NULL), 0);
	assert_int_equal(spec_sizes(&s, 8, 1 << 30, sizes), 3);
	assert_int_equal(sizes[0], 8);
	assert_int_equal(sizes[2], 32);
	assert_int_equal(spec_sizes(&s, 64, 64, sizes), 1);
	assert_int_equal(sizes[0], 32);
}

static void test_json_keeps_everything(void **state)
{
	struct spec s = defaults();

	(void)state;
	set(&s, "local", "3x5");
	set(&s, "timeout", "1.5s");
	set(&s, "max-time", "2m");
	set(&s, "minbytes", "1000");
	set(&s, "maxbytes", "64K");
	set(&s, "check", "0");
	set(&s, "verbose", "2");
	set(&s, "seed", "9223372036854775807");
	set(&s, "schedule", "parallel");
	set(&s, "transport", "sim");
	set(&s, "pairs", "0-9,n0:1-n1:1");
	set(&s, "strict", NULL);
	round_trip(&s, 12);
}

/** run.json of an earlier version has earlier names. */
static void test_json_takes_earlier_names(void **state)
{
	static const char text[] =
		"{\"max-time\":\"2m\",\"gentle\":\"1G\",\"faults\":\"drill\","
		"\"warmup_iters\":3,\"contrast\":\"pxn\",\"df\":true,"
		"\"timeout\":\"4s\",\"boot-timeout\":\"5s\","
		"\"budget\":\"3m\",\"lanes\":7}";
	json_t *old = json_loads(text, 0, NULL), *now;
	struct spec s = defaults();
	struct err e;

	(void)state;
	assert_int_equal(spec_from_json(&s, old, &e), 0);
	assert_int_equal(s.max_time_ns, 120 * NS_PER_S);
	assert_string_equal(s.faults, "drill");
	assert_int_equal(s.contrast, CONTRAST_PXN);
	assert_int_equal(s.warmup, 3);
	assert_int_equal(json_integer_value(spec_json_get(
				 old, spec_find("max-jobs"))), 7);
	now = spec_json(&s);
	assert_int_equal(json_object_size(now), 10);
	assert_string_equal(json_string_value(
				    json_object_get(now, "time-limit")), "2m");
	assert_null(json_object_get(now, "max-time"));
	json_decref(now);
	json_decref(old);
}

/** The longest list of pairs comes back as it is. */
static void test_json_keeps_a_long_value(void **state)
{
	struct spec s, back;
	struct err e;
	json_t *json;

	(void)state;
	spec_init(&s);
	for (size_t i = 0; i + 8 < sizeof(s.pairs); i += 4) {
		memcpy(s.pairs + i, "0-1,", 5);
	}
	s.pairs[strlen(s.pairs) - 1] = '\0';
	json = spec_json(&s);
	assert_non_null(json);
	assert_int_equal(spec_from_json(&back, json, &e), 0);
	assert_string_equal(back.pairs, s.pairs);
	json_decref(json);
}

static void test_json_local_without_value(void **state)
{
	struct spec s = defaults();
	json_t *json;

	(void)state;
	set(&s, "local", NULL);
	json = spec_json(&s);
	assert_true(json_is_true(json_object_get(json, "local")));
	json_decref(json);
	round_trip(&s, 1);
}

static void test_json_defaults_are_left_out(void **state)
{
	struct spec s = defaults();

	(void)state;
	round_trip(&s, 0);
}

static void test_json_refused(void **state)
{
	static const char *const bad[] = {
		"[]", "{\"nods\":2}", "{\"nodes\":\"2\"}", "{\"nodes\":0}",
		"{\"nodes\":2.5}", "{\"strict\":1}", "{\"minbytes\":8}",
		"{\"transport\":null}", "{\"transport\":\"telex\"}",
		"{\"local\":false}", "{\"verbose\":99}", NULL
	};
	struct spec s = defaults(), before = s;

	(void)state;
	for (int i = 0; bad[i]; i++) {
		json_t *json = json_loads(bad[i], 0, NULL);
		struct err e = { 0 };

		assert_non_null(json);
		assert_int_equal(spec_from_json(&s, json, &e), -1);
		assert_true(e.text[0]);
		assert_memory_equal(&s, &before, sizeof(s));
		json_decref(json);
	}
}

/** No letter and no name twice, in any command; every row is complete. */
static void test_table(void **state)
{
	(void)state;
	assert_non_null(spec_options[0].heading);
	for (const struct spec_option *o = spec_options; o->name; o++) {
		assert_non_null(o->help);
		assert_int_equal(o->brief & ~o->commands, 0);
		assert_true(!spec_has_value(o) || o->words || spec_argh(o));
		assert_int_not_equal(o->commands, 0);
		assert_int_not_equal(o->size, 0);
		if (o->type == SPEC_CHOICE || o->type == SPEC_WORD) {
			assert_non_null(o->words);
		}
		for (const struct spec_option *p = o + 1; p->name; p++) {
			if (!(o->commands & p->commands)) {
				/* -o is a directory or a file: one field */
				assert_true(strcmp(o->name, p->name) != 0 ||
					    o->offset == p->offset);
				continue;
			}
			assert_string_not_equal(o->name, p->name);
			assert_true(!o->letter || o->letter != p->letter);
		}
	}
}

static void words_are_those_of_a_shell(void **state)
{
	static const struct {
		const char *text;
		const char *words[4];
		bool open;
	} cases[] = {
		{ .text = "" }, { .text = " \t\n " },
		{ .text = "a", .words = { "a" } },
		{ .text = " a  b ", .words = { "a", "b" } },
		{ .text = "a b c", .words = { "a", "b", "c" } },
		{ .text = "--x='a \\ \"b'", .words = { "--x=a \\ \"b" } },
		{ .text = "\"a '\\\" b\"c ''", .words = { "a '\" bc", "" } },
		{ .text = "a\\ b", .words = { "a b" } },
		{ .text = "'a", .open = true },
		{ .text = "a \"", .open = true },
		{ .text = "a\\", .open = true },
		{ .text = "\"a\\", .open = true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char **words = spec_words(cases[i].text);
		size_t n = 0;

		assert_int_equal(words == NULL, cases[i].open);
		for (; words && words[n]; n++) {
			assert_string_equal(words[n], cases[i].words[n]);
		}
		assert_null(cases[i].words[n]);
		free(words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_refused_values),
		cmocka_unit_test(test_nearest_word),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_sizes_of_an_end_alone),
		cmocka_unit_test(test_json_keeps_everything),
		cmocka_unit_test(test_json_takes_earlier_names),
		cmocka_unit_test(test_json_keeps_a_long_value),
		cmocka_unit_test(test_json_local_without_value),
		cmocka_unit_test(test_json_defaults_are_left_out),
		cmocka_unit_test(test_json_refused),
		cmocka_unit_test(test_table),
		cmocka_unit_test(words_are_those_of_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
