/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck watch: repeat a command by crontab, scrontab or a systemd timer. */
#include "cli/front/help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "cli/run/probe_run.h"
#include "cli/run/repeat.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/base/spawn.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/** Maximum time of a run without --time-limit. */
#define MAX_TIME_S 1800
/** Slurm starts an entry of scrontab within a minute; so does cron. */
#define SOON_S	   60

/* ---- command to run ------------------------------------------------------ */

/** Check the command after "--" of @inner, as it will check itself. */
static int check_inner(struct session *inner, const struct session *s,
		       struct err *e)
{
	const struct command *cmd = command_find(s->commands, inner->argv[1]);

	if (!cmd || cmd->hidden) {
		return err_set(e, 0, "there is no command '%.100s'",
			       inner->argv[1]);
	}
	if (options_parse(inner, cmd, e) != 0) {
		return e->text[0] ? -1 : err_set(e, 0, "help is not a run");
	}
	if (!(cmd->takes & (SPEC_CMD_JUDGES & ~(unsigned)(SPEC_CMD_REPORT |
							  SPEC_CMD_ATTACH |
							  SPEC_CMD_HANG)))) {
		err_set(e, 0, "'%s' is not a command that can be repeated",
			cmd->name);
		return err_hint(e, "such as: gpucheck watch --every=1h -- p2p "
				   "-N 4");
	}
	if (inner->spec.out[0] || inner->spec.resume[0] ||
	    inner->spec.dry_run || inner->spec.no_wait) {
		err_set(e, 0, "--out, --resume, --dry-run and --no-wait are "
			      "not for the run that is repeated");
		return err_hint(e, "each run has a directory below that of "
				   "gpucheck watch --out=DIR");
	}
	return spec_check(&inner->spec, e);
}

/** Add the options of the job that runs in @dir as lines "#SCRON ..." to @out,
 *  by the batch script that the run would be submitted with. */
static int add_scron(const struct repeat *r, const char *dir,
		     struct session *inner, struct str *out, struct err *e)
{
	struct str script = STR_INIT;
	struct args a = { 0 };
	struct probe_start t;
	char *next, *line;
	int rc;

	/* in its job it finds its place by itself */
	STR_COPY(inner->spec.launcher, "sbatch");
	inner->spec.max_time_ns = r->max_time_s * NS_PER_S;
	args_add(&a, "--nice");
	repeat_add_words(r->slurm, &a);
	inner->extra = a.argv;
	rc = probe_run_choose(&t, inner, inner->argv[1], NULL, e);
	t.r.dir = dir;
	rc = rc == 0 ? job_script_write(&t.r, &script, e) : -1;
	next = rc == 0 ? script.data : NULL;
	while ((line = strsep(&next, "\n"))) {
		if (str_starts(line, "#SBATCH ")) {
			str_addf(out, "#SCRON %s\n", line + strlen("#SBATCH "));
		}
	}
	/* of two the later one counts, as on the command line of sbatch */
	args_release(&a);
	inner->extra = NULL;
	args_add(&a, "--nice");
	args_add_places(&a, NULL, &inner->spec);
	repeat_add_words(r->slurm, &a);
	args_addf(&a, "--job-name=%s", r->name);
	for (size_t i = 0; i < a.n; i++) {
		/* the value of an option may be a word of its own */
		str_add(out, *a.argv[i] == '-' ? "#SCRON " : " ");
		str_add_quoted(out, a.argv[i]);
		str_add(out, i + 1 == a.n || *a.argv[i + 1] == '-' ? "\n" : "");
	}
	str_release(&script);
	args_release(&a);
	return rc;
}

/* ---- start and stop ------------------------------------------------------ */

/** Read the typed options into @r, and the words of its command into @inner and
 *  @a.  Checks all that does not depend on the directory. */
static int take(const struct session *s, struct repeat *r,
		struct session *inner, struct args *a, struct err *e)
{
	const struct launcher_ops *ops;
	struct str schedule = STR_INIT;
	char **word = s->extra;
	char why[320];
	int rc;

