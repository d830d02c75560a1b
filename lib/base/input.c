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

FILE *input_open(const char *what, const char *path, size_t max, struct err *e)
{
	static const char *const by_number[] = { "/dev/fd/", "/proc/self/fd/" };
	int given = strcmp(path, "-") == 0 ||
				    strcmp(path, "/dev/stdin") == 0 ?
			    STDIN_FILENO : -1, fd;
	struct stat st;
	FILE *f = NULL;
	int64_t n;

	/* a pipe of the shell, "<(...)", is known by its number alone: opened
	 * again it would not report that its writer has ended */
	for (size_t k = 0; k < 2; k++) {
		if (str_starts(path, by_number[k]) &&
		    units_parse_int(path + strlen(by_number[k]), 0, 1 << 20,
				    &n, NULL) == 0) {
			given = (int)n;
		}
	}
	fd = given >= 0 ? fcntl(given, F_DUPFD_CLOEXEC, 0) :
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0) {
		f = NULL;
	} else if (S_ISREG(st.st_mode) ||
		   (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))) {
		f = fdopen(fd, "r");	/* or /dev/null */
	} else if (given >= 0 && (S_ISFIFO(st.st_mode) ||
				  S_ISSOCK(st.st_mode) || isatty(fd))) {
		f = open_pipe(fd, given == STDIN_FILENO, max);
	} else if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
	} else {
		/* a FIFO with a name may have no writer, and another user may
		 * have made it */
		err_set(e, 0, "%s '%s' is a %s, not a file", what, path,
			S_ISFIFO(st.st_mode)   ? "FIFO" :
			S_ISSOCK(st.st_mode) ? "socket" : "device");
		err_hint(e, "use a regular file; read a pipe with '-' or "
			 "<(command)");
		close(fd);
		return NULL;
	}
	if (!f) {
		err_set(e, errno, "cannot read %s '%s'", what, path);
		if (fd >= 0) {
			close(fd);
		}
	}
	return f;
}

int input_read(const char *what, const char *path, size_t max, struct str *out,
	       struct err *e)
{
	FILE *f = input_open(what, path, max, e);
	char buf[16384], size[32];
	size_t n, sum = 0;
	int why;

	if (!f) {
		return -1;
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
	if (why == EFBIG || sum > max) {
		return err_set(e, 0, "%s '%s' is larger than %s", what, path,
			       units_size_text(max, size, sizeof(size)));
	}
	why = out->failed ? ENOMEM : why;
	return why ? err_set(e, why, "cannot read %s '%s'", what, path) : 0;
}
