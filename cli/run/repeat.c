/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeated runs for "gpucheck watch": crontab, scrontab or a systemd timer. */
#include "cli/run/repeat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/ahead.h"
#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/units.h"
#include "lib/data/json.h"
#include "lib/data/schema.h"
#include "sbatch/launcher.h"
#include "sbatch/slurm.h"

#define MAX_S (INT64_C(100) * 24 * 3600)
#define MAX_NUMBER 9999

/* ---- file ---------------------------------------------------------------- */

static const char *const how_words[] = { "crontab", "scrontab", "systemd",
					 NULL };

#define REPEAT(member, ...) FIELD(repeat, member, #member, __VA_ARGS__)

static const struct field fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 2 },
	REPEAT(name, TEXT, 0, 0, "of the watch"),
	FIELD_WORDS(repeat, how, "how", how_words, "what starts its turns"),
	REPEAT(queue, BOOL, 0, 0, "a turn submits a job"),
	REPEAT(every_s, INT, 1, MAX_S, "from turn to turn"),
	REPEAT(first_s, INT, 0, INT64_MAX, "time of the first turn"),
	REPEAT(max_time_s, INT, 1, MAX_S, "of a run"),
	REPEAT(runs, INT, 0, MAX_NUMBER, "at most; 0: any number"),
	REPEAT(until_s, INT, 0, INT64_MAX, "no run begins later"),
	REPEAT(folder, TEXT, 0, 0, "of the units"),
	REPEAT(cwd, TEXT, 0, 0, "working directory"),
	REPEAT(env, ARRAY, 0, REPEAT_WORDS, "variables"),
	REPEAT(words, ARRAY, 0, REPEAT_WORDS, "the command"),
	REPEAT(slurm, ARRAY, 0, REPEAT_WORDS, "options for sbatch"),
	{ 0 }
};

static bool are_words(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!json_is_string(json_array_get(list, i))) {
			return false;
		}
	}
	return true;
}

int repeat_parse(const char *text, size_t len, struct repeat *r, struct err *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
				      "NOPQRSTUVWXYZ0123456789-_";
	json_t *json = json_parse(text, len, e);
	int rc = json ? 0 : -1;

	*r = (struct repeat){ 0 };
	if (rc == 0) {
		rc = schema_read(fields, r, json, e);
	}
	r->json = json;
	/* of a job and of files */
	if (rc == 0 && (!r->name[0] || r->name[0] == '-' ||
			r->name[strspn(r->name, allowed)])) {
		rc = err_set(e, 0, "'%s' is not a name", r->name);
	} else if (rc == 0 && (!are_words(r->env) || !are_words(r->words) ||
			       !are_words(r->slurm) ||
			       json_array_size(r->words) < 2)) {
		rc = err_set(e, 0, "no command, or it is not text");
	}
	if (rc < 0) {
		repeat_release(r);
	}
	return rc;
}

int repeat_read(const char *dir, struct repeat *r, struct err *e)
{
	size_t len = 0;
	struct err why = { 0 };
	char *text;
	int rc;

	*r = (struct repeat){ 0 };
	text = rundir_read_text(dir, REPEAT_FILE, REPEAT_BYTES, &len, e);
	if (!text) {
		return err_hint(e, "it is the directory that \"gpucheck "
				   "watch\" made");
	}
	rc = repeat_parse(text, len, r, &why);
	free(text);
	return rc == 0 ? 0 : err_set(e, 0, "'%s/%s': %s", dir, REPEAT_FILE,
				     why.text);
}

int repeat_write(const char *dir, const struct repeat *r, struct err *e)
{
	json_t *json = schema_json(fields, r);
	const int rc = json ? rundir_write_json(dir, REPEAT_FILE, json, e) :
		       err_set(e, EILSEQ, "cannot write '%s'", REPEAT_FILE);

	json_decref(json);
	return rc;
}

void repeat_release(struct repeat *r)
{
	if (!r->json) {
		json_decref(r->env);
		json_decref(r->words);
		json_decref(r->slurm);
	}
	json_decref(r->json);
	*r = (struct repeat){ 0 };
}

void repeat_add_words(const json_t *list, struct args *a)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		args_add(a, json_string_value(json_array_get(list, i)));
	}
}

