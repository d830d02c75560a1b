/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/launch_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/spawn.h"
#include "lib/data/rundir.h"

/** What a signal handler or a shell in front of us changed. */
static void default_signals(void)
{
	static const int changed[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE,
				       SIGCHLD };
	sigset_t none;

	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		signal(changed[i], SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/** Open @path for reading as file descriptor @fd; 0 or -1 with errno. */
static int open_as(int fd, const char *path)
{
	int opened = open(path, O_RDONLY);

	if (opened < 0 || opened == fd) {
		return opened < 0 ? -1 : 0;
	}
	if (dup2(opened, fd) < 0) {
		return -1;
	}
	return close(opened);
}

/** The child's way to its program; comes back only when it fails. */
static void become(const struct args *a, const struct args *env, int in_fd,
		   int out_fd, pid_t parent)
{
	char in_path[64] = "/dev/null";

	/* opened anew, so that each child reads from the start */
	if (in_fd >= 0) {
		snprintf(in_path, sizeof(in_path), "/proc/self/fd/%d", in_fd);
	}
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) {
		_exit(1);	/* it died before the line above */
	}
	default_signals();
	for (size_t i = 0; env && i < env->n; i++) {
		putenv(env->argv[i]);
	}
	if (open_as(STDIN_FILENO, in_path) < 0 ||
	    dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(out_fd, STDERR_FILENO) < 0) {
		return;
	}
	execvp(a->argv[0], a->argv);
}

int launch_child_start(struct launch_child *c, const struct args *a,
		       const struct args *env, int in_fd, const char *dir,
		       const char *out, struct err *e)
{
	const pid_t parent = getpid();
	int why = 0, report[2], out_fd;
	pid_t pid;

	if (a->failed || (env && env->failed)) {
		return err_set(e, ENOMEM, "no memory for a command line");
	}
	out_fd = out ? rundir_open_fd(dir, out, O_WRONLY | O_CREAT | O_APPEND,
				      e) :
		       open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (out_fd < 0) {
		return out ? -1 : err_set(e, errno, "cannot open /dev/null");
	}
	/* the child's errno, or end of file once it is the new program */
	if (pipe2(report, O_CLOEXEC) < 0) {
		close(out_fd);
		return err_set(e, errno, "cannot make a pipe");
	}
	pid = fork();
	if (pid == 0) {
		become(a, env, in_fd, out_fd, parent);
		why = errno;
		_exit(write(report[1], &why, sizeof(why)) < 0 ? 126 : 127);
	}
	if (pid < 0) {
		why = errno;
	}
	close(out_fd);
	close(report[1]);
	if (pid > 0 && read(report[0], &why, sizeof(why)) > 0) {
		waitpid(pid, NULL, 0);
	}
	close(report[0]);
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
