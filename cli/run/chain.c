/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains of runs for "gpucheck watch": Slurm jobs, or a systemd timer. */
#include "cli/run/chain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/options.h"
#include "cli/run/probe_run.h"
#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"
#include "sbatch/slurm_lanes.h"

/* ---- chain jobs ---------------------------------------------------------- */

/* The jobs of a watch: one that is at work, and the one that waits. */

/* ---- submit -------------------------------------------------------------- */

static int hand_over(struct probe_start *t, struct str *show,
		     char job[SLURM_JOB_SIZE], struct err *e)
{
	struct launch *l;

	if (show) {
		return t->ops->describe(&t->r, show, e);
	}
	l = launcher_start(t->ops, &t->r, e);
	if (!l) {
		return -1;
	}
	str_copy(job, SLURM_JOB_SIZE, launcher_job_id(t->ops, l));
	launcher_free(t->ops, l);
	return 0;
}

int chain_submit(const struct chain *c, const char *dir,
		 const struct command *const *commands, int64_t in_s,
		 char job[SLURM_JOB_SIZE], struct str *show, struct err *e)
{
	const struct command *cmd = command_find(commands, c->words[1]);
	struct session s = { .argv = c->words, .commands = commands };
	struct args extra = { 0 };
	struct probe_start t;
	int rc = -1;

	while (c->words[s.argc]) {
		s.argc++;
	}
	if (!cmd) {
		return err_set(e, 0, "there is no command '%.100s'",
			       c->words[1]);
	}
	/* add the options for sbatch: defaults, the user's, then those that
	 * must hold */
	args_add(&extra, "--nice");
	args_add_all(&extra, c->slurm);
	args_addf(&extra, "--job-name=%s", c->name);
	args_add(&extra, "--dependency=singleton");
	if (in_s > 0) {
		args_addf(&extra, "--begin=now+%lld", (long long)in_s);
	}
	if (options_parse(&s, cmd, e) == 0) {
		s.spec.max_time_ns = c->max_time_s * NS_PER_S;
		/* in its job it finds its place by itself */
		STR_COPY(s.spec.launcher, "sbatch");
		s.extra = extra.argv;
		rc = extra.failed ? err_set(e, ENOMEM, "cannot submit") :
		     probe_run_choose(&t, &s, cmd->name, NULL, e);
		t.r.dir = dir;
		t.r.inner = CHAIN_TURN;
		rc = rc == 0 ? hand_over(&t, show, job, e) : -1;
	}
	options_release(&s);
	args_release(&extra);
	return rc;
}

/* ---- those that wait ----------------------------------------------------- */

/** List Slurm's jobs of that name. Watches in directories of one name share it;
 *  the script tells which of them a job belongs to. */
static int ask_queue(const struct chain *c, const char *dir, struct str *out,
		     char script[PATH_MAX], struct err *e)
{
	struct args a = { 0 };

	if (rundir_path(dir, RUN_JOB_SCRIPT, script, e) < 0) {
		return -1;
	}
	args_words(&a, SLURM_QUEUE_SQUEUE);
	args_add(&a, c->name);
	return slurm_ask(&a, out, e);
}

bool chain_parse_waiting(const char **queue, const char *script,
			 const char *own, char job[SLURM_JOB_SIZE])
{
	struct slurm_queued q;

	while (slurm_parse_queued(queue, &q)) {
		if (slurm_queued_waits(&q) && strcmp(q.script, script) == 0 &&
		    (!own || strcmp(q.id, own) != 0)) {
			str_copy(job, SLURM_JOB_SIZE, q.id);
			return true;
		}
	}
	return false;
}

int chain_waiting(const struct chain *c, const char *dir, const char *own,
		  char job[SLURM_JOB_SIZE], struct err *e)
{
	char script[PATH_MAX];
	struct str out = STR_INIT;
	int rc = ask_queue(c, dir, &out, script, e);
	const char *at = str_text(&out);
	char other[SLURM_JOB_SIZE];

	while (rc >= 0 && chain_parse_waiting(&at, script, own,
					      rc == 0 ? job : other)) {
		rc++;
	}
	str_release(&out);
	return rc;
}

void chain_put_off(const char *job, int64_t in_s)
{
	struct args a = { 0 };

	args_words(&a, "scontrol --quiet update");
	args_addf(&a, "JobId=%s", job);
	args_addf(&a, "StartTime=now+%lld", (long long)in_s);
	slurm_ask(&a, NULL, NULL);
}

int chain_cancel(const struct chain *c, const char *dir, struct err *e)
{
	char script[PATH_MAX], job[SLURM_JOB_SIZE];
	struct str out = STR_INIT;
	int rc = ask_queue(c, dir, &out, script, e);
	const char *at = str_text(&out);

	while (rc == 0 && chain_parse_waiting(&at, script, NULL, job)) {
		if (slurm_cancel("--quiet --state=PENDING", job) < 0) {
			rc = err_set(e, 0, "job %s could not be cancelled",
				     job);
		}
	}
	str_release(&out);
	return rc;
}

/* ---- chain units --------------------------------------------------------- */

/* The units of systemd that make the turns of a watch. */

/* ---- environment of a run ------------------------------------------------ */

static void add_variable(const char *name, struct args *env)
{
	const char *value = getenv(name);

	if (value && value[0]) {
		args_addf(env, "%s=%s", name, value);
	}
}