json_t *repeat_environment(const struct command *cmd)
{
	/* cron and services of the system have hardly any */
	static const char *const names[] = {
		"HOME", "PATH", "LD_LIBRARY_PATH", "SLURM_CONF",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", CONFIG_ENV,
		SITE_EXPECTED_ENV, "GPUCHECK_NCCL_LIB", "GPUCHECK_CUDA_LIB",
		"GPUCHECK_NVML_LIB", "GPUCHECK_VERBS_LIB",
		"GPUCHECK_RDMACM_LIB", NULL
	};
	json_t *env = json_array();
	const struct spec_option *o = spec_options;

	for (size_t i = 0; names[i] || o->name; i += names[i] != NULL) {
		char buf[64];
		const char *name = names[i], *value;

		if (!name) {
			const bool used = options_apply(cmd, o) &&
					  o->type != SPEC_LIST;

			name = options_env_name(o->name, buf, sizeof(buf));
			if (used && !getenv(name) && o->was) {
				name = options_env_name(o->was, buf,
							sizeof(buf));
			}
			o++;
			if (!used) {
				continue;
			}
		}
		value = getenv(name);
		if (value && value[0]) {
			json_array_append_new(env, json_sprintf("%s=%s", name,
								value));
		}
	}
	return env;
}

/* ---- entry --------------------------------------------------------------- */

/** Add the values from @from % @step on, below @end, with "," between; "*" of
 *  all. */
static void add_list(struct str *out, int from, int64_t step, int end)
{
	const size_t len = out->len;

	if (step <= 1) {
		str_add(out, "*");
	}
	for (int64_t v = from % step; step > 1 && v < end; v += step) {
		str_addf(out, "%s%" PRId64, out->len > len ? "," : "", v);
	}
}

int repeat_schedule(int64_t every_s, int64_t first_s, struct str *out,
		    struct err *e)
{
	const int64_t minutes = every_s / 60, hours = minutes / 60;
	const time_t first = (time_t)first_s;
	struct tm at;

	if (!localtime_r(&first, &at)) {
		return err_set(e, errno, "cannot tell the local time");
	}
	if (every_s % 60 == 0 && minutes < 60 && 60 % minutes == 0) {
		add_list(out, at.tm_min, minutes, 60);
		str_add(out, " * * * *");
		return 0;
	}
	if (every_s % 3600 == 0 && hours < 24 && 24 % hours == 0) {
		str_addf(out, "%d ", at.tm_min);
		add_list(out, at.tm_hour, hours, 24);
		str_add(out, " * * *");
		return 0;
	}
	if (every_s == 24 * 3600) {
		str_addf(out, "%d %d * * *", at.tm_min, at.tm_hour);
		return 0;
	}
	if (every_s == 7 * 24 * 3600) {
		str_addf(out, "%d %d * * %d", at.tm_min, at.tm_hour,
			 at.tm_wday);
		return 0;
	}
	err_set(e, 0, "cron cannot start a run every %" PRId64 " s", every_s);
	return err_hint(e, "--every takes what divides an hour or a day, such "
			   "as 15m, 1h, 6h, 24h, or 168h; --systemd any time");
}

/** Check that @path can be in an entry.  Cron ends a command at '%' and takes
 *  one line; systemd reads '%' and '$' itself, and takes UTF-8 only. */
static int check_path(const char *what, const char *path, struct err *e)
{
	json_t *text = json_string(path);
	bool fits = text != NULL;

	json_decref(text);
	for (const char *c = path; *c; c++) {
		fits = fits && (unsigned char)*c >= ' ' && *c != 0x7f &&
		       !strchr("%$\\\"", *c);
	}
	if (fits) {
		return 0;
	}
	err_set(e, 0, "the %s '%.200s' cannot be in an entry of cron or "
		"systemd", what, path);
	return err_hint(e, "control characters, %% $ \\ and \" are special "
			   "there; name another directory with --out");
}

int repeat_entry(const struct repeat *r, const char *self, const char *dir,
		 const char *options, struct str *out, struct err *e)
{
	if (check_path("program", self, e) < 0 ||
	    check_path("directory", dir, e) < 0) {
		return -1;
	}
	if (r->how == REPEAT_SYSTEMD) {
		/* a oneshot is never started twice at a time */
		str_addf(out, "# %s.service\n[Unit]\nDescription=gpucheck "
			 "watch\n\n[Service]\nType=oneshot\nNice=10\n"
			 "TimeoutStartSec=%" PRId64 "\nExecStart=\"%s\" "
			 REPEAT_TURN " \"%s\"\n\n", r->name,
			 r->max_time_s + 900, self, dir);
		str_addf(out, "# %s.timer\n[Unit]\nDescription=gpucheck watch, "
			 "every %" PRId64 " s\n\n[Timer]\nOnActiveSec=1\n"
			 "OnUnitActiveSec=%" PRId64 "\nAccuracySec=1\n\n"
			 "[Install]\nWantedBy=timers.target\n", r->name,
			 r->every_s, r->every_s);
		return 0;
	}
	str_add(out, r->how == REPEAT_SCRONTAB ? options : "");
	if (repeat_schedule(r->every_s, r->first_s, out, e) < 0) {
		return -1;
	}
	str_addch(out, ' ');
	str_add_quoted(out, self);
	str_add(out, " " REPEAT_TURN " ");
	str_add_quoted(out, dir);
	str_add(out, " >>");
	str_add_quoted(out, dir);
	str_add(out, "/turns.log 2>&1" REPEAT_MARK "\n");
	return 0;
}

