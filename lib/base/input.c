/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files that a user names: another user may have put a FIFO or a device in
 * their place, which must not be read without end. */
#include "lib/base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/units.h"

#define SILENCE_MS	 30000
/** A command that feeds us may take a while, and ^C ends both. */
#define STDIN_SILENCE_MS 600000

struct input {
	int fd, silence_ms;
	size_t left;
};

static ssize_t read_some(void *cookie, char *buf, size_t size)
{
	struct input *in = cookie;
	struct pollfd p = { .fd = in->fd, .events = POLLIN };
	const int ready = poll(&p, 1, in->silence_ms);
	ssize_t n;

	if (ready <= 0) {
		errno = ready < 0 ? errno : ETIMEDOUT;
		return -1;
	}
	n = read(in->fd, buf, size);
	if (n > 0 && (size_t)n > in->left) {
		errno = EFBIG;
		return -1;
	}
	in->left -= n > 0 ? (size_t)n : 0;
	return n;
}

static int close_input(void *cookie)
{
	struct input *in = cookie;
	const int rc = close(in->fd);

	free(in);
	return rc;
}

/** A pipe of the shell, "<(...)", is known by its number alone: opened anew it
 *  would not say that its writer has gone. */
static int open_any(const char *path)
{
	static const char by_number[] = "/dev/fd/";
	int64_t fd;

	if (strcmp(path, "-") == 0) {
		return dup(STDIN_FILENO);
	}
	return str_starts(path, by_number) &&
			       units_parse_int(path + strlen(by_number), 0,
					       1 << 20, &fd, NULL) == 0 ?
		       dup((int)fd) :
		       open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static FILE *open_pipe(int fd, bool is_stdin, size_t max)
{
	static const cookie_io_functions_t calls = {
		.read = read_some, .close = close_input,
	};
	struct input *in = malloc(sizeof(*in));
	FILE *f = NULL;

	if (in) {
		*in = (struct input){
			.fd = fd, .left = max,
			.silence_ms = isatty(fd) ? -1 :
				      is_stdin	 ? STDIN_SILENCE_MS :
						   SILENCE_MS,
		};
		f = fopencookie(in, "r", calls);
	}
	if (!f) {
		free(in);
	}
	return f;
}

/** As input_open(); NULL with errno. */
static FILE *open_input(const char *path, size_t max)
{
	const int fd = open_any(path);
	struct stat st;
	FILE *f = NULL;

	if (fd < 0 || fstat(fd, &st) < 0) {
		return NULL;
	}
	if (S_ISREG(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))) {
		f = fdopen(fd, "r");	/* or /dev/null */
	} else if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
		   isatty(fd)) {
		f = open_pipe(fd, strcmp(path, "-") == 0, max);
	} else {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	}
	if (!f) {
		const int why = errno;

		close(fd);
		errno = why;
	}
	return f;
}

FILE *input_open(const char *path, size_t max, struct err *e)
{
	FILE *f = open_input(path, max);

	if (!f && errno == EINVAL) {
		err_set(e, errno, "cannot read '%s', which is neither a file "
			"nor a pipe", path);
	} else if (!f) {
		err_set(e, errno, "cannot read '%s'", path);
	}
	return f;
}

int input_read(const char *path, size_t max, struct str *out)
{
	FILE *f = open_input(path, max);
	char buf[16384];
	size_t n, sum = 0;
	int why;

	if (!f) {
		return errno;
	}
	str_addmem(out, "", 0);		/* an empty file is a text too */
	do {
		errno = 0;
		n = fread(buf, 1, sizeof(buf), f);
		why = ferror(f) ? errno : 0;
		sum += n;
		str_addmem(out, buf, n);
	} while (n > 0 && !why && sum <= max);
	fclose(f);
	return why ? why : sum > max ? EFBIG : out->failed ? ENOMEM : 0;
}