	*r = (struct repeat){
		.every_s = s->spec.every_ns / NS_PER_S, .runs = s->spec.runs,
		.until_s = time(NULL) + s->spec.lasting_ns / NS_PER_S,
		.first_s = time(NULL) + SOON_S, .slurm = json_array(),
	};
	args_add(a, "gpucheck");
	for (; *word && strcmp(*word, "--") != 0; word++) {
		args_add(a, *word);
	}
	for (word += *word != NULL; *word; word++) {
		json_array_append_new(r->slurm, json_string(*word));
	}
	if (a->n < 2 || a->n + json_array_size(r->slurm) > REPEAT_WORDS) {
		err_set(e, 0, a->n < 2 ? "no command to repeat" :
					 "too many words");
		return err_hint(e, "gpucheck watch --every=1h -- p2p -N 4 -- "
				   "--partition=gpu");
	}
	inner->argv = a->argv;
	inner->argc = (int)a->n;
	if (check_inner(inner, s, e) < 0) {
		return -1;
	}
	ops = launcher_choose(&inner->spec, why, sizeof(why), e);
	if (!ops) {
		return -1;
	}
	r->queue = ops->inside != NULL;
	r->how = s->spec.systemd[0] ? REPEAT_SYSTEMD :
		 r->queue && repeat_has_scrontab() ? REPEAT_SCRONTAB :
						     REPEAT_CRONTAB;
	r->max_time_s = inner->spec.max_time_ns / NS_PER_S;
	if (!r->max_time_s) {
		r->max_time_s = r->every_s < MAX_TIME_S ? r->every_s :
							  MAX_TIME_S;
	}
	rc = r->how == REPEAT_SYSTEMD ? 0 :
	     repeat_schedule(r->every_s, r->first_s, &schedule, e);
	str_release(&schedule);
	return rc;
}

/** Fill in what @r has of its directory, and make its entry. */
static int complete(const struct session *s, const char *dir, struct repeat *r,
		    struct session *inner, struct args *a, struct str *entry,
		    struct err *e)
{
	const char *base = strrchr(dir, '/');
	size_t n = (size_t)snprintf(r->name, sizeof(r->name),
				    "gpucheck-watch-");
	struct str options = STR_INIT;
	char self[PATH_MAX];
	uint64_t hash = 0;
	int rc;

	/* another watch may be in a directory of this name elsewhere */
	for (const char *c = dir; *c; c++) {
		hash = hash_mix(hash, (uint64_t)(unsigned char)*c, 0, 0);
	}
	base = base ? base + 1 : dir;
	base += str_starts(base, r->name) ? n : 0;
	for (; *base && n + 10 < sizeof(r->name); base++) {
		r->name[n++] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
				      "OPQRSTUVWXYZ0123456789-_", *base) ?
				       *base : '_';
	}
	snprintf(r->name + n, sizeof(r->name) - n, "-%08x", (unsigned)hash);
	if (!inner->spec.history[0]) {
		args_addf(a, "--history=%s/history", dir);
		inner->argv = a->argv;
	}
	r->words = json_array();
	for (size_t i = 0; i < a->n; i++) {
		json_array_append_new(r->words, json_string(a->argv[i]));
	}
	r->env = repeat_environment(command_find(s->commands, a->argv[1]));
	if (!getcwd(r->cwd, sizeof(r->cwd)) ||
	    (strcmp(s->spec.systemd, "-") != 0 && s->spec.systemd[0] &&
	     !realpath(s->spec.systemd, r->folder))) {
		return err_set(e, errno, "cannot open '%s'", s->spec.systemd);
	}
	if (a->failed || json_array_size(r->words) < a->n) {
		return err_set(e, 0, "an argument is not text");
	}
	rc = spawn_self(self, sizeof(self), e);
	if (rc == 0 && r->how == REPEAT_SCRONTAB) {
		rc = add_scron(r, dir, inner, &options, e);
	}
	rc = rc == 0 ? repeat_entry(r, self, dir, str_text(&options), entry,
				    e) : -1;
	str_release(&options);
	return rc;
}

/** Put the entry of @r where it belongs, or print it. */
static void put_entry(const struct session *s, const struct repeat *r,
		      const char *dir, const char *entry)
{
	const char *user = geteuid() == 0 ? "" : " --user";
	const bool print = s->spec.dry_run || s->spec.show[0] ||
			   (r->how == REPEAT_SYSTEMD && !r->folder[0]);
	struct err why = { 0 };
	char word[PATH_MAX];

	if (!print && repeat_install(r, dir, entry, &why) == 0) {
		printf("%s\n", dir);
		if (r->how == REPEAT_SYSTEMD) {
			talk("to start it: systemctl%s daemon-reload; "
			     "systemctl%s enable --now %s.timer", user, user,
			     r->name);
		}
	} else if (!print) {
		talk_err(&why);
		talk("the watch is ready in '%s'; to start its runs, add the "
		     "printed lines where your site permits it", dir);
	}
	fputs(entry, stdout);
	if (!s->spec.dry_run) {
		talk_hint("to stop it: \"gpucheck watch --stop=%s\"",
			  str_quoted_dir(dir, word, sizeof(word)));
	}
}