bool repeat_cut(const char *text, const char *dir, struct str *out)
{
	struct str mark = STR_INIT;
	size_t options = out->len;	/* where those of the next line are */
	bool had = false;

	str_add(&mark, " " REPEAT_TURN " ");
	str_add_quoted(&mark, dir);
	str_add(&mark, " >>");
	while (*text) {
		const size_t from = out->len, len = strcspn(text, "\n");

		str_addmem(out, text, len);
		str_addch(out, '\n');
		text += len + (text[len] == '\n');
		if (strstr(str_text(out) + from, str_text(&mark)) &&
		    strstr(str_text(out) + from, REPEAT_MARK)) {
			str_cut(out, options);
			had = true;
		} else if (str_starts(str_text(out) + from, "#SCRON")) {
			continue;
		}
		options = out->len;
	}
	str_release(&mark);
	return had;
}

/* ---- crontab ------------------------------------------------------------- */

/** The entries of the user by @tool -l; "" if there is no file yet.  -1 with
 *  @e: not permitted, or not installed. */
static int read_table(const char *tool, struct str *out, struct err *e)
{
	struct args a = { 0 };
	struct err why = { 0 };

	args_add(&a, tool);
	args_add(&a, "-l");
	if (slurm_run(&a, out, &why) == 0) {
		return 0;
	}
	str_reset(out);
	return strstr(why.text, "no crontab") ? 0 :
	       err_set(e, why.code, "%s", why.text);
}

static int write_table(const char *tool, const struct str *text, struct err *e)
{
	char path[] = "/tmp/gpucheck-crontab-XXXXXX";
	struct args a = { 0 };
	const int fd = text->failed ? -1 : mkostemp(path, O_CLOEXEC);
	int rc;

	if (fd < 0 || write(fd, str_text(text), text->len) !=
			      (ssize_t)text->len) {
		rc = err_set(e, errno, "cannot write '%s'", path);
	} else {
		args_add(&a, tool);
		args_add(&a, text->len > 0 ? path : "-r");
		rc = slurm_run(&a, NULL, e);
	}
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return rc;
}

/** Replace the entry of @dir by @entry ("": remove it).  Returns 1 if there was
 *  one, 0, or -1 with @e. */
static int edit(const char *tool, const char *dir, const char *entry,
		struct err *e)
{
	struct str old = STR_INIT, new = STR_INIT;
	int rc = read_table(tool, &old, e);

	if (rc == 0) {
		rc = repeat_cut(str_text(&old), dir, &new);
		str_add(&new, entry);
		if ((rc || *entry) && write_table(tool, &new, e) < 0) {
			rc = -1;
		}
	}
	str_release(&old);
	str_release(&new);
	return rc;
}

bool repeat_has_scrontab(void)
{
	struct str out = STR_INIT;
	const bool has = launch_child_need("scrontab", NULL) == 0 &&
			 read_table("scrontab", &out, NULL) == 0;

	str_release(&out);
	return has;
}

/** "systemctl --user @verb NAME.timer"; 0, or -1 with @e. */
static int systemctl(const char *words, const char *name, struct str *out,
		     struct err *e)
{
	struct args a = { 0 };

	args_add(&a, "systemctl");
	if (geteuid() != 0) {
		args_add(&a, "--user");
	}
	args_words(&a, words);
	args_addf(&a, "%s.timer", name);
	return slurm_run(&a, out, e);
}

int repeat_install(const struct repeat *r, const char *dir, const char *entry,
		   struct err *e)
{
	const char *timer = strstr(entry, "\n# ");
	char name[80], *service;
	int rc;

