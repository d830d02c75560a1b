/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a table that is there already: read, or thinned out in place. */
#include "lib/data/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Where the rows that are kept go. */
struct copy {
	char path[PATH_MAX];	/* for messages */
	char beside[NAME_MAX + 1];
	const char *name;
	int at;			/* the folder; -1: not open */
	FILE *f;		/* NULL: nobody wants them */
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

/** Is the first line the one that @r's schema has now? */
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
	return err_hint(e, "continue with the version that began it, or start "
			   "a new run");
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

static bool peek_end(FILE *f)
{
	int c = getc(f);

	return c == EOF || ungetc(c, f) == EOF;
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
	int rc;

	left_out = left_out ? left_out : &unused;
	*left_out = 0;
	if (rundir_path(dir, s->name, c.path, e) < 0) {
		return -1;
	}
	f = rundir_open(dir, s->name, &why);
	if (!f && e) {
		*e = why;
	}
	if (!f) {
		return why.code == ENOENT ? 0 : -1;
	}
	/* it may be made, and nothing written so far */
	rc = peek_end(f) ? 1 : record_reader_open(&r, s, f, e);
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