void chain_environment(const struct command *cmd, struct args *env)
{
	/* a service of the system has no home */
	static const char *const names[] = {
		"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", CONFIG_ENV,
		SITE_EXPECTED_ENV, "GPUCHECK_NCCL_LIB", "GPUCHECK_CUDA_LIB",
		"GPUCHECK_NVML_LIB", "GPUCHECK_VERBS_LIB",
		"GPUCHECK_RDMACM_LIB",
	};
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		add_variable(names[i], env);
	}
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (options_apply(cmd, o) && o->type != SPEC_LIST) {
			options_env(o, name, sizeof(name));
			add_variable(name, env);
		}
	}
}

/* ---- words of a unit ----------------------------------------------------- */

/** Returns true if @text can be a line of a systemd unit: UTF-8 without control
 *  characters. */
static bool fits(const char *text)
{
	json_t *json = json_string(text);
	const bool is = json != NULL;

	json_decref(json);
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f) {
			return false;
		}
	}
	return is;
}

static int refuse(const char *what, const char *text, const char *why,
		  struct err *e)
{
	return err_set(e, 0, "%s '%.200s' cannot be used in a systemd unit: %s",
		       what, text, why);
}

static int check(const struct chain_place *p, struct err *e)
{
	static const char why[] = "it has control characters or is not UTF-8";
	const size_t n = strlen(p->cwd);

	if (!fits(p->self)) {
		return refuse("program", p->self, why, e);
	}
	if (!fits(p->dir)) {
		return refuse("directory", p->dir, why, e);
	}
	if (!fits(p->cwd)) {
		return refuse("working directory", p->cwd, why, e);
	}
	if (n == 0 || strchr(" \\", p->cwd[n - 1])) {
		return refuse("working directory", p->cwd,
			      "it ends in a blank or backslash", e);
	}
	for (char *const *v = p->env; v && *v; v++) {
		if (!fits(*v)) {
			return refuse("variable", *v, why, e);
		}
	}
	return 0;
}

/** Adds a word in quotes; characters of @twice are doubled, which makes them
 *  literal. */
static void add_word(const char *word, const char *twice, struct str *out)
{
	str_addch(out, '"');
	for (; *word; word++) {
		if (*word == '"' || *word == '\\') {
			str_addch(out, '\\');
		} else if (strchr(twice, *word)) {
			str_addch(out, *word);
		}
		str_addch(out, *word);
	}
	str_addch(out, '"');
}

int chain_units(const struct chain *c, const struct chain_place *p,
		struct str *service, struct str *timer, struct err *e)
{
	const char *path;

	if (check(p, e) < 0) {
		return -1;
	}
	str_addf(service, "[Unit]\nDescription=gpucheck %s, again and again\n\n"
		 "[Service]\nType=oneshot\nWorkingDirectory=", c->words[1]);
	/* A path that is not quoted: all of the line */
	path = p->cwd;
	for (; *path; path++) {
		str_add(service, *path == '%' ? "%" : "");
		str_addch(service, *path);
	}
	for (char *const *v = p->env; v && *v; v++) {
		str_add(service, "\nEnvironment=");
		add_word(*v, "%", service);
	}
	/* variables are looked for in all words but the program */
	str_add(service, "\nExecStart=");
	add_word(p->self, "%", service);
	str_add(service, " " CHAIN_TURN " ");
	add_word(p->dir, "%$", service);
	/* a oneshot is never started twice at a time */
	str_addf(service, "\nNice=10\nTimeoutStartSec=%" PRId64 "\n",
		 c->max_time_s + 900);
	str_addf(timer, "[Unit]\nDescription=gpucheck %s, every %" PRId64
		 " s\n\n[Timer]\nOnActiveSec=1\nOnUnitActiveSec=%" PRId64
		 "\nAccuracySec=1\n\n[Install]\nWantedBy=timers.target\n",
		 c->words[1], c->every_s, c->every_s);
	return 0;
}

/* ---- chain --------------------------------------------------------------- */

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

/** Returns the words as JSON; NULL if one is not UTF-8. */
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

#define CHAIN(member, ...) FIELD(chain, member, #member, __VA_ARGS__)

static const struct field chain_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	CHAIN(name, TEXT, 0, 0, "of the watch"),
	CHAIN(timer, BOOL, 0, 0, "a timer starts its runs"),
	CHAIN(every_s, INT, 1, MAX_S, "from run to run"),
	CHAIN(max_time_s, INT, 1, MAX_S, "of a run"),
	CHAIN(runs, INT, 0, MAX_NUMBER, "at most; 0: any number"),
	CHAIN(until_s, INT, 0, INT64_MAX, "no run begins later"),
	{ 0 }
};

json_t *chain_json(const struct chain *c)
{
	json_t *json = schema_json(chain_fields, c);

	json_object_set_new(json, "words", words_json(c->words));
	json_object_set_new(json, "slurm", words_json(c->slurm));
	return json;
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
			err_set(e, 0, "'%s' is not a list of words", key);
			free_words(words);
			return NULL;
		}
	}
	return words;
}

/** Return true if @name can be the name of a job and of files. */
static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
				      "NOPQRSTUVWXYZ0123456789-_";

	return name[0] && name[0] != '-' && !name[strspn(name, allowed)];
}

static int take_all(struct chain *c, const json_t *obj, struct err *e)
{
	if (schema_read(chain_fields, c, obj, e) < 0) {
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
				   "watch\" created");
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
	args_addf(a, "--time-limit=%s",
		  units_duration_arg(c->max_time_s * NS_PER_S, time,
				     sizeof(time)));
	args_addf(a, "--out=%s/" CHAIN_RUN, dir, (int)number);
}
