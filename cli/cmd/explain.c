/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/exit_code.h"
#include "cli/front/screen.h"
#include "cli/front/talk.h"
#include "report/explain/explain.h"

#define MAX_CODES 1024

static void print_json(json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(1));
	json_decref(json);
	putchar('\n');
}

/** The nearest code, for a typing error; NULL when none is near. */
static const char *nearest_code(const char *word)
{
	const struct symptoms *all = symptoms_builtin();
	const char *codes[MAX_CODES + 1];
	size_t n = all->n < MAX_CODES ? all->n : MAX_CODES;

	for (size_t i = 0; i < n; i++) {
		codes[i] = all->list[i].code;
	}
	codes[n] = NULL;
	return str_nearest(word, codes);
}

static int explain_code(const struct session *s, const char *code)
{
	const struct symptom *x = symptom_find(symptoms_builtin(), code);
	struct str out = STR_INIT;
	const char *nearest;
	struct err e;

	if (!x) {
		nearest = nearest_code(code);
		err_set(&e, 0, "'%s' is neither a file nor a code", code);
		if (nearest) {
			err_hint(&e, "did you mean '%s'?", nearest);
		} else {
			err_hint(&e, "gpucheck-explain(1) lists the codes; '-' "
				 "reads from standard input");
		}
		return talk_fail(&e, CODE_USAGE);
	}
	if (s->spec.json) {
		print_json(explain_code_json(x));
	} else {
		explain_code_words(x, screen_width(STDOUT_FILENO),
				   screen_color(&s->spec), &out);
		screen_print(&out, stdout);
	}
	str_release(&out);
	return CODE_HEALTHY;
}

static void show(const struct session *s, const struct explain *x,
		 const char *name)
{
	struct str out = STR_INIT;

	if (s->spec.json) {
		print_json(explain_json(x, name));
	} else if (s->spec.csv) {
		explain_csv(x, &out);
	} else if (!s->spec.quiet) {
		explain_words(x, name, screen_width(STDOUT_FILENO),
			      screen_color(&s->spec), &out);
	}
	screen_print(&out, stdout);
	str_release(&out);
}

static int explain_log(const struct session *s, FILE *f, const char *name)
{
	struct err e = { 0 };
	struct explain x;
	int code;

	if (explain_begin(&x, symptoms_builtin(), &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	if (explain_file(&x, f, &e) < 0) {
		code = talk_fail(&e, CODE_UNABLE);
	} else {
		code = explain_fault(&x) ? CODE_FAULT : CODE_HEALTHY;
		show(s, &x, name);
	}
	explain_release(&x);
	return code;
}

static int run_explain(struct session *s)
{
	const char *what = s->args[0];
	struct err e = { 0 };
	struct stat st;
	FILE *f;
	int code;

	if (strcmp(what, "-") == 0) {
		return explain_log(s, stdin, "standard input");
	}
	f = fopen(what, "re");
	if (!f && errno == ENOENT) {
		return explain_code(s, what);
	}
	if (!f) {
		err_set(&e, errno, "cannot read '%s'", what);
	} else if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
		err_set(&e, EISDIR, "cannot read '%s'", what);
		err_hint(&e, "a run directory is for \"gpucheck report\"; name "
			 "one of its logs");
		fclose(f);
		f = NULL;
	}
	if (!f) {
		return talk_fail(&e, CODE_UNABLE);
	}
	code = explain_log(s, f, what);
	fclose(f);
	return code;
}

static const char *const examples[] = {
	"gpucheck explain train-1234.err",
	"dmesg | gpucheck explain -",
	"gpucheck explain memlock_cq",
	NULL
};

const struct command cmd_explain = {
	.name = "explain",
	.summary = "Explain the messages of a log, or a code.",
	.usage = "[OPTION...] FILE|-|CODE",
	.examples = examples,
	.takes = SPEC_CMD_EXPLAIN,
	.min_args = 1,
	.needs = "a file or a code",
	.max_args = 1,
	.run = run_explain,
};
