/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck history: show results and trends of past runs. */
#include "cli/front/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/show.h"
#include "cli/front/talk.h"
#include "lib/base/err.h"
#include "lib/data/hosts.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/history/history.h"

/** Words of a part: "n7 NIC 2" may be typed without quotes. */
#define PART_WORDS 6

/** The request and the part of the history that it selects. */
struct asked {
	char dir[PATH_MAX];
	struct str part;	/* "" = none */
	struct store_runs runs;
	struct history h;
	struct coverage c;	/* of --coverage */
};

static int read_runs(const struct session *s, struct asked *a, struct err *e)
{
	const size_t last = s->spec.coverage ? STORE_RUNS :
					       (size_t)s->spec.last;
	const bool typed = s->spec.nodelist[0] != '\0';
	char **nodes;
	size_t n = 0;
	int rc;

	if (store_read(a->dir, last, s->spec.drills, &a->runs, e) < 0) {
		return err_hint(e, "runs with --history make it; --history=DIR "
				   "names another one");
	}
	if (a->runs.unread > 0) {
		talk("not read: %s", a->runs.why);
	}
	if (a->runs.old > 0 && a->runs.n == 0) {
		talk_hint("\"gpucheck history --convert=%s\" adds the %zu "
			  "runs of an earlier version", a->dir, a->runs.old);
	}
	if (s->spec.coverage) {
		nodes = typed ? hostlist_expand(s->spec.nodelist, &n, e) : NULL;
		rc = typed && !nodes ? -1 :
		     coverage_make(a->runs.runs, a->runs.n, nodes, n, &a->c, e);
		hostlist_free(nodes, n);
		return rc;
	}
	if (history_make(a->runs.runs, a->runs.n, &a->h) < 0) {
		return err_set(e, 0, "no memory for the history");
	}
	a->h.dir = a->dir;
	a->h.part = a->part.len ? str_text(&a->part) : NULL;
	a->h.left_out = a->runs.left_out;
	a->h.no_result = a->runs.no_result;
	a->h.unread = a->runs.unread;
	a->h.verbose = s->spec.verbose > 0;
	return 0;
}

/** Take the summaries of an earlier version into the history; an exit code,
 *  with @e. */
static int convert(const struct session *s, struct err *e)
{
	struct store_runs old;
	char dir[PATH_MAX];
	int rc = store_read_old(s->spec.convert, &old, e);

	if (old.unread > 0) {
		talk("not read: %s", old.why);
	}
	if (rc == 0 && old.n == 0) {
		rc = err_set(e, 0, "'%s' has no summary of an earlier version",
			     s->spec.convert);
	}
	rc = rc == 0 ? history_dir(s->spec.history, true, dir, e) : rc;
	rc = rc == 0 ? store_append(dir, old.runs, old.n, e) : rc;
	if (rc == 0) {
		talk("%zu run%s taken into '%s', %zu could not be read",
		     old.n, old.n == 1 ? "" : "s", dir, old.unread);
	}
	store_release(&old);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}

/** Refuses a part that no run knows, unless there are no runs. */
static int check_part(const struct asked *a, struct err *e)
{
	for (size_t i = 0; i < a->h.n_parts; i++) {
		if (history_is(&a->h.parts[i], a->h.part)) {
			return 0;
		}
	}
	if (!a->h.part || a->h.n_runs == 0) {
		return 0;
	}
	err_set(e, 0, "no run of the history knows a part '%.100s'",
		a->h.part);
	return err_hint(e, "write it as in the table: gpucheck history n7 NIC "
			   "2, or the node alone");
}

static void show(const struct session *s, const struct asked *a)
{
	struct str text = STR_INIT;
	const struct wrap w = {
		.out = &text, .width = screen_width(STDOUT_FILENO),
		.color = screen_color(&s->spec),
	};
	json_t *json;

	if (s->spec.json) {
		json = s->spec.coverage ? coverage_json(&a->c) :
					  history_json(&a->h);
		json_print(json, stdout,
			   JSON_INDENT(1) | JSON_REAL_PRECISION(6));
		putchar('\n');
		json_decref(json);
	} else if (s->spec.csv) {
		if (s->spec.coverage) {
			coverage_csv(&a->c, &text);
		} else {
			history_csv(&a->h, &text);
		}
		fputs(str_text(&text), stdout);
	} else if (!s->spec.quiet) {
		if (s->spec.coverage) {
			coverage_words(&a->c, a->runs.left_out, time(NULL),
				       &w);
		} else {
			history_words(&a->h, &w);
		}
		screen_print(&text, stdout);
	}
	str_release(&text);
}

/** Picture and page into the new directory of -o; an exit code, with @e. */
static int draw(const struct session *s, const struct asked *a, struct err *e)
{
	char dir[PATH_MAX];

	if (!s->spec.out[0] || a->h.n_runs == 0) {
		return CODE_HEALTHY;
	}
	if (rundir_create(s->spec.out, "history", dir, e) < 0) {
		return e->code == ENOTEMPTY ? CODE_USAGE : CODE_UNABLE;
	}
	if (history_draw(dir, &a->h, e) != 0) {
		talk_err(e);	/* the page is whole without */
	}
	if (history_page(dir, &a->h, e) < 0) {
		return CODE_UNABLE;
	}
	talk("page: %s/" HISTORY_PICTURE ".html", dir);
	return CODE_HEALTHY;
}

static int run_history(struct session *s)
{
	struct asked a = { .part = STR_INIT };
	struct err e = { 0 };
	int code = CODE_HEALTHY;

	if (spec_check(&s->spec, &e) < 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	if (s->spec.coverage && (s->n_args > 0 || s->spec.out[0])) {
		err_set(&e, 0, "--coverage does not go with a part or --out");
		return talk_fail(&e, CODE_USAGE);
	}
	for (int i = 0; i < s->n_args; i++) {
		str_addf(&a.part, "%s%s", i ? " " : "", s->args[i]);
	}
	str_harmless_from(&a.part, 0, 0);
	if (s->spec.convert[0]) {
		code = convert(s, &e);
		code = code ? talk_fail(&e, code) : code;
	} else if (history_dir(s->spec.history, false, a.dir, &e) < 0 ||
	    read_runs(s, &a, &e) < 0) {
		code = talk_fail(&e, CODE_UNABLE);
	} else if (check_part(&a, &e) < 0) {
		code = talk_fail(&e, CODE_USAGE);
	} else {
		show(s, &a);
		code = draw(s, &a, &e);
		code = code ? talk_fail(&e, code) : code;
	}
	coverage_release(&a.c);
	history_release(&a.h);
	store_release(&a.runs);
	str_release(&a.part);
	return code;
}

static const char *const examples[] = {
	"gpucheck history",
	"gpucheck history n7 NIC 2",
	"gpucheck history -o page n7",
	"gpucheck history --coverage --nodelist='gpu[001-128]'",
	"gpucheck history --json --last=500 | jq '.nodes[] | select(.lemon)'",
	"gpucheck history --convert=OLD --history=/shared/gpucheck/history",
	NULL
};

const struct command cmd_history = {
	.name = "history",
	.summary = "Show parts that fail repeatedly, or get slower over time.",
	.usage = "[OPTION...] [PART]",
	.examples = examples,
	.takes = SPEC_CMD_HISTORY,
	.max_args = PART_WORDS,
	.run = run_history,
};
