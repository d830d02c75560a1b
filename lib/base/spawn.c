/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"

/** How often to look whether the child has ended: its pipes do not tell. */
#define SPAWN_REAP_MS 5
/** A killed child in an unbroken system call (NFS) is not waited for longer. */
#define SPAWN_KILL_NS (2 * NS_PER_S)
/** As much as a pipe holds: one read empties it. */
#define SPAWN_PIPE_SIZE 65536
/** A child that is stopped before it is its program is waited for no longer. */
#define SPAWN_EXEC_MS 2000

static void close_fd(int *fd)
{
	if (*fd >= 0) {
		close(*fd);
		*fd = -1;
	}
}

static int outlet_open(struct spawn_outlet *o, struct err *e)
{
	int fds[2] = { -1, -1 };

	if (o->text && pipe2(fds, O_CLOEXEC) < 0) {
		return err_set(e, errno, "cannot create a pipe");
	}
	o->read_fd = fds[0];
	o->write_fd = fds[1];
	fcntl(o->read_fd, F_SETFL, O_NONBLOCK);
	return 0;
}

/** The child's ends of both; @whole: ours, too. */
static void close_outlets(struct spawn_child *c, bool whole)
{
	for (int i = 0; i < 2; i++) {
		close_fd(&c->outlets[i].write_fd);
		if (whole) {
			close_fd(&c->outlets[i].read_fd);
		}
	}
}

/**
 * Take what is there, keep what there is room for, close at the end.  One read
 * a call, so that a child that never stops writing does not hold us here.
 */
static void outlet_drain(struct spawn_outlet *o)
{
	char buf[SPAWN_PIPE_SIZE];
	size_t kept;
	ssize_t n;

	if (o->read_fd < 0) {
		return;
	}
	n = read(o->read_fd, buf, sizeof(buf));
	if (n > 0) {
		kept = (size_t)n < o->room ? (size_t)n : o->room;
		str_addmem(o->text, buf, kept);
		o->room -= kept;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close_fd(&o->read_fd);
	}
}

/** Open @path as file descriptor @fd, or where @from is one, that. */
static int put_at(int fd, int from, const char *path, int flags)
{
	int opened = from >= 0 ? from : open(path, flags);

	if (opened < 0 || opened == fd) {
		return opened < 0 ? -1 : fcntl(fd, F_SETFD, 0);
	}
	if (dup2(opened, fd) < 0) {
		return -1;
	}
	return from >= 0 ? 0 : close(opened);
}

/** In the child: become @s->argv, or return with errno. */
static void become(const struct spawn_new *s)
{
	for (size_t i = 0; s->env && s->env[i]; i++) {
		putenv(s->env[i]);
	}
	if (put_at(STDIN_FILENO, s->in ? -1 : s->in_fd,
		   s->in ? s->in : "/dev/null", O_RDONLY) == 0 &&
	    put_at(STDOUT_FILENO, s->out_fd, "/dev/null", O_WRONLY) == 0 &&
	    put_at(STDERR_FILENO, s->err_fd, "/dev/null", O_WRONLY) == 0 &&
	    (s->here || strchr(s->argv[0], '/') || chdir("/") == 0)) {
		execvp(s->argv[0], s->argv);
	}
}

int spawn_fork(const struct spawn_new *s, pid_t *pid)
{
	static const int changed[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE,
				       SIGCHLD };
	const pid_t parent = getpid();
	int n, why = 0, report[2];
	sigset_t none;

	/* the child's errno, or end of file once it is the new program */
	if (pipe2(report, O_CLOEXEC) < 0) {
		return errno;
	}
	*pid = fork();
	if (*pid == 0) {
		prctl(PR_SET_PDEATHSIG, s->sig);
		if (getppid() != parent) {
			_exit(1);	/* it died before the line above */
		}
		setpgid(0, 0);
		/* what a handler of ours or the calling shell changed: a child
		 * must not ignore TERM or PIPE */
		for (size_t i = 0; i < sizeof(changed) / sizeof(*changed);
		     i++) {
			signal(changed[i], SIG_DFL);
		}
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		become(s);
		why = errno;
		_exit(write(report[1], &why, sizeof(why)) < 0 ? 126 : 127);
	}
	if (*pid < 0) {
		why = errno;
	} else {
		setpgid(*pid, *pid);	/* in case that it is stopped now */
	}
	close(report[1]);
	do {
		n = poll(&(struct pollfd){ .fd = report[0], .events = POLLIN },
			 1, *pid > 0 ? SPAWN_EXEC_MS : 0);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && read(report[0], &why, sizeof(why)) > 0) {
		waitpid(*pid, NULL, 0);
	}
	close(report[0]);
	return why;
}

