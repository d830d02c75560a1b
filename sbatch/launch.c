/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions common to all launchers, and defaults for those they leave out. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/spawn.h"
#include "lib/data/rundir.h"
#include "sbatch/launcher.h"

/* ---- args ---------------------------------------------------------------- */

void args_add(struct args *a, const char *arg)
{
	args_addf(a, "%s", arg);
}

void args_addf(struct args *a, const char *fmt, ...)
{
	char *arg, **grown;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&arg, fmt, ap) < 0) {
		arg = NULL;
	}
	va_end(ap);
	grown = arg ? realloc(a->argv, (a->n + 2) * sizeof(char *)) : NULL;
	if (!grown) {
		free(arg);
		a->failed = true;
		return;
	}
	a->argv = grown;
	a->argv[a->n++] = arg;
	a->argv[a->n] = NULL;
}

void args_words(struct args *a, const char *words)
{
	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		args_addf(a, "%.*s", (int)n, words);
	}
}

void args_unset(struct args *a, const char *name)
{
	args_words(a, a->n > 0 ? "-u" : "env -u");
	args_add(a, name);
}

void args_add_all(struct args *a, char *const more[])
{
	for (; more && *more; more++) {
		args_add(a, *more);
	}
}

void args_add_places(struct args *a, const char *list, const struct spec *s)
{
	struct str left = STR_INIT;

	list = list ? list : s->nodelist;
	/* Slurm refuses a job of which the two lists overlap */
	if (list[0] && s->exclude[0]) {
		spec_nodes_left(s, list, &left);
		a->failed = a->failed || left.failed;
		list = str_text(&left);
	}
	if (list[0]) {
		args_addf(a, "--nodelist=%s", list);
	}
	str_release(&left);
	if (s->exclude[0]) {
		args_addf(a, "--exclude=%s", s->exclude);
	}
}

void args_add_srun(struct args *a, const struct spec *s)
{
	char **words = spec_words(s->srun_args);

	a->failed = a->failed || !words;
	args_add_all(a, words);
	free(words);
}

void args_line(const struct args *a, struct str *out)
{
	for (size_t i = 0; i < a->n; i++) {
		str_add(out, i ? " " : "");
		str_add_quoted(out, a->argv[i]);
	}
}

void args_release(struct args *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->argv[i]);
	}
	free(a->argv);
	*a = (struct args){ 0 };
}

/* ---- launch child -------------------------------------------------------- */

int launch_child_start(struct launch_child *c, const struct args *a,
		       const struct args *env, int in_fd, const char *dir,
		       const char *out, struct err *e)
{
	struct spawn_new new = {
		.argv = a->argv, .env = env ? env->argv : NULL, .in_fd = -1,
		.out_fd = -1, .here = true, .sig = SIGTERM,
	};
	char in[64];
	pid_t pid;
	int why;

	if (a->failed || (env && env->failed)) {
		return err_set(e, ENOMEM, "no memory for a command line");
	}
	/* opened again, so that each child reads from the start */
	if (in_fd >= 0) {
		snprintf(in, sizeof(in), "/proc/self/fd/%d", in_fd);
		new.in = in;
	}
	if (out) {
		new.out_fd = rundir_open_fd(
			dir, out, O_WRONLY | O_CREAT | O_APPEND, e);
	}
	if (out && new.out_fd < 0) {
		return -1;
	}
	new.err_fd = new.out_fd;
	why = spawn_fork(&new, &pid);
	if (new.out_fd >= 0) {
		close(new.out_fd);
	}
	if (why) {
		return err_set(e, why, "cannot start '%s'", a->argv[0]);
	}
	*c = (struct launch_child){ .pid = pid, .exit_code = -1 };
	return 0;
}

bool launch_child_ended(struct launch_child *c)
{
	siginfo_t how = { 0 };

	if (c->ended || c->pid == 0) {
		return true;
	}
	if (waitid(P_PID, (id_t)c->pid, &how, WEXITED | WNOHANG | WNOWAIT) <
	    0) {
		c->pid = 0;	/* reaped by the kernel: SIGCHLD is ignored */
		c->ended = true;
	} else if (how.si_pid == c->pid) {
		c->exit_code = how.si_code == CLD_EXITED ? how.si_status :
							   128 + how.si_status;
		c->ended = true;
	}
	return c->ended;
}

