/* SPDX-License-Identifier: BSD-3-Clause */
/* run.json as the front end writes it before and after a run. */
#include "cli/front/ahead.h"

#include "lib/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/options.h"
#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "probes/probe.h"

#define NONCE_BYTES 16
#define MAX_EXPECT 64

/** Returns argv as JSON; a word that is not UTF-8 becomes null. */
static json_t *words_json(char *const *words)
{
	json_t *array = json_array();

	for (int i = 0; words[i]; i++) {
		json_t *word = json_string(words[i]);

		json_array_append_new(array, word ? word : json_null());
	}
	return array;
}

/** Returns run.json of the directory that the variable @env names; NULL:
 *  none. */
static json_t *read_whole(const char *env)
{
	const char *dir = getenv(env);

	return dir && *dir ? rundir_read_json(dir, RUN_JSON, NULL) : NULL;
}

/** Return the facts about this shell that the probe needs, or those of the
 *  whole run that this is a step of; NULL: none. */
static json_t *shell_json(const struct session *s, const char *name,
			  const char *launcher)
{
	/* the first step of all is about limits */
	const struct probe *probe =
		probe_find(strcmp(name, "all") == 0 ? "memlock" : name);
	json_t *whole, *rows;

	if (!probe || !probe->shell) {
		return NULL;
	}
	whole = read_whole(STEP_SHELL_ENV);
	rows = json_incref(run_file(whole).shell);
	json_decref(whole);
	return rows ? rows : probe->shell(launcher, &s->spec);
}

/** Returns what earlier steps of "all" found out; NULL: nothing. */
static json_t *expect_json(void)
{
	const char *text = getenv(STEP_EXPECT_ENV);
	json_t *list = text && *text ? json_array() : NULL;

	for (int n = 0; list && *text && n < MAX_EXPECT; n++) {
		char line[400];
		int len = (int)strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", len, text);
		json_array_append_new(list, json_text(line));
		text += len + (text[len] == '\n');
	}
	return list;
}

/** Draws a new nonce for the run, which tells its files from leftovers of an
 *  older run. */
static int draw_nonce(char hex[2 * NONCE_BYTES + 1], struct err *e)
{
	unsigned char nonce[NONCE_BYTES];

	if (hash_random(nonce, sizeof(nonce)) < 0) {
		return err_set(e, errno, "cannot get a random number");
	}
	hash_hex(nonce, sizeof(nonce), hex);
	return 0;
}

int run_json_resume(json_t *run, const struct session *s,
		    const struct spec *options, const char *launcher,
		    struct err *e)
{
	char hex[2 * NONCE_BYTES + 1], utc[CLOCK_UTC_SIZE];
	const struct run_file f = run_file(run);
	json_t *resumes = f.resumes, *argv, *now;

	if (draw_nonce(hex, e) < 0) {
		return -1;
	}
	if (!f.id[0]) {		/* written by a version without it */
		json_object_set_new(run, "id", json_string(f.nonce));
	}
	argv = words_json(s->argv);
	now = run_entry_json(&(struct run_entry){ RUN_ENTRY_NONE,
		.utc = clock_utc(utc), .argv = argv,
		.version = version_own(), .stopped = f.stop_reason });
	json_decref(argv);
	json_object_del(run, "ended_utc");
	json_object_del(run, "stop_reason");
	json_object_del(run, "error");
	json_object_del(run, "job_end");
	json_object_del(run, "measuring");
	if (!json_is_array(resumes)) {
		resumes = json_array();
		json_object_set_new(run, "resumes", resumes);
	}
	if (json_array_append_new(resumes, now) < 0 ||
	    json_object_set_new(run, "nonce", json_string(hex)) < 0 ||
	    json_object_set_new(run, "launcher", json_string(launcher)) < 0 ||
	    json_object_set_new(run, "options",
				options_json(s, options)) < 0) {
		return err_set(e, ENOMEM, "cannot write the options as JSON");
	}
	return 0;
}

json_t *run_json_new(const struct session *s, const char *probe,
		     const char *launcher, const char *drill, struct err *e)
{
	char hex[2 * NONCE_BYTES + 1], utc[CLOCK_UTC_SIZE];
	json_t *text = json_string(drill), *json = NULL, *whole;
	struct run_file f, of;

	if (draw_nonce(hex, e) < 0) {
		json_decref(text);
		return NULL;
	}
	/* the command line of the whole that this run is a step of */
	whole = read_whole(STEP_WHOLE_ENV);
	of = run_file(whole);
	f = (struct run_file){
		.probe = probe, .argv = words_json(s->argv),
		.version = version_own(), .nonce = hex, .id = hex,
		.options = options_json(s, &s->spec),
		.drill = drill[0] != '\0', .launcher = launcher,
		.started_utc = clock_utc(utc), .drill_text = drill,
		.shell = shell_json(s, probe, launcher),
		.expect = expect_json(),
		.whole = { .given = whole != NULL,
			   .argv = of.whole.given ? of.whole.argv : of.argv,
			   .options = of.whole.given ? of.whole.options :
						       of.options },
	};
	if (text && f.options && (json = run_file_json(&f))) {
		if (s->retest) {
			json_object_set(json, "retest", s->retest);
		}
	} else {
		err_set(e, 0, "cannot write the options as JSON");
		err_hint(e, "are the options and the drill file UTF-8 text?");
	}
	json_decref(f.argv);
	json_decref(f.options);
	json_decref(f.shell);
	json_decref(f.expect);
	json_decref(whole);
	json_decref(text);
	return json;
}

json_t *run_json_part(const json_t *whole, const struct spec *options,
		      struct err *e)
{
	char hex[2 * NONCE_BYTES + 1], utc[CLOCK_UTC_SIZE];
	const struct run_file f = run_file(whole);
	json_t *own = spec_json(options), *part = NULL;

	if (draw_nonce(hex, e) == 0) {
		part = run_file_json(&(struct run_file){
			.probe = f.probe, .argv = f.argv, .version = f.version,
			.nonce = hex, .options = own, .drill = f.drill,
			.launcher = f.launcher,
			.started_utc = clock_utc(utc) });
		if (!part || !own) {
			err_set(e, ENOMEM, "cannot write the options as JSON");
			json_decref(part);
			part = NULL;
		}
	}
	json_decref(own);
	return part;
}

bool run_json_error(const json_t *run, int *code, bool *absent, struct err *e)
{
	const struct run_file f = run_file(run);

	if (f.error.given) {
		*e = (struct err){ 0 };
		STR_COPY(e->text, f.error.text);
		STR_COPY(e->hint, f.error.hint);
		*code = f.error.exit ? f.error.exit : CODE_UNABLE;
	}
	if (f.error.given && absent) {
		*absent = f.error.absent;
	}
	return f.error.given;
}

bool run_json_failed(const char *dir, int *code, bool *absent, struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	const bool failed = run_json_error(run, code, absent, e);

	json_decref(run);
	return failed;
}

int run_json_note(const char *dir, const struct run_file *f, struct err *e)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, e);
	json_t *more = run_file_json(f);
	int rc = -1;

	if (run && more && json_object_update(run, more) == 0) {
		rc = rundir_write_json(dir, RUN_JSON, run, e);
	} else if (run) {
		err_set(e, ENOMEM, "cannot write '%s'", RUN_JSON);
	}
	json_decref(more);
	json_decref(run);
	return rc;
}