/** Reap @pid if it has ended: true, with its status in @st. */
static bool reap(pid_t pid, struct spawn_status *st)
{
	int status;
	pid_t got = waitpid(pid, &status, WNOHANG);

	if (got != pid) {
		return got < 0;	/* a SIGCHLD handler of the caller took it */
	}
	if (WIFSIGNALED(status)) {
		st->signal = WTERMSIG(status);
	} else {
		st->exit_code = WEXITSTATUS(status);
	}
	return true;
}

int spawn_start(struct spawn_child *c, char *const argv[], struct str *out,
		struct str *err_out, size_t max, struct err *e)
{
	int rc = -1, why;

	*c = (struct spawn_child){ .outlets = {
		{ .read_fd = -1, .write_fd = -1, .text = out, .room = max },
		{ .read_fd = -1, .write_fd = -1, .text = err_out,
		  .room = max },
	} };
	sigemptyset(&c->ends);
	if (outlet_open(&c->outlets[0], e) == 0 &&
	    outlet_open(&c->outlets[1], e) == 0) {
		why = spawn_fork(&(struct spawn_new){
			.argv = argv, .in_fd = -1,
			.out_fd = c->outlets[0].write_fd,
			.err_fd = c->outlets[1].write_fd, .sig = SIGKILL },
			&c->pid);
		rc = why ? err_set(e, why, "cannot start '%s'", argv[0]) : 0;
	}
	close_outlets(c, rc < 0);
	return rc;
}

/*
 * Reads both outputs until the child has ended or the time is up.  The child's
 * end is what counts, not the pipes': a daemon that it left behind may hold
 * them open for ever.
 */
void spawn_finish(struct spawn_child *c, int64_t deadline_ns,
		  struct spawn_status *st)
{
	sigset_t come, both;

	*st = (struct spawn_status){ .exit_code = -1 };
	while (!reap(c->pid, st)) {
		struct pollfd fds[2] = {
			{ .fd = c->outlets[0].read_fd, .events = POLLIN },
			{ .fd = c->outlets[1].read_fd, .events = POLLIN },
		};

		/* a signal that the caller holds back is the deadline */
		if (!st->timed_out && sigpending(&come) == 0 &&
		    sigandset(&both, &c->ends, &come) == 0 &&
		    !sigisemptyset(&both)) {
			deadline_ns = clock_now_ns();
		}
		if (clock_ms_left(deadline_ns) == 0) {
			st->timed_out = true;
			kill(-c->pid, SIGKILL);
			if (clock_ms_left(deadline_ns + SPAWN_KILL_NS) == 0) {
				break;
			}
		}
		poll(fds, 2, SPAWN_REAP_MS);
		outlet_drain(&c->outlets[0]);
		outlet_drain(&c->outlets[1]);
	}
	outlet_drain(&c->outlets[0]);
	outlet_drain(&c->outlets[1]);
	close_outlets(c, true);
}

int spawn_capture(char *const argv[], struct str *out, struct str *err_out,
		  size_t max, int64_t deadline_ns, struct spawn_status *st,
		  struct err *e)
{
	struct spawn_child c;

	if (spawn_start(&c, argv, out, err_out, max, e) < 0) {
		return -1;
	}
	spawn_finish(&c, deadline_ns, st);
	return 0;
}