void launch_child_signal(struct launch_child *c, int sig)
{
	if (c->pid) {
		kill(-c->pid, sig);
	}
}

void launch_child_end(struct launch_child *c)
{
	if (launch_child_ended(c) && c->pid) {
		kill(-c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
	}
}

int launch_child_need(const char *program, struct err *why)
{
	if (spawn_find(program, NULL, 0)) {
		return 0;
	}
	err_set(why, ENOENT, "no '%s' on PATH", program);
	return err_hint(why, "--local runs on this machine without Slurm");
}

/* ---- launch -------------------------------------------------------------- */

int launcher_usable(const struct launcher_ops *ops, struct err *why)
{
	if (ops->usable && ops->usable(why) < 0) {
		return -1;
	}
	return ops->program ? launch_child_need(ops->program, why) : 0;
}

int launcher_hosts(const struct launcher_ops *ops, const struct spec *s,
		   struct hosts *h, struct err *e)
{
	if (ops->hosts(s, h, e) == 0 &&
	    hosts_choose(h, s->nodelist, s->exclude, e) == 0) {
		return 0;
	}
	hosts_release(h);
	return -1;
}

int launcher_check(const struct launcher_ops *ops, const struct spec *s,
		   struct err *e)
{
	struct hosts h = { 0 };
	int rc = ops->check ? ops->check(s, e) : 0;

	if (rc == 0 && ops->hosts) {
		rc = launcher_hosts(ops, s, &h, e);
	}
	hosts_release(&h);
	return rc;
}

void launcher_usual(const struct launcher_ops *ops, const struct spec *s,
		    int64_t *nodes, int64_t *gpus)
{
	struct hosts h = { 0 };

	if (ops->usual) {
		ops->usual(s, nodes, gpus);
	} else if (ops->hosts && launcher_hosts(ops, s, &h, NULL) == 0) {
		*nodes = (int64_t)h.n;
	}
	hosts_release(&h);
}

const char *launcher_job_id(const struct launcher_ops *ops,
			    const struct launch *l)
{
	return ops->job_id ? ops->job_id(l) : "";
}

struct launch *launcher_start(const struct launcher_ops *ops,
			      const struct launch_request *r, struct err *e)
{
	struct launch *l = calloc(1, ops->size);

	if (!l) {
		err_set(e, ENOMEM, "no memory for a run");
		return NULL;
	}
	if (ops->start(l, r, e) < 0) {
		launcher_free(ops, l);
		return NULL;
	}
	return l;
}

int launcher_adopt(const struct launcher_ops *ops, const char *dir, bool past,
		   struct launch **l, struct err *e)
{
	int rc;

	*l = calloc(1, ops->size);
	if (!*l) {
		return err_set(e, ENOMEM, "no memory for a run");
	}
	rc = ops->adopt(*l, dir, past, e);
	if (rc <= 0) {
		launcher_free(ops, *l);
		*l = NULL;
	}
	return rc;
}

void launcher_free(const struct launcher_ops *ops, struct launch *l)
{
	if (ops->release) {
		ops->release(l);
	}
	free(l);
}

void launcher_add_agent(const struct launch_request *r, struct args *a)
{
	args_add(a, r->self);
	args_add(a, "agent");
	args_add(a, r->dir);
}

void launch_say(struct launch_state *st, enum launch_phase phase,
		int exit_code, const char *fmt, ...)
{
	va_list ap;

	*st = (struct launch_state){ .phase = phase, .exit_code = exit_code };
	va_start(ap, fmt);
	vsnprintf(st->text, sizeof(st->text), fmt, ap);
	va_end(ap);
}

bool launch_starts(const struct launch_state *st, char *buf, size_t size)
{
	const time_t at = (time_t)st->starts_s;
	struct tm tm;

	return st->starts_s > 0 && gmtime_r(&at, &tm) &&
	       strftime(buf, size, "%Y-%m-%d %H:%M UTC", &tm) > 0;
}

const char *launch_waits(const struct launch_state *st, char *buf)
{
	char when[32];

	snprintf(buf, LAUNCH_WAITS_SIZE, "%s", st->phase == LAUNCH_PENDING ?
		 "pending" : "starting");
	if (st->phase == LAUNCH_PENDING &&
	    launch_starts(st, when, sizeof(when))) {
		snprintf(buf, LAUNCH_WAITS_SIZE,
			 "pending, expected to start about %.20s", when);
	}
	return buf;
}
