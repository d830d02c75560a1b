/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck explain: explain a code, or the messages in log files. */
#include "cli/front/help.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/talk.h"
#include "lib/base/err.h"
#include "lib/base/input.h"
#include "lib/data/json.h"
#include "report/explain/explain.h"

#define MAX_CODES 1024
/** As deep as torchrun has its logs. */
#define FOLDERS_MAX 4
/** Bytes of a log that comes by a pipe; more is an error. */
#define PIPE_MAX ((size_t)1 << 30)

static void print_json(json_t *json)
{
	json_print(json, stdout, JSON_INDENT(1));
	json_decref(json);
	putchar('\n');
}

static int explain_code(const struct session *s, const char *code)
{
	const struct symptoms *all = symptoms_builtin();
	const struct symptom *x = symptom_find(all, code);
	const char *codes[MAX_CODES + 1], *nearest;
	size_t n = all->n < MAX_CODES ? all->n : MAX_CODES;
	struct str out = STR_INIT;
	struct err e;

	if (!x) {
		for (size_t i = 0; i < n; i++) {
			codes[i] = all->list[i].code;
		}
		codes[n] = NULL;
		nearest = str_nearest(code, codes);
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

/** Name of a message that is an argument. */
#define MESSAGE "the message"

/** Return true if @arg is no file, but has several words: a message. */
static bool is_message(const char *arg)
{
	return strpbrk(arg, " \n") && strcmp(arg, "-") != 0 &&
	       access(arg, F_OK) < 0 && errno == ENOENT;
}

/** One log, named @name, or a message; 0, or -1 with @e. */
static int read_log(struct explain *x, const char *name, struct err *e)
{
	FILE *f;
	int rc;

	if (is_message(name)) {
		f = fmemopen((void *)name, strlen(name), "r");
		name = MESSAGE;
		if (!f) {
			err_set(e, errno, "cannot read " MESSAGE);
		}
	} else {
		f = input_open("log", name, PIPE_MAX, e);
	}

	if (!f) {
		return -1;
	}
	rc = explain_file(x, strcmp(name, "-") ? name : EXPLAIN_STDIN, f, e);
	fclose(f);
	return rc;
}

/** All logs in the folder @path and those in it, by name. */
static int read_folder(struct explain *x, const char *path, int depth,
		       struct err *e)
{
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, versionsort), rc = 0;

	if (n < 0) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	for (int i = 0; i < n; i++) {
		struct str name = STR_INIT;
		struct stat st;

		str_addf(&name, "%s/%s", path, entries[i]->d_name);
		if (rc < 0 || entries[i]->d_name[0] == '.' ||
		    lstat(str_text(&name), &st) < 0) {
			/* not for us */
		} else if (S_ISDIR(st.st_mode) && depth > 0) {
			rc = read_folder(x, str_text(&name), depth - 1, e);
		} else if (S_ISREG(st.st_mode)) {
			rc = read_log(x, str_text(&name), e);
			if (rc < 0 && e->code == 0) {	/* a damaged dump */
				explain_refuse(x, str_text(&name), e);
				rc = 0;
			}
		}
		str_release(&name);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/** A file, a folder of files, or "-". */
static int read_any(struct explain *x, const char *what, struct err *e)
{
	char run[PATH_MAX];
	struct stat st;

	if (strcmp(what, "-") == 0 || stat(what, &st) < 0 ||
	    !S_ISDIR(st.st_mode)) {
		return read_log(x, what, e);
	}
	snprintf(run, sizeof(run), "%s/run.json", what);
	if (access(run, F_OK) == 0) {
		err_set(e, EISDIR, "cannot read '%s'", what);
		return err_hint(e, "a run directory is for \"gpucheck "
				"report\"; name one of its logs");
	}
	return read_folder(x, what, FOLDERS_MAX, e);
}

static int run_explain(struct session *s)
{
	struct str out = STR_INIT;
	struct err e = { 0 };
	struct explain x;
	char files[64];
	const char *name = files;
	int code, rc = 0;

	if (s->n_args == 1 && strcmp(s->args[0], "-") != 0 &&
	    !is_message(s->args[0]) && access(s->args[0], F_OK) < 0 &&
	    errno == ENOENT) {
		return explain_code(s, s->args[0]);
	}
	if (explain_begin(&x, symptoms_builtin(), &e) < 0) {
		return talk_fail(&e, CODE_UNABLE);
	}
	for (int i = 0; i < s->n_args && rc == 0; i++) {
		rc = read_any(&x, s->args[i], &e);
	}
	explain_end(&x);
	if (rc < 0) {
		explain_release(&x);
		return talk_fail(&e, CODE_UNABLE);
	}
	if (s->n_args == 1 && x.n == 0 && is_message(s->args[0])) {
		/* or the name of a file that is not there */
		explain_release(&x);
		err_set(&e, 0, "'%.200s' is neither a file nor a known "
			"message", s->args[0]);
		err_hint(&e, "a message from its beginning, or the whole log, "
			 "says more");
		return talk_fail(&e, CODE_USAGE);
	}
	code = explain_fault(&x) ? CODE_FAULT : CODE_HEALTHY;
	snprintf(files, sizeof(files), "%zu files", x.n_files);
	if (x.n_files == 1) {
		name = str_text(&x.files[0]);
	}
	if (s->spec.json) {
		print_json(explain_json(&x, name));
	} else if (s->spec.csv) {
		explain_csv(&x, &out);
	} else if (!s->spec.quiet) {
		explain_words(&x, name, screen_width(STDOUT_FILENO),
			      screen_color(&s->spec), &out);
	}
	screen_print(&out, stdout);
	str_release(&out);
	explain_release(&x);
	return code;
}

static const char *const examples[] = {
	"gpucheck explain train-1234.err",
	"gpucheck explain logs/*.err",
	"dmesg | gpucheck explain -",
	"gpucheck explain memlock_cq",
	"gpucheck explain 'Call to ibv_create_cq failed'",
	NULL
};

const struct command cmd_explain = {
	.name = "explain",
	.summary = "Explain the messages of a log, or a code.",
	.usage = "[OPTION...] FILE|FOLDER|-|CODE|MESSAGE ...",
	.examples = examples,
	.takes = SPEC_CMD_EXPLAIN,
	.min_args = 1,
	.needs = "a file or a code",
	.max_args = INT_MAX,
	.run = run_explain,
};