	if (r->how != REPEAT_SYSTEMD) {
		return edit(how_words[r->how], dir, entry, e) < 0 ? -1 : 0;
	}
	service = timer ? strndup(entry, (size_t)(timer - entry)) : NULL;
	if (!service) {
		return err_set(e, ENOMEM, "no memory for a unit");
	}
	snprintf(name, sizeof(name), "%s.service", r->name);
	rc = rundir_write_text(r->folder, name, service, 0644, e);
	free(service);
	snprintf(name, sizeof(name), "%s.timer", r->name);
	return rc < 0 ? -1 :
	       rundir_write_text(r->folder, name, timer + 1, 0644, e);
}

int repeat_remove(const struct repeat *r, const char *dir, struct err *e)
{
	static const char *const kinds[] = { "timer", "service" };
	int had = 0, rc;

	if (!r || r->how != REPEAT_SYSTEMD) {
		for (int how = REPEAT_CRONTAB; how <= REPEAT_SCRONTAB; how++) {
			if (r && how != (int)r->how) {
				continue;
			}
			rc = launch_child_need(how_words[how], NULL) < 0 ?
				     0 : edit(how_words[how], dir, "", e);
			if (rc < 0) {
				return -1;
			}
			had |= rc;
		}
		return had;
	}
	systemctl("disable --now", r->name, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		char name[80], path[PATH_MAX];

		snprintf(name, sizeof(name), "%s.%s", r->name, kinds[i]);
		if (rundir_path(r->folder, name, path, e) < 0) {
			return -1;
		}
		if (unlink(path) == 0) {
			had = 1;
		} else if (errno != ENOENT) {
			return err_set(e, errno, "cannot remove '%s'", path);
		}
	}
	return had;
}

int repeat_list(FILE *f)
{
	int n = 0;

	for (int how = REPEAT_CRONTAB; how <= REPEAT_SYSTEMD; how++) {
		const bool timer = how == REPEAT_SYSTEMD;
		struct str out = STR_INIT;
		char *next, *line;

		if (launch_child_need(timer ? "systemctl" : how_words[how],
				      NULL) == 0 &&
		    (timer ? systemctl("list-timers --all --no-legend",
				       "gpucheck-watch-*", &out, NULL) :
			     read_table(how_words[how], &out, NULL)) == 0) {
			next = out.data;
		} else {
			next = NULL;
		}
		while ((line = strsep(&next, "\n"))) {
			if (*line && (timer || strstr(line, REPEAT_MARK))) {
				str_harmless(line, 0);
				fprintf(f, "%s: %s\n", how_words[how], line);
				n++;
			}
		}
		str_release(&out);
	}
	return n;
}

/* ---- turn ---------------------------------------------------------------- */

/** Look for a job of the watch that waits, runs or ends; "" if there is none.
 *  Returns 0, or -1 with @e: Slurm does not answer. */
static int find_job(const struct repeat *r, char job[SLURM_JOB_SIZE],
		    char state[SLURM_STATE_SIZE], struct err *e)
{
	struct str out = STR_INIT;
	const char *at;
	int rc;

	job[0] = '\0';
	rc = slurm_ask("squeue --all --noheader --format=%i|%T --name", r->name,
		       &out, e);
	/* plugins may print lines of their own */
	for (at = str_text(&out); rc == 0 && *at && !job[0];
	     at += strcspn(at, "\n"), at += *at == '\n') {
		const size_t digits = strspn(at, "0123456789_[]-%");

		if (digits > 0 && digits < SLURM_JOB_SIZE &&
		    at[digits] == '|') {
			snprintf(job, SLURM_JOB_SIZE, "%.*s", (int)digits, at);
			snprintf(state, SLURM_STATE_SIZE, "%.*s",
				 (int)strcspn(at + digits + 1, "\n"),
				 at + digits + 1);
		}
	}
	str_release(&out);
	return rc;
}

int repeat_cancel(const struct repeat *r, struct err *e)
{
	if (!r->queue && r->how != REPEAT_SCRONTAB) {
		return 0;
	}
	return slurm_ask("scancel --quiet --state=PENDING --name", r->name,
			 NULL, e);
}

/** Become run @number of @r: does not return unless that fails, with @e. */
static void become(const struct repeat *r, const char *dir, int number,
		   struct err *e)
{
	const char *self_word, *time;
	struct args a = { 0 };
	char self[PATH_MAX], log[64], buf[32];
	int fd;

