/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
		return err_set(e, errno, "cannot make a pipe");
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

/** Let @fd of the child be the pipe of @o, or /dev/null without one. */
static int route(posix_spawn_file_actions_t *actions, int fd,
		 const struct spawn_outlet *o)
{
	if (!o->text) {
		return posix_spawn_file_actions_addopen(actions, fd,
							"/dev/null", O_WRONLY,
							0);
	}
	return posix_spawn_file_actions_adddup2(actions, o->write_fd, fd);
}

/**
 * Own process group, so that grandchildren die with the child; no inherited
 * signal mask or ignored signals, which would make it immune to TERM or PIPE.
 */
static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, defaults;
	int rc;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	sigaddset(&defaults, SIGINT);
	sigaddset(&defaults, SIGTERM);
	rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP |
						    POSIX_SPAWN_SETSIGMASK |
						    POSIX_SPAWN_SETSIGDEF);
	rc = rc ? rc : posix_spawnattr_setpgroup(attr, 0);
	rc = rc ? rc : posix_spawnattr_setsigmask(attr, &none);
	return rc ? rc : posix_spawnattr_setsigdefault(attr, &defaults);
}

/** posix_spawnp() with @out and @err_out as its outputs; 0 or an errno. */
static int start(char *const argv[], const struct spawn_outlet *out,
		 const struct spawn_outlet *err_out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
					      "/dev/null", O_RDONLY, 0);
	rc = rc ? rc : route(&actions, STDOUT_FILENO, out);
	rc = rc ? rc : route(&actions, STDERR_FILENO, err_out);
	rc = rc ? rc : set_attributes(&attr);
	rc = rc ? rc : posix_spawnp(pid, argv[0], &actions, &attr, argv,
				    environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/** Has @pid ended?  Then it is reaped and @st says how. */
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

/** Has one of @ends come? */
static bool has_to_end(const sigset_t *ends)
{
	sigset_t come, both;

	return sigpending(&come) == 0 && sigandset(&both, ends, &come) == 0 &&
	       !sigisemptyset(&both);
}

/**
 * Read both outputs until the child has ended or the time is up.  The child's
 * end is what counts, not the pipes': a daemon that it left behind may hold
 * them open for ever.
 */
static void follow(struct spawn_child *c, int64_t deadline_ns,
		   struct spawn_status *st)
{
	while (!reap(c->pid, st)) {
		struct pollfd fds[2] = {
			{ .fd = c->outlets[0].read_fd, .events = POLLIN },
			{ .fd = c->outlets[1].read_fd, .events = POLLIN },
		};

		if (!st->timed_out && has_to_end(&c->ends)) {
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
		why = start(argv, &c->outlets[0], &c->outlets[1], &c->pid);
		rc = why ? err_set(e, why, "cannot start '%s'", argv[0]) : 0;
	}
	close_outlets(c, rc < 0);
	return rc;
}

void spawn_finish(struct spawn_child *c, int64_t deadline_ns,
		  struct spawn_status *st)
{
	*st = (struct spawn_status){ .exit_code = -1 };
	follow(c, deadline_ns, st);
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

/** sigabbrev_np() is younger than the C library of many clusters. */
static const char *signal_name(int sig)
{
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

	return sig > 0 && (size_t)sig < n && names[sig] ? names[sig] :
							  "unnamed";
}

const char *spawn_status_text(const struct spawn_status *st, char *buf,
			      size_t size)
{
	if (st->timed_out) {
		snprintf(buf, size, "no answer in time");
	} else if (st->signal) {
		snprintf(buf, size, "signal %d (%s)", st->signal,
			 signal_name(st->signal));
	} else {
		snprintf(buf, size, "exit code %d", st->exit_code);
	}
	return buf;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

bool spawn_find(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH");
	char full[PATH_MAX];
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
		    is_program(full)) {
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