static int start(const struct session *s, struct err *e)
{
	const char *wanted = s->spec.out[0] ? s->spec.out : NULL;
	char dir[PATH_MAX] = "gpucheck-watch";
	struct session inner = { .commands = s->commands };
	struct args a = { 0 };
	struct str entry = STR_INIT;
	struct repeat r;
	int code = CODE_HEALTHY;

	/* checked before a directory is made */
	if (take(s, &r, &inner, &a, e) < 0) {
		code = CODE_USAGE;
	} else if (!s->spec.dry_run &&
		   rundir_create(wanted, "watch", dir, e) < 0) {
		code = e->code == ENOTEMPTY ? CODE_USAGE : CODE_UNABLE;
	} else {
		if (s->spec.dry_run && wanted) {
			STR_COPY(dir, wanted);
		}
		if (complete(s, dir, &r, &inner, &a, &entry, e) < 0 ||
		    (!s->spec.dry_run &&
		     (repeat_write(dir, &r, e) < 0 ||
		      rundir_write_text(dir, REPEAT_ENTRY, str_text(&entry),
					0666, e) < 0))) {
			code = CODE_UNABLE;
		} else {
			put_entry(s, &r, dir, str_text(&entry));
		}
	}
	options_release(&inner);
	args_release(&a);
	str_release(&entry);
	repeat_release(&r);
	return code;
}

/** --stop, --remove and --show of the watch @name: an exit code, with @e. */
static int change(const struct session *s, const char *name, struct err *e)
{
	const bool stop = s->spec.stop[0], show = s->spec.show[0];
	struct repeat r = { .name = "" };
	struct err why = { 0 };
	char dir[PATH_MAX], cwd[PATH_MAX];
	size_t len = 0;
	char *text;
	int rc, had = 0;

	if (!realpath(name, dir) && (stop || show)) {
		err_set(e, errno, "cannot open '%s'", name);
		return CODE_USAGE;
	}
	if (access(name, F_OK) < 0) {
		/* the directory is gone, its entry may be there */
		rc = *name == '/' ? rundir_path("", name + 1, dir, e) :
		     getcwd(cwd, sizeof(cwd)) ? rundir_path(cwd, name, dir, e) :
						-1;
		if (rc < 0) {
			return CODE_UNABLE;
		}
	}
	rc = repeat_read(dir, &r, &why);
	if (rc < 0 && (stop || show)) {
		*e = why;
		return CODE_UNABLE;
	}
	if (show) {
		text = rundir_read_text(dir, REPEAT_ENTRY, REPEAT_BYTES, &len,
					e);
		fputs(text ? text : "", stdout);
		free(text);
		repeat_release(&r);
		return text ? CODE_HEALTHY : CODE_UNABLE;
	}
	rc = stop ? rundir_write_text(dir, REPEAT_STOP, "", 0666, e) : 0;
	if (rc == 0) {
		had = repeat_remove(r.name[0] ? &r : NULL, dir, e);
		rc = had < 0 ? -1 : stop ? repeat_cancel(&r, e) : 0;
	}
	repeat_release(&r);
	if (rc == 0) {
		talk("%s", had ? "its entry is removed" :
				 "it has no entry in crontab, scrontab or "
				 "systemd");
		if (stop) {
			talk("no new run starts; one that is running "
			     "finishes");
		}
	}
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}

static int run_watch(struct session *s)
{
	const struct spec *o = &s->spec;
	const char *name = o->stop[0] ? o->stop : o->remove[0] ? o->remove :
			   strcmp(o->show, "-") != 0 ? o->show : "";
	struct err e = { 0 };
	int code = CODE_HEALTHY;

	if (spec_check(o, &e) < 0) {
		code = CODE_USAGE;
	} else if (o->list) {
		if (repeat_list(stdout) == 0) {
			talk("no entry of gpucheck in crontab, scrontab or "
			     "systemd");
		}
	} else if (name[0]) {
		code = change(s, name, &e);
	} else if (!o->every_ns) {
		err_set(&e, 0, "--every is missing");
		err_hint(&e, "gpucheck watch --every=1h -- p2p -N 4");
		code = CODE_USAGE;
	} else {
		code = start(s, &e);
	}
	return code ? talk_fail(&e, code) : code;
}

static int run_turn(struct session *s)
{
	struct err e = { 0 };
	const int code = repeat_turn(s->args[0], &e);

	return e.text[0] ? talk_fail(&e, code) : code;
}

static const char *const examples[] = {
	"gpucheck watch --every=1h -- p2p -N 4 --quick -- --partition=gpu",
	"gpucheck watch --every=6h --runs=20 --show -- all -N 2",
	"gpucheck watch --every=1h --systemd -- gpu --local",
	"gpucheck watch --list",
	"gpucheck watch --stop=gpucheck-watch-20260131T091502Z-7f3a12",
	NULL
};

const struct command cmd_watch = {
	.name = "watch",
	.summary = "Repeat a run, by cron, Slurm's scrontab or systemd.",
	.usage = "[OPTION...] [-- COMMAND...]",
	.examples = examples,
	.takes = SPEC_CMD_WATCH,
	.run = run_watch,
};

const struct command cmd_turn = {
	.name = REPEAT_TURN,
	.summary = "One run of a watch; started by its entry.",
	.usage = "DIR",
	.hidden = true,
	.takes = SPEC_CMD_INNER,
	.min_args = 1,
	.max_args = 1,
	.needs = "the directory of a watch",
	.run = run_turn,
};