	snprintf(log, sizeof(log), REPEAT_LOG, number);
	fd = rundir_open_fd(dir, log, O_WRONLY | O_CREAT | O_APPEND, e);
	if (fd < 0 || spawn_self(self, sizeof(self), e) < 0) {
		return;
	}
	repeat_add_words(r->words, &a);
	time = units_duration_arg(r->max_time_s * NS_PER_S, buf, sizeof(buf));
	args_addf(&a, "--time-limit=%s", time);
	args_addf(&a, "--out=%s/" REPEAT_RUN, dir, number);
	if (r->how != REPEAT_SCRONTAB && r->queue) {
		args_words(&a, "-- --nice");
		repeat_add_words(r->slurm, &a);
		args_addf(&a, "--job-name=%s", r->name);
	} else if (r->how != REPEAT_SCRONTAB &&
		   json_array_size(r->slurm) > 0) {
		args_add(&a, "--");
		repeat_add_words(r->slurm, &a);
	}
	self_word = a.failed ? NULL : self;
	talk(REPEAT_RUN ": its output is in %s/%s", number, dir, log);
	if (self_word && dup2(fd, STDOUT_FILENO) >= 0 &&
	    dup2(fd, STDERR_FILENO) >= 0) {
		execv(self, a.argv);
	}
	err_set(e, errno, "cannot start the run");
	args_release(&a);
}

/** Why no run begins, in @why; 0: one does.  *@over: none ever will. */
static int why_none(const struct repeat *r, const char *dir, int64_t done,
		    bool *over, char *why, size_t size)
{
	char job[SLURM_JOB_SIZE], state[SLURM_STATE_SIZE] = "";
	struct err e = { 0 };

	*over = true;
	if (rundir_has(dir, REPEAT_STOP)) {
		return snprintf(why, size, "the watch was stopped");
	}
	if ((r->runs > 0 && done >= r->runs) || done >= MAX_NUMBER) {
		return snprintf(why, size, "all runs of the watch are made");
	}
	if (time(NULL) > r->until_s) {
		return snprintf(why, size, "the time of the watch is over");
	}
	*over = false;
	/* the entry of scrontab is itself the job */
	if (!r->queue || getenv("SLURM_JOB_ID")) {
		return 0;
	}
	if (find_job(r, job, state, &e) < 0) {
		return snprintf(why, size, "Slurm does not say whether the one "
				"before has ended: %.200s", e.text);
	}
	return job[0] ? snprintf(why, size, "the one before, job %s, is %s",
				 job, state) : 0;
}

int repeat_turn(const char *name, struct err *e)
{
	struct repeat r = { .name = "" };
	char dir[PATH_MAX], who[200], why[400], number[32];
	char *text;
	bool over;
	int64_t done = 0;
	int claim;

	if (!realpath(name, dir)) {
		err_set(e, errno, "cannot open '%s'", name);
		return CODE_USAGE;
	}
	if (rundir_check_own(dir, e) < 0 || repeat_read(dir, &r, e) < 0) {
		return CODE_UNABLE;
	}
	for (size_t i = 0; i < json_array_size(r.env); i++) {
		text = strdup(json_string_value(json_array_get(r.env, i)));
		if (text && strchr(text, '=')) {
			*strchr(text, '=') = '\0';
			setenv(text, text + strlen(text) + 1, 1);
		}
		free(text);
	}
	if (chdir(r.cwd) < 0) {
		err_set(e, errno, "cannot open the working directory '%s'",
			r.cwd);
		repeat_release(&r);
		return CODE_UNABLE;
	}
	if (rundir_claim(dir, &claim, who, sizeof(who)) < 0) {
		talk("no run: the one before is still at work (%s)", who);
		repeat_release(&r);
		return CODE_HEALTHY;
	}
	text = rundir_read_text(dir, REPEAT_TURNS, sizeof(number), NULL, NULL);
	if (text) {
		units_parse_int(text, 0, MAX_NUMBER, &done, NULL);
	}
	free(text);
	if (why_none(&r, dir, done, &over, why, sizeof(why))) {
		talk("no run: %s", why);
		if (over && repeat_remove(&r, dir, e) < 0) {
			talk_err(e);
			*e = (struct err){ 0 };
		}
	} else {
		snprintf(number, sizeof(number), "%" PRId64, done + 1);
		if (rundir_write_text(dir, REPEAT_TURNS, number, 0666, e) <
			    0) {
			talk("this run may not count for --runs: %s", e->text);
		}
		/* the claim is held as long as the run lives */
		if (claim >= 0) {
			fcntl(claim, F_SETFD, 0);
		}
		become(&r, dir, (int)done + 1, e);
	}
	rundir_unclaim(dir, claim);
	repeat_release(&r);
	return e->text[0] ? CODE_UNABLE : CODE_HEALTHY;
}