const char *spawn_status_text(const struct spawn_status *st, char *buf,
			      size_t size)
{
	/* sigabbrev_np() is younger than the C library of many clusters */
	static const char *const names[] = {
		[SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",
		[SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
		[SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
		[SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
		[SIGKILL] = "SIGKILL", [SIGSEGV] = "SIGSEGV",
		[SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM",
		[SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
		[SIGXFSZ] = "SIGXFSZ", [SIGSYS] = "SIGSYS",
	};
	const size_t n = sizeof(names) / sizeof(names[0]);
	const int sig = st->signal;

	if (st->timed_out) {
		snprintf(buf, size, "no answer in time");
	} else if (sig) {
		snprintf(buf, size, "signal %d (%s)", sig,
			 sig > 0 && (size_t)sig < n && names[sig] ?
				 names[sig] : "unnamed");
	} else {
		snprintf(buf, size, "exit code %d", st->exit_code);
	}
	return buf;
}

bool spawn_find(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH");
	char full[PATH_MAX];
	struct stat st;
	size_t len;

	if (strchr(name, '/')) {
		dir = "";	/* a path is not looked up */
	} else if (!dir) {
		dir = "/bin:/usr/bin";
	}
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		if (snprintf(full, sizeof(full), "%.*s%s%s", (int)len, dir,
			     len ? "/" : "", name) < (int)sizeof(full) &&
		    stat(full, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(full, X_OK) == 0) {
			return !path || snprintf(path, size, "%s", full) <
						(int)size;
		}
		if (!dir[len]) {
			return false;
		}
	}
}

int spawn_self(char *path, size_t size, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", path, size);

	if (n < 0) {
		return err_set(e, errno, "cannot read '/proc/self/exe'");
	}
	if ((size_t)n >= size) {
		return err_set(e, ENAMETOOLONG,
			       "the path of this program is too long");
	}
	path[n] = '\0';
	return 0;
}

/* ---- the environment ----------------------------------------------------- */

/** Remove from the search path @name what is relative or what all users may
 *  write, or set it to @least if nothing is left.  A directory that does not
 *  exist is safe: it may exist on the nodes of a job.  True if it changed. */
static bool clean_path(const char *name, const char *least)
{
	const char *list = getenv(name), *at = list;
	struct str kept = STR_INIT;
	bool changed;

	while (at) {
		const size_t len = strcspn(at, ":;");
		char dir[PATH_MAX] = "";
		struct stat st;

		if (len < sizeof(dir)) {
			memcpy(dir, at, len);
		}
		if (dir[0] == '/' &&
		    (stat(dir, &st) < 0 || !(st.st_mode & S_IWOTH))) {
			str_addf(&kept, "%s%s", kept.len ? ":" : "", dir);
		}
		at = at[len] ? at + len + 1 : NULL;
	}
	least = kept.len ? str_text(&kept) : least;
	changed = list && strcmp(list, least) != 0 &&
		  setenv(name, least, 1) == 0;
	str_release(&kept);
	return changed;
}

/** Return true if this is root, and @dir is another user's or others may
 *  write it. */
static bool is_strange(const char *dir)
{
	struct stat st;

	return geteuid() == 0 && dir && stat(dir, &st) == 0 &&
	       (st.st_uid != 0 || st.st_mode & 022);
}

void spawn_leave_strangers(void)
{
	const struct passwd *root = getpwuid(0);

	if (is_strange(getenv("HOME"))) {
		setenv("HOME", root ? root->pw_dir : "/", 1);
	}
	if (is_strange(".") && chdir("/") < 0) {
		_exit(1);
	}
}

bool spawn_clean_environment(void)
{
	/* an empty PATH would be the working directory */
	clean_path("PATH", "/usr/bin:/bin");
	clean_path("PYTHONPATH", "");
	if (is_strange(getenv("HOME"))) {
		setenv("PYTHONNOUSERSITE", "1", 1);
	}
	/* nothing is looked up in an empty one of these */
	return clean_path("LD_LIBRARY_PATH", "");
}
