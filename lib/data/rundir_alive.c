/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Find out whether a run directory is in use. The coordinator locks events.csv,
 * and a front that runs several probes locks results.csv; the kernel drops
 * these locks when the process ends. Some file systems do not share locks
 * between machines; there the coordinator's sign of life is used.
 */
#include "lib/data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/net.h"

/** Maximum wait for an answer about a lock; without one there is no lock. */
#define LOCK_S 2
/** Time between two tries to get a lock that another process has. */
#define LOCK_TRY_NS (20 * NS_PER_MS)
/** Maximum age of a sign of life; clocks may differ. */
#define OLD_S 60
/** Bytes that a lock holder writes about itself. */
#define HOLDER_SIZE 200
/** Maximum wait for a sign of life, which is due every RUN_SIGN_NS. */
#define WATCH_NS (3 * RUN_SIGN_NS)

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/** A call of fcntl(2) that may hang: file systems of a network ask a daemon. */
struct lock_call {
	int fd, op, why;	/* why: 0 or errno */
	struct flock lock;
};

static void *call_main(void *arg)
{
	struct lock_call *c = arg;

	c->why = fcntl(c->fd, c->op, &c->lock) < 0 ? errno : 0;
	return NULL;
}

/**
 * fcntl(@fd, @op, @lock), but no longer than LOCK_S: 0 or errno; ETIMEDOUT
 * leaves the thread behind, with what it needs.
 */
static int lock_file(int fd, int op, struct flock *lock)
{
	struct lock_call *c = calloc(1, sizeof(*c));
	int why;

	if (!c) {
		return ENOMEM;
	}
	*c = (struct lock_call){ .fd = fd, .op = op, .lock = *lock };
	if (!within(LOCK_S, call_main, c)) {
		return ETIMEDOUT;
	}
	why = c->why;
	*lock = c->lock;
	free(c);
	return why;
}

/* Unlike with flock(2), a server of NFS and its clients see the same locks. */
static struct flock whole(short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

int rundir_lock(int fd, int64_t within_ns, struct err *e)
{
	const int64_t deadline_ns = clock_now_ns() + within_ns;

	for (;;) {
		struct flock lock = whole(F_WRLCK);
		const int why = lock_file(fd, F_OFD_SETLK, &lock);

		if (why == ETIMEDOUT) {
			return err_set(e, why, "the file system does not "
					       "answer about a lock");
		}
		if (why != EAGAIN && why != EACCES) {
			return 0;	/* or the file system has no locks */
		}
		if (clock_now_ns() > deadline_ns) {
			return err_set(e, EBUSY, "another process holds its "
						 "lock");
		}
		clock_sleep(LOCK_TRY_NS);
	}
}

int rundir_hold(int fd, struct err *e)
{
	struct flock lock = whole(F_WRLCK);
	int why = lock_file(fd, F_OFD_SETLK, &lock);

	if (why == EAGAIN || why == EACCES) {
		return err_set(e, EBUSY, "another coordinator is running in "
					 "this run directory");
	}
	return 0;	/* or the file system has no locks */
}

/** Open DIR/holder and lock it for this process: 0 and *@fd, or -1 where there
 *  are no locks; or errno, and another one has *@fd. */
static int lock_holder(const char *dir, int *fd)
{
	struct flock lock = whole(F_WRLCK);
	int why;

	*fd = rundir_open_fd(dir, RUN_HOLDER, O_RDWR | O_CREAT, NULL);
	if (*fd < 0) {
		return 0;
	}
	why = lock_file(*fd, F_OFD_SETLK, &lock);
	if (why == EAGAIN || why == EACCES) {
		return why;
	}
	if (why == ETIMEDOUT) {
		*fd = -1;	/* it is of the thread that was left behind */
	}
	return 0;
}

static void read_text(int fd, char text[HOLDER_SIZE])
{
	const ssize_t n = pread(fd, text, HOLDER_SIZE - 1, 0);

	text[n > 0 ? n : 0] = '\0';
}

int rundir_claim(const char *dir, int *fd, char *who, size_t size)
{
	const int64_t deadline_ns = clock_now_ns() + NS_PER_S;
	const char *job = getenv("SLURM_JOB_ID");
	char text[HOLDER_SIZE], host[64] = "";
	struct stat st;

	for (;;) {
		if (lock_holder(dir, fd) != 0) {
			/* what the holder wrote about itself; it may still be
			 * writing */
			read_text(*fd, text);
			while (!text[0] && clock_now_ns() <= deadline_ns) {
				clock_sleep(10 * NS_PER_MS);
				read_text(*fd, text);
			}
			str_copy(who, size, text[0] ? text :
						      "another process");
			close(*fd);
			*fd = -1;
			return -1;
		}
		if (*fd < 0) {
			return 0;
		}
		if (fstat(*fd, &st) < 0 || st.st_nlink > 0) {
			break;
		}
		close(*fd);	/* it was given back meanwhile */
	}
	gethostname(host, sizeof(host) - 1);
	if (ftruncate(*fd, 0) == 0) {
		dprintf(*fd, "process %ld on %s%s%.32s", (long)getpid(), host,
			job ? ", job " : "", job ? job : "");
	}
	return 0;
}

void rundir_unclaim(const char *dir, int fd)
{
	const int at = fd >= 0 ? rundir_at(dir) : -1;
	struct stat there, mine;

	/* if the folder still has this file as its holder */
	if (at >= 0 && fstat(fd, &mine) == 0 &&
	    fstatat(at, RUN_HOLDER, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino) {
		unlinkat(at, RUN_HOLDER, 0);
	}
	rundir_shut(at);
	rundir_shut(fd);
}

bool rundir_is_held(const char *dir)
{
	static const char *const names[] = { RUN_EVENTS, RUN_RESULTS };
	bool held = false;

	for (int i = 0; i < 2 && !held; i++) {
		struct flock lock = whole(F_RDLCK);
		int fd = rundir_open_fd(dir, names[i], O_RDONLY, NULL), why;

		if (fd < 0) {
			continue;	/* no process has created it yet */
		}
		why = lock_file(fd, F_OFD_GETLK, &lock);
		if (why != ETIMEDOUT) {
			close(fd);
		}
		held = why == 0 && lock.l_type != F_UNLCK;
	}
	return held;
}

bool rundir_is_here(const char *dir)
{
	static const unsigned long own[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC, RAMFS_MAGIC,
	};
	struct statfs fs;
	const int at = rundir_at(dir);
	const bool known = at >= 0 && fstatfs(at, &fs) == 0;

	rundir_shut(at);
	for (size_t i = 0; known && i < sizeof(own) / sizeof(*own); i++) {
		if ((unsigned long)fs.f_type == own[i]) {
			return true;
		}
	}
	return false;
}

int64_t rundir_sign_ns(const char *dir)
{
	/* opened, so that an NFS client asks the server how old it is */
	int fd = rundir_open_fd(dir, RUN_EVENTS, O_RDONLY, NULL);
	struct stat st = { 0 };

	if (fd >= 0) {
		fstat(fd, &st);
		close(fd);
	}
	return st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
}

bool rundir_signs(const char *dir)
{
	const int64_t deadline_ns = clock_now_ns() + WATCH_NS;
	const int64_t before_ns = rundir_sign_ns(dir);
	int64_t now_ns;

	if (before_ns / NS_PER_S + OLD_S < time(NULL)) {
		return false;
	}
	while (clock_now_ns() < deadline_ns) {
		clock_sleep(200 * NS_PER_MS);
		now_ns = rundir_sign_ns(dir);
		if (now_ns && now_ns != before_ns) {
			return true;
		}
	}
	return false;
}
