/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/fixtures/logs: excerpts of public logs with the answer of their
 * threads.  How many are answered right?
 * tests/fixtures/messages.tsv: classes of messages in the sources of other
 * programs.  How many are known?
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/explain/explain.h"

#define FOLDER "tests/fixtures/logs"
#define MESSAGES "tests/fixtures/messages.tsv"

enum score { RIGHT, PARTLY, SILENT, WRONG, SCORES };
static const char *const score_names[SCORES] = {
	"right", "partly", "silent", "wrong",
};

struct excerpt {
	char source[256];
	struct str right, partly, log;
};

/** Of one file, and of all. */
struct tally {
	size_t all, scores[SCORES];
};

static struct tally file_tally, tally;
static size_t unknown;

static bool in_list(const struct str *list, const char *code)
{
	return symptom_lists(list, code);
}

/** Is one of the blank-separated codes of @list met in @x? */
static bool any_met(const struct explain *x, const struct str *list)
{
	for (size_t i = 0; i < x->n; i++) {
		if (in_list(list, x->order[i]->symptom->code)) {
			return true;
		}
	}
	return false;
}

static enum score judge(const struct excerpt *c, const struct explain *x)
{
	const struct symptom *first = x->n > 0 ? x->order[0]->symptom : NULL;
	bool fault = explain_fault(x);

	if (first && in_list(&c->right, first->code)) {
		return RIGHT;
	}
	if (in_list(&c->right, "none") || in_list(&c->right, "unknown")) {
		return fault ? WRONG : RIGHT;
	}
	if (any_met(x, &c->right) ||
	    (first && in_list(&c->partly, first->code))) {
		return PARTLY;
	}
	return !first || first->effect == EFFECT_ECHO ||
			       first->effect == EFFECT_FACT ? SILENT : WRONG;
}

static void count_unknown(const struct excerpt *c)
{
	char text[256], *code, *rest = text;

	snprintf(text, sizeof(text), "%s", str_text(&c->right));
	while ((code = strsep(&rest, " "))) {
		if (strcmp(code, "none") != 0 && strcmp(code, "unknown") != 0 &&
		    !symptom_find(symptoms_builtin(), code)) {
			print_message("%s: no code '%s'\n", c->source, code);
			unknown++;
		}
	}
}

static void take(struct excerpt *c)
{
	struct explain x;
	enum score s;

	if (!c->source[0]) {
		return;
	}
	assert_int_equal(explain_begin(&x, symptoms_builtin(), NULL), 0);
	explain_feed(&x, str_text(&c->log), c->log.len);
	explain_end(&x);
	s = judge(c, &x);
	file_tally.scores[s]++;
	file_tally.all++;
	count_unknown(c);
	if (getenv("V") && s != RIGHT) {
		print_message("%-6s %s, not %s: %s\n", score_names[s],
			      x.n ? x.order[0]->symptom->code : "nothing",
			      str_text(&c->right), c->source);
	}
	explain_release(&x);
	str_release(&c->right);
	str_release(&c->partly);
	str_release(&c->log);
	*c = (struct excerpt){ 0 };
}

static void print_tally(const char *name, const struct tally *t)
{
	print_message("%-14s %3zu excerpts: right %zu, partly %zu, silent %zu, "
		      "wrong %zu\n", name, t->all, t->scores[RIGHT],
		      t->scores[PARTLY], t->scores[SILENT], t->scores[WRONG]);
}

static void read_file(const char *name)
{
	struct excerpt c = { 0 };
	char path[256], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), FOLDER "/%.100s", name);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		const char *text = line[0] && line[1] ? line + 2 : "";

		line[strcspn(line, "\n")] = '\0';
		switch (line[0]) {
		case '@':
			take(&c);
			snprintf(c.source, sizeof(c.source), "%.250s", text);
			break;
		case '=':
			str_add(&c.right, text);
			break;
		case '~':
			str_add(&c.partly, text);
			break;
		case '>':
			str_addf(&c.log, "%s\n", text);
			break;
		default:
			assert_true(line[0] == '#' || line[0] == '\0');
		}
	}
	take(&c);
	fclose(f);
	print_tally(name, &file_tally);
	tally.all += file_tally.all;
	for (int i = 0; i < SCORES; i++) {
		tally.scores[i] += file_tally.scores[i];
	}
	file_tally = (struct tally){ 0 };
}

static void public_logs_are_explained(void **state)
{
	DIR *dir = opendir(FOLDER);
	struct dirent *entry;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && strcmp(dot, ".txt") == 0) {
			read_file(entry->d_name);
		}
	}
	closedir(dir);
	print_tally("all", &tally);
	assert_true(tally.all >= 120);
	assert_int_equal(unknown, 0);
	assert_int_equal(tally.scores[WRONG], 0);
	assert_true((tally.scores[RIGHT] + tally.scores[PARTLY]) * 100 >=
		    tally.all * 95);
}

/** Each class has the rule of its line; "-": none. */
static void messages_of_sources_are_known(void **state)
{
	FILE *f = fopen(MESSAGES, "re");
	char line[512], source[32] = "";
	size_t all = 0, known = 0, of[2] = { 0 };
	bool more;

	(void)state;
	assert_non_null(f);
	do {
		char *rest = line, *part[4] = { line, line, line, line };
		const struct symptom *s;
		const char *code;

		more = fgets(line, sizeof(line), f);
		if (!more) {
			line[0] = '\0';	/* prints the last source */
		}
		if (more && line[0] == '#') {
			continue;
		}
		for (int i = 0; more && i < 4; i++) {
			part[i] = strsep(&rest, i < 3 ? "\t" : "\n");
			assert_non_null(part[i]);
			assert_true(part[i][0]);
		}
		if (strcmp(source, part[0]) != 0 && of[1] > 0) {
			print_message("%-14s %3zu classes, %3zu known\n",
				      source, of[1], of[0]);
			all += of[1];
			known += of[0];
			of[0] = of[1] = 0;
		}
		snprintf(source, sizeof(source), "%.31s", part[0]);
		s = symptom_match(symptoms_builtin(), part[2],
				  strlen(part[2]));
		code = s ? s->code : "-";
		if (more && strcmp(code, part[1]) != 0) {
			fail_msg("%s: '%s' is %s, not %s", part[0], part[2],
				 code, part[1]);
		}
		of[0] += s != NULL;
		of[1] += more;
	} while (more);
	fclose(f);
	print_message("%-14s %3zu classes, %3zu known\n", "all", all, known);
	assert_true(all >= 290 && known * 100 >= all * 78);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(public_logs_are_explained),
		cmocka_unit_test(messages_of_sources_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
