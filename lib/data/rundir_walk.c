/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a table that is there already: read, or thinned out in place. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/data/rundir.h"

/* ---- rundir table -------------------------------------------------------- */

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
		return err_set(e, errno, "cannot truncate '%s'", t->path);
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
	const size_t wanted = t->lines.len;
	const char *line;
	off_t half, end;
	ssize_t put = -1;
	int why = 0;

	if (wanted == 0 && !t->lines.failed) {
		return 0;
	}
	if (t->lines.failed) {
		t->lost = t->lost ? t->lost : ENOMEM;
		str_reset(&t->lines);
		return err_set(e, ENOMEM, "cannot write '%s'", t->path);
	}
	do {	/* by one write(2) */
		put = write(t->fd, t->lines.data, wanted);
	} while (put < 0 && errno == EINTR);
	why = put < 0 ? errno : put < (ssize_t)wanted ? ENOSPC : 0;
	if (why && put > 0) {
		/* take back a last, incomplete line, which would swallow the
		 * next one */
		line = memrchr(t->lines.data, '\n', (size_t)put);
		half = line ? put - (line + 1 - t->lines.data) : put;
		end = half ? lseek(t->fd, 0, SEEK_END) : 0;
		if (half && (end < half || ftruncate(t->fd, end - half) < 0)) {
			why = errno;
		}
	}
	str_reset(&t->lines);
	t->lost = t->lost ? t->lost : why;
	return why ? err_set(e, why, "cannot write '%s'", t->path) : 0;
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

/* ---- rundir walk --------------------------------------------------------- */

/** Where the rows that are kept go. */
struct copy {
	char path[PATH_MAX];	/* for messages */
	char beside[NAME_MAX + 1];
	const char *name;
	int at;			/* the folder; -1: not open */
	FILE *f;		/* NULL: rows are not copied */
};

static int copy_open(struct copy *c, const char *dir, FILE *from,
		     struct err *e)
{
	struct stat st;
	int fd;

	c->at = rundir_at(dir);
	snprintf(c->beside, sizeof(c->beside), "%s.%08x%06lx", c->name,
		 (unsigned)clock_now_ns(), (unsigned long)getpid());
	fd = c->at < 0 ? -1 : openat(c->at, c->beside, O_WRONLY | O_CREAT |
				     O_EXCL | O_CLOEXEC, 0600);
	c->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!c->f) {
		err_set(e, errno, "cannot rewrite '%s'", c->path);
		rundir_shut(fd);
		rundir_shut(c->at);
		return -1;
	}
	if (fstat(fileno(from), &st) == 0) {
		fchmod(fd, st.st_mode & 07777);
	}
	return 0;
}

/** In the place of the old file when @rc is 0 and all is on the disk. */
static int copy_close(struct copy *c, int rc, struct err *e)
{
	int why = 0;

	if (!c->f) {
		return rc;
	}
	if (fflush(c->f) == EOF || fsync(fileno(c->f)) < 0) {
		why = errno;
	}
	if (fclose(c->f) == EOF && !why) {
		why = errno;
	}
	if (rc == 0 && !why && renameat(c->at, c->beside, c->at, c->name) < 0) {
		why = errno;
	}
	if (rc < 0 || why) {
		unlinkat(c->at, c->beside, 0);
	}
	rundir_shut(c->at);
	return rc == 0 && why ?
		       err_set(e, why, "cannot rewrite '%s'", c->path) : rc;
}

/** The row that @r is at, as it is; a failure shows when the copy is closed. */
static void copy_row(struct copy *c, const struct record_reader *r)
{
	size_t len;
	const char *raw = csv_raw(&r->csv, &len);

	if (c->f) {
		fwrite(raw, 1, len, c->f);
	}
}

/** Check that the first line is the header of @r's current schema. Returns 0,
 *  or -1 with @e. */
static int check_header(const struct record_reader *r, const char *path,
			struct err *e)
{
	struct str want = STR_INIT;
	size_t len;
	const char *raw = csv_raw(&r->csv, &len);
	bool same;

	record_add_header(r->schema, &want);
	same = len == want.len && memcmp(raw, str_text(&want), len) == 0;
	str_release(&want);
	if (same) {
		return 0;
	}
	err_set(e, 0, "the columns of '%s' differ from those of this version "
		      "of gpucheck", path);
	return err_hint(e, "continue with the version that started the run, or "
			   "start a new run");
}

static int walk(struct record_reader *r, struct copy *c,
		int (*look)(void *arg, const void *row, struct err *e),
		void *arg, size_t *left_out, struct err *e)
{
	void *row = malloc(r->schema->row_size);
	int got, verdict = RUNDIR_KEEP;

	if (!row) {
		return err_set(e, ENOMEM, "cannot read '%s'", c->path);
	}
	while ((got = record_reader_next(r, row, e)) == 1) {
		verdict = look(arg, row, e);
		if (verdict < 0) {
			break;
		}
		if (verdict == RUNDIR_KEEP) {
			copy_row(c, r);
		} else {
			++*left_out;
		}
	}
	*left_out += r->bad_rows;
	free(row);
	return got < 0 || verdict < 0 ? -1 : 0;
}

int rundir_table_walk(const char *dir, const struct schema *s, bool rewrite,
		      int (*look)(void *arg, const void *row, struct err *e),
		      void *arg, size_t *left_out, struct err *e)
{
	struct copy c = { .name = s->name, .at = -1 };
	struct record_reader r;
	struct err why;
	size_t unused;
	FILE *f;
	int rc, first;

	left_out = left_out ? left_out : &unused;
	*left_out = 0;
	if (rundir_path(dir, s->name, c.path, e) < 0) {
		return -1;
	}
	f = rundir_open(dir, s->name, &why);
	if (!f && e && why.code != ENOENT) {
		*e = why;
	}
	if (!f) {
		return why.code == ENOENT ? 0 : -1;
	}
	/* it may be made, and nothing written so far */
	first = getc(f);
	rc = first == EOF || ungetc(first, f) == EOF ?
		     1 : record_reader_open(&r, s, f, e);
	if (rc == 0) {
		if (rewrite) {
			rc = check_header(&r, c.path, e) < 0 ?
				     -1 : copy_open(&c, dir, f, e);
			copy_row(&c, &r);
		}
		rc = rc == 0 ? walk(&r, &c, look, arg, left_out, e) : rc;
		rc = copy_close(&c, rc, e);
		record_reader_close(&r);
	}
	fclose(f);
	return rc < 0 ? -1 : 0;
}
