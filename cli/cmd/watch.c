/* SPDX-License-Identifier: BSD-3-Clause */
/* gpucheck watch: repeat a command, by Slurm jobs or a systemd timer. */
#include "cli/front/help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/options.h"
#include "cli/front/talk.h"
#include "cli/run/chain.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/spawn.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/** Time of a run without --time-limit. */
#define MAX_TIME_S 1800

/** Words of the command line, to be NULL-ended. */
struct watch_words {
	char *list[CHAIN_WORDS + 4];
	size_t n;
};

static void add_word(struct watch_words *w, const char *word)
{
	if (w->n < CHAIN_WORDS) {
		w->list[w->n++] = (char *)word;
	}
}

/* ---- command to run ------------------------------------------------------ */

/** The command behind "--", its options checked as it will check them. */
static int check_inner(struct session *inner, const struct session *s,
		       struct err *e)
{
	const struct command *cmd = command_find(s->commands, inner->argv[1]);

	if (!cmd || cmd->hidden) {
		return err_set(e, 0, "there is no command '%.100s'",
			       inner->argv[1]);
	}
	if (options_parse(inner, cmd, e) != 0) {
		return e->text[0] ? -1 : err_set(e, 0, "help is no run");
	}
	if (!(cmd->takes & (SPEC_CMD_JUDGES & ~(unsigned)(SPEC_CMD_REPORT |
							  SPEC_CMD_ATTACH |
							  SPEC_CMD_HANG)))) {
		err_set(e, 0, "'%s' is no probe that could be repeated",
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

/** Read the typed options as a chain; @c borrows its words from @w. */
static int take_chain(const struct session *s, struct watch_words *w,
		      char history[PATH_MAX + 16], const char *dir,
		      struct chain *c, struct err *e)
{
	struct session inner = { .commands = s->commands };
	char **word = s->extra;
	size_t slurm;

	*c = (struct chain){
		.timer = s->spec.systemd[0] != '\0',
		.every_s = s->spec.every_ns / NS_PER_S, .runs = s->spec.runs,
		.until_s = time(NULL) + s->spec.lasting_ns / NS_PER_S,
	};
	add_word(w, "gpucheck");
	for (; *word && strcmp(*word, "--") != 0; word++) {
		add_word(w, *word);
	}
	w->list[w->n++] = NULL;
	slurm = w->n;
	for (word += *word != NULL; *word; word++) {
		add_word(w, *word);
	}
	w->list[w->n++] = NULL;
	if (!w->list[1] || w->n > CHAIN_WORDS) {
		err_set(e, 0, w->list[1] ? "too many words" :
					   "no command to repeat");
		return err_hint(e, "gpucheck watch --every=1h -- p2p -N 4 -- "
				   "--partition=gpu");
	}
	inner.argv = w->list;
	inner.argc = (int)slurm - 1;
	if (check_inner(&inner, s, e) < 0) {
		options_release(&inner);
		return -1;
	}
	c->max_time_s = inner.spec.max_time_ns / NS_PER_S;
	if (!c->max_time_s) {
		c->max_time_s = c->every_s < MAX_TIME_S ? c->every_s :
							  MAX_TIME_S;
	}
	if (!inner.spec.history[0]) {
		snprintf(history, PATH_MAX + 16, "--history=%s/history", dir);
		memmove(&w->list[slurm], &w->list[slurm - 1],
			(w->n - slurm + 1) * sizeof(*w->list));
		w->list[slurm - 1] = history;
		slurm++;
		w->n++;
	}
	c->words = w->list;
	c->slurm = &w->list[slurm];
	options_release(&inner);
	return 0;
}

/* ---- start and stop ------------------------------------------------------ */

static int write_unit(const char *folder, const struct chain *c,
		      const char *kind, const struct str *text, struct err *e)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.%s", c->name, kind);
	return rundir_write_text(folder, name, str_text(text), 0644, e);
}

/** The units: to their folder, or on stdout. */
static int units(const struct session *s, const struct chain *c,
		 const char *dir, struct err *e)
{
	const char *folder = s->spec.systemd;
	const char *user = geteuid() == 0 ? "" : " --user";
	const bool print = strcmp(folder, "-") == 0 || s->spec.dry_run;
	struct str service = STR_INIT, timer = STR_INIT;
	struct args env = { 0 };
	char self[PATH_MAX], cwd[PATH_MAX];
	struct chain_place place = { .self = self, .dir = dir, .cwd = cwd };
	int rc = spawn_self(self, sizeof(self), e);

	if (rc == 0 && !getcwd(cwd, sizeof(cwd))) {
		rc = err_set(e, errno, "cannot name the working directory");
	}
	chain_environment(command_find(s->commands, c->words[1]), &env);
	place.env = env.argv;
	if (rc == 0) {
		rc = env.failed ? err_set(e, ENOMEM, "no memory for a unit") :
		     chain_units(c, &place, &service, &timer, e);
	}
	if (rc == 0 && print) {
		printf("# %s.service\n%s\n# %s.timer\n%s", c->name,
		       str_text(&service), c->name, str_text(&timer));
	} else if (rc == 0) {
		rc = write_unit(folder, c, "service", &service, e) < 0 ||
		     write_unit(folder, c, "timer", &timer, e) < 0 ? -1 : 0;
	}
	if (rc == 0 && !print) {
		printf("%s\n", dir);
		talk("to start it: systemctl%s daemon-reload; systemctl%s "
		     "enable --now %s.timer", user, user, c->name);
	}
	args_release(&env);
	str_release(&service);
	str_release(&timer);
	return rc;
}

static int jobs(const struct session *s, const struct chain *c,
		const char *dir, struct err *e)
{
	struct str show = STR_INIT;
	char job[SLURM_JOB_SIZE] = "", spare[SLURM_JOB_SIZE], word[PATH_MAX];
	struct err why = { 0 };
	int rc = chain_submit(c, dir, s->commands, 0, job,
			      s->spec.dry_run ? &show : NULL, e);

	if (rc == 0 && s->spec.dry_run) {
		fputs(str_text(&show), stdout);
	} else if (rc == 0) {
		printf("%s\n%s\n", dir, job);
		if (!chain_over(c, 1, time(NULL) + c->every_s) &&
		    chain_submit(c, dir, s->commands, c->every_s, spare, NULL,
				 &why) < 0) {
			talk("the next turn has no spare: %s", why.text);
		}
		talk_hint("to stop it: \"gpucheck watch --stop=%s\"",
			  str_quoted_dir(dir, word, sizeof(word)));
	}
	str_release(&show);
	return rc;
}

static int start(const struct session *s, struct err *e)
{
	const char *wanted = s->spec.out[0] ? s->spec.out : NULL;
	char dir[PATH_MAX] = "gpucheck-watch", history[PATH_MAX + 16];
	struct watch_words w = { .n = 0 };
	struct chain c;
	json_t *json;
	int rc;
	const char *base;
	size_t n;

	/* checked before a directory is made */
	if (take_chain(s, &w, history, dir, &c, e) < 0) {
		return CODE_USAGE;
	}
	if (!s->spec.dry_run && rundir_create(wanted, "watch", dir, e) < 0) {
		return e->code == ENOTEMPTY ? CODE_USAGE : CODE_UNABLE;
	}
	if (s->spec.dry_run && wanted) {
		STR_COPY(dir, wanted);
	}
	w.n = 0;
	rc = take_chain(s, &w, history, dir, &c, e);
	/* named after its directory, which belongs to no other watch */
	base = strrchr(dir, '/');
	n = (size_t)snprintf(c.name, sizeof(c.name),
				    "gpucheck-watch-");
	base = base ? base + 1 : dir;
	base = str_starts(base, c.name) ? base + n : base;
	for (; *base && n + 1 < sizeof(c.name); base++) {
		c.name[n++] = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN"
				      "OPQRSTUVWXYZ0123456789-_", *base) ?
				       *base : '_';
	}
	c.name[n] = '\0';
	if (rc == 0 && !s->spec.dry_run) {
		json = chain_json(&c);
		rc = json ? rundir_write_json(dir, CHAIN_FILE, json, e) :
			    err_set(e, EILSEQ, "cannot write '%s'", CHAIN_FILE);
		json_decref(json);
	}
	rc = rc < 0 ? -1 : c.timer ? units(s, &c, dir, e) : jobs(s, &c, dir, e);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}

static int stop(const char *name, struct err *e)
{
	const char *user = geteuid() == 0 ? "" : " --user";
	struct chain c = { .name = "" };
	char dir[PATH_MAX];
	int rc;

	if (!realpath(name, dir)) {
		err_set(e, errno, "cannot open '%s'", name);
		return CODE_USAGE;
	}
	if (chain_read(dir, &c, e) < 0) {
		return CODE_UNABLE;
	}
	rc = rundir_write_text(dir, CHAIN_STOP, "", 0666, e);
	if (rc == 0 && c.timer) {
		talk("no run starts any more; to remove the timer: systemctl%s "
		     "disable --now %s.timer", user, c.name);
	} else if (rc == 0) {
		rc = chain_cancel(&c, dir, e);
		talk("no run starts any more; one that is at work goes on to "
		     "its end");
	}
	chain_release(&c);
	return rc < 0 ? CODE_UNABLE : CODE_HEALTHY;
}

static int run_watch(struct session *s)
{
	struct err e = { 0 };
	int code;

	if (spec_check(&s->spec, &e) < 0) {
		return talk_fail(&e, CODE_USAGE);
	}
	if (s->spec.stop[0]) {
		code = stop(s->spec.stop, &e);
	} else if (!s->spec.every_ns) {
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
	const int code = chain_turn(s->args[0], s->commands, &e);

	return e.text[0] ? talk_fail(&e, code) : code;
}

static const char *const examples[] = {
	"gpucheck watch --every=1h -- p2p -N 4 --quick -- --partition=gpu",
	"gpucheck watch --every=6h --runs=20 --dry-run -- all -N 2",
	"gpucheck watch --every=1h --systemd -- gpu --local",
	"gpucheck watch --stop=gpucheck-watch-20260131T091502Z-7f3a12",
	NULL
};

const struct command cmd_watch = {
	.name = "watch",
	.summary = "Repeat a run, as jobs of Slurm or by a timer.",
	.usage = "[OPTION...] [-- COMMAND...]",
	.examples = examples,
	.takes = SPEC_CMD_WATCH,
	.run = run_watch,
};

const struct command cmd_turn = {
	.name = CHAIN_TURN,
	.summary = "One run of a watch; started by its job or timer.",
	.usage = "DIR",
	.hidden = true,
	.takes = SPEC_CMD_INNER,
	.min_args = 1,
	.max_args = 1,
	.needs = "the directory of a watch",
	.run = run_turn,
};
