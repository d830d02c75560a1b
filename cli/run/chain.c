/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/chain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "sbatch/args.h"

#define MAX_S (INT64_C(100) * 24 * 3600)
#define MAX_NUMBER 9999

static void free_words(char **words)
{
	for (char **w = words; w && *w; w++) {
		free(*w);
	}
	free(words);
}

void chain_release(struct chain *c)
{
	free_words(c->words);
	free_words(c->slurm);
	*c = (struct chain){ 0 };
}

/** NULL where one is no UTF-8: it would not be there. */
static json_t *words_json(char *const *words)
{
	json_t *list = json_array();

	for (; words && *words; words++) {
		if (json_array_append_new(list, json_string(*words)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

json_t *chain_json(const struct chain *c)
{
	return json_pack("{s:i, s:s, s:b, s:I, s:I, s:I, s:I, s:o, s:o}",
			 "schema", 1, "name", c->name, "timer", c->timer,
			 "every_s", (json_int_t)c->every_s, "max_time_s",
			 (json_int_t)c->max_time_s, "runs",
			 (json_int_t)c->runs, "until_s",
			 (json_int_t)c->until_s, "words",
			 words_json(c->words), "slurm", words_json(c->slurm));
}

static char **take_words(const json_t *obj, const char *key, struct err *e)
{
	json_t *list = json_get_array(obj, key, CHAIN_WORDS, e), *word;
	char **words;
	size_t i;

	if (!list) {
		return NULL;
	}
	words = calloc(json_array_size(list) + 1, sizeof(*words));
	json_array_foreach(list, i, word) {
		const char *text = json_string_value(word);

		if (words && text) {
			words[i] = strdup(text);
		}
		if (!words || !words[i]) {
			err_set(e, 0, "'%s' is no list of words", key);
			free_words(words);
			return NULL;
		}
	}
	return words;
}

/** What becomes the name of a job and of files. */
static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
				      "NOPQRSTUVWXYZ0123456789-_";

	return name[0] && name[0] != '-' && !name[strspn(name, allowed)];
}

static int take_all(struct chain *c, const json_t *obj, struct err *e)
{
	int64_t schema;

	if (json_get_int(obj, "schema", 1, 1, &schema, e) < 0 ||
	    json_get_text(obj, "name", c->name, sizeof(c->name), e) < 0 ||
	    json_get_bool(obj, "timer", &c->timer, e) < 0 ||
	    json_get_int(obj, "every_s", 1, MAX_S, &c->every_s, e) < 0 ||
	    json_get_int(obj, "max_time_s", 1, MAX_S, &c->max_time_s, e) < 0 ||
	    json_get_int(obj, "runs", 0, MAX_NUMBER, &c->runs, e) < 0 ||
	    json_get_int(obj, "until_s", 0, INT64_MAX, &c->until_s, e) < 0) {
		return -1;
	}
	if (!is_name(c->name)) {
		return err_set(e, 0, "'%s' is no name", c->name);
	}
	c->words = take_words(obj, "words", e);
	c->slurm = c->words ? take_words(obj, "slurm", e) : NULL;
	if (!c->slurm) {
		return -1;
	}
	return c->words[0] && c->words[1] ? 0 :
	       err_set(e, 0, "'words' names no command");
}

int chain_parse(const char *text, size_t len, struct chain *c, struct err *e)
{
	json_t *obj = json_parse(text, len, e);
	int rc;

	*c = (struct chain){ 0 };
	rc = obj ? take_all(c, obj, e) : -1;
	json_decref(obj);
	if (rc < 0) {
		chain_release(c);
	}
	return rc;
}

int chain_read(const char *dir, struct chain *c, struct err *e)
{
	size_t len = 0;
	struct err why = { 0 };
	char *text;
	int rc;

	*c = (struct chain){ 0 };
	text = rundir_read_text(dir, CHAIN_FILE, CHAIN_BYTES, &len, e);
	if (!text) {
		return err_hint(e, "it is the directory that \"gpucheck "
				   "watch\" made");
	}
	rc = chain_parse(text, len, c, &why);
	free(text);
	return rc == 0 ? 0 : err_set(e, 0, "'%s/%s': %s", dir, CHAIN_FILE,
				     why.text);
}

const char *chain_over(const struct chain *c, int64_t done, int64_t at_s)
{
	return (c->runs > 0 && done >= c->runs) || done >= MAX_NUMBER ?
		       "all runs of the watch are made" :
	       at_s > c->until_s ? "the time of the watch is over" : NULL;
}

/** The highest number of the names in DIR/@folder that are CHAIN_RUN and then
 *  @tail. */
static int64_t highest(const char *dir, const char *folder, const char *tail)
{
	DIR *d = rundir_folder(dir, folder);
	const struct dirent *entry;
	int64_t most = 0;
	int number, end;

	while (d && (entry = readdir(d))) {
		end = 0;
		if (sscanf(entry->d_name, CHAIN_RUN "%n", &number, &end) == 1 &&
		    end > 0 && strcmp(entry->d_name + end, tail) == 0 &&
		    number > most) {
			most = number;
		}
	}
	if (d) {
		closedir(d);
	}
	return most;
}

int64_t chain_done(const char *dir)
{
	const int64_t runs = highest(dir, "", "");
	const int64_t words = highest(dir, RUN_LOGS, ".txt");

	return runs > words ? runs : words;
}

int chain_begin(const char *dir, int64_t number, struct err *e)
{
	char log[64];
	int fd;

	snprintf(log, sizeof(log), CHAIN_LOG, (int)number);
	fd = rundir_open_fd(dir, log, O_WRONLY | O_CREAT | O_APPEND, e);
	if (fd >= 0) {
		close(fd);
	}
	return fd < 0 ? -1 : 0;
}

bool chain_holder_job(const char *who, char job[SLURM_JOB_SIZE])
{
	const char *at = strstr(who, ", job ");
	char text[SLURM_JOB_SIZE];

	return at && str_copy(text, sizeof(text), at + strlen(", job ")) &&
	       slurm_parse_job_id(text, job, NULL) == 0;
}

void chain_args(const struct chain *c, const char *self, const char *dir,
		int64_t number, struct args *a)
{
	char time[32];

	args_add(a, self);
	args_add_all(a, c->words + 1);
	args_addf(a, "--max-time=%s",
		  units_duration_arg(c->max_time_s * NS_PER_S, time,
				     sizeof(time)));
	args_addf(a, "--out=%s/" CHAIN_RUN, dir, (int)number);
}
