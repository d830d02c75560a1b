/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Of @put bytes that were written of t->lines, those of half a line would
 *  swallow the next: take them back.  0 or an errno. */
static int drop_half(struct rundir_table *t, size_t put)
{
	const char *line = memrchr(t->lines.data, '\n', put);
	off_t half = (off_t)(line ? put - (size_t)(line + 1 - t->lines.data) :
				    put);
	off_t end = half ? lseek(t->fd, 0, SEEK_END) : 0;

	return half && (end < half || ftruncate(t->fd, end - half) < 0) ?
		       errno : 0;
}

/** Append t->lines by one write(2), and forget them. */
static int write_lines(struct rundir_table *t, struct err *e)
{
	size_t wanted = t->lines.len;
	bool failed = t->lines.failed;
	ssize_t put;
	int why, half;

	if (failed) {
		str_reset(&t->lines);
		return err_set(e, ENOMEM, "cannot write '%s'", t->path);
	}
	do {
		put = write(t->fd, t->lines.data, wanted);
	} while (put < 0 && errno == EINTR);
	why = put < 0 ? errno : put < (ssize_t)wanted ? ENOSPC : 0;
	half = why && put > 0 ? drop_half(t, (size_t)put) : 0;
	str_reset(&t->lines);
	why = half ? half : why;
	return why ? err_set(e, why, "cannot write '%s'", t->path) : 0;
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
	str_reset(&t->lines);
	if (whole == 0) {
		record_add_header(t->schema, &t->lines);
	}
	return rundir_table_flush(t, e);
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

int rundir_table_flush(struct rundir_table *t, struct err *e)
{
	return t->lines.len > 0 || t->lines.failed ? write_lines(t, e) : 0;
}

int rundir_table_put(struct rundir_table *t, const void *row, struct err *e)
{
	record_add_csv(t->schema, row, &t->lines);
	return t->lines.len < RUNDIR_TABLE_BYTES && !t->lines.failed ?
		       0 : rundir_table_flush(t, e);
}

int rundir_table_add(struct rundir_table *t, const void *row, struct err *e)
{
	record_add_csv(t->schema, row, &t->lines);
	return rundir_table_flush(t, e);
}

void rundir_table_close(struct rundir_table *t)
{
	if (t->schema) {
		rundir_table_flush(t, NULL);
		close(t->fd);
		str_release(&t->lines);
		*t = (struct rundir_table){ 0 };
	}
}
