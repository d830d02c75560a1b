/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Append t->line by one write(2). */
static int write_line(struct rundir_table *t, struct err *e)
{
	ssize_t put;
	int why;

	if (t->line.failed) {
		return err_set(e, ENOMEM, "cannot write '%s'", t->path);
	}
	do {
		put = write(t->fd, t->line.data, t->line.len);
	} while (put < 0 && errno == EINTR);
	if (put == (ssize_t)t->line.len) {
		return 0;
	}
	why = put < 0 ? errno : ENOSPC;
	if (put > 0) {
		/* a started line would swallow the next: take it back */
		off_t end = lseek(t->fd, 0, SEEK_END);

		if (end < put || ftruncate(t->fd, end - put) < 0) {
			why = errno;
		}
	}
	return err_set(e, why, "cannot write '%s'", t->path);
}

/** Bytes of @fd up to the end of its last whole line; -1 with errno. */
static off_t whole_lines(int fd, off_t size)
{
	char buf[4096];

	while (size > 0) {
		off_t from = size > (off_t)sizeof(buf) ?
				     size - (off_t)sizeof(buf) : 0;
		ssize_t n = pread(fd, buf, (size_t)(size - from), from);
		const char *end;

		if (n <= 0) {
			return -1;
		}
		end = memrchr(buf, '\n', (size_t)n);
		if (end) {
			return from + (end - buf) + 1;
		}
		size = from;
	}
	return 0;
}

/** Off with a line that an earlier writer could not finish; the header into an
 *  empty file. */
static int prepare(struct rundir_table *t, struct err *e)
{
	struct stat st;
	off_t whole;

	if (fstat(t->fd, &st) < 0) {
		return err_set(e, errno, "cannot read the size of '%s'",
					 t->path);
	}
	whole = whole_lines(t->fd, st.st_size);
	if (whole < 0 ||
	    (whole < st.st_size && ftruncate(t->fd, whole) < 0)) {
		return err_set(e, errno, "cannot remove the incomplete last "
					 "line of '%s'",
			       t->path);
	}
	str_reset(&t->line);
	if (whole == 0) {
		record_add_header(t->schema, &t->line);
	}
	return t->line.len ? write_line(t, e) : 0;
}

int rundir_table_restart(struct rundir_table *t, struct err *e)
{
	if (ftruncate(t->fd, 0) < 0) {
		return err_set(e, errno, "cannot empty '%s'", t->path);
	}
	return prepare(t, e);
}

int rundir_table_open(struct rundir_table *t, const char *dir,
		      const struct schema *s, struct err *e)
{
	*t = (struct rundir_table){ 0 };
	if (rundir_path(dir, s->name, t->path, e) < 0) {
		return -1;
	}
	t->fd = rundir_open_fd(dir, s->name, O_RDWR | O_APPEND | O_CREAT, e);
	if (t->fd < 0) {
		return -1;
	}
	t->schema = s;
	if (prepare(t, e) < 0) {
		rundir_table_close(t);
		return -1;
	}
	return 0;
}

int rundir_table_add(struct rundir_table *t, const void *row, struct err *e)
{
	str_reset(&t->line);
	record_add_csv(t->schema, row, &t->line);
	return write_line(t, e);
}

void rundir_table_close(struct rundir_table *t)
{
	if (t->schema) {
		close(t->fd);
		str_release(&t->line);
		*t = (struct rundir_table){ 0 };
	}
}
