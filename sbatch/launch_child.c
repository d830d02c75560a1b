/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/launch_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/spawn.h"
#include "lib/data/rundir.h"

/** What a child is to be. */
struct become {
	const struct args *argv, *env;
	int in_fd, out_fd;
};

static void become(void *arg)
{
	const struct become *b = arg;
	char in[64] = "/dev/null";

	/* opened anew, so that each child reads from the start */
	if (b->in_fd >= 0) {
		snprintf(in, sizeof(in), "/proc/self/fd/%d", b->in_fd);
	}
	for (size_t i = 0; b->env && i < b->env->n; i++) {
		putenv(b->env->argv[i]);
	}
	if (spawn_io(in, b->out_fd, b->out_fd) == 0) {
		execvp(b->argv->argv[0], b->argv->argv);
	}
}

int launch_child_start(struct launch_child *c, const struct args *a,
		       const struct args *env, int in_fd, const char *dir,
		       const char *out, struct err *e)
{
	struct become b = { a, env, in_fd, -1 };
	pid_t pid;
	int why;

	if (a->failed || (env && env->failed)) {
		return err_set(e, ENOMEM, "no memory for a command line");
	}
	if (out) {
		b.out_fd = rundir_open_fd(dir, out,
					  O_WRONLY | O_CREAT | O_APPEND, e);
	}
	if (out && b.out_fd < 0) {
		return -1;
	}
	why = spawn_fork(SIGTERM, become, &b, &pid);
	if (b.out_fd >= 0) {
		close(b.out_fd);
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

void launch_tell_absent(int news, const char *source, const char *node,
			const char *code, json_t *detail)
{
	json_t *json = json_pack("{s:s,s:s,s:s,s:o}", "node", node, "code",
				 code, "source", source, "detail", detail);
	char *line = json ? json_dumps(json, JSON_COMPACT) : NULL;

	if (line) {
		dprintf(news, "%s\n", line);
	}
	free(line);
	json_decref(json);
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
