/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/sweep.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/data/rundir.h"
#include "lib/base/str.h"

/** The files of data/reference as text, part of the program: a name in C and
 *  one for people. */
#define REFERENCES(X) \
	X(aml, "aml") X(msccl, "msccl") X(mscclpp, "mscclpp") X(h200, "h200")

#define INCLUDE(symbol, file) \
	__asm__(".section .rodata\n" \
		"reference_" #symbol ":\n" \
		".incbin \"data/reference/" file ".csv\"\n" \
		".byte 0\n" \
		".previous\n"); \
	extern const char reference_##symbol[];
REFERENCES(INCLUDE)

static const struct builtin {
	const char *name, *text;
} builtins[] = {
#define ROW(symbol, file) { .name = file, .text = reference_##symbol },
	REFERENCES(ROW)
	{ 0 }
};

static int read_text(const char *text, struct sweep *s, struct err *e)
{
	/* the stream only reads */
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int rc;

	if (!f) {
		return err_set(e, errno, "cannot read the reference");
	}
	rc = sweep_read_rows(s, f, e);
	fclose(f);
	return rc;
}

static int read_file(const char *path, struct sweep *s, struct err *e)
{
	FILE *f = fopen(path, "re");
	struct err why = { 0 };
	int rc;

	if (!f) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	rc = sweep_read_rows(s, f, &why);
	fclose(f);
	/* the reader of rows takes them for a run's */
	if (rc < 0 && str_starts(why.text, "'" RUN_RESULTS "' ")) {
		return err_set(e, why.code, "'%s' %s", path,
			       why.text + strlen("'" RUN_RESULTS "' "));
	}
	return rc < 0 ? err_set(e, why.code, "%s: %s", path, why.text) : rc;
}

/** A directory has its rows in results.csv; anything else is a file. */
static int read_path(const char *reference, struct sweep *s, struct err *e)
{
	char path[PATH_MAX];
	struct stat st;

	if (stat(reference, &st) < 0) {
		return err_set(e, errno, "there is no reference '%s'",
			       reference);
	}
	if (!S_ISDIR(st.st_mode)) {
		return read_file(reference, s, e);
	}
	return rundir_path(reference, RUN_RESULTS, path, e) < 0 ?
		       -1 :
		       read_file(path, s, e);
}

int sweep_reference(const char *reference, struct sweep *s, struct err *e)
{
	const struct builtin *b = builtins;
	int rc;

	*s = (struct sweep){ 0 };
	while (b->name && strcmp(b->name, reference) != 0) {
		b++;
	}
	rc = b->name ? read_text(b->text, s, e) : read_path(reference, s, e);
	if (rc == 0 && s->n == 0) {
		rc = err_set(e, 0, "'%s' has no rows of a collective",
			     reference);
	}
	if (rc == 0 && sweep_group(s) < 0) {
		rc = err_set(e, ENOMEM, "cannot hold the reference");
	}
	if (rc < 0) {
		sweep_release(s);
		return err_hint(e, "a run directory, a CSV file of \"gpucheck "
				"import\", or a name of gpucheck-report(1)");
	}
	for (size_t i = 0; i < s->n_curves; i++) {
		s->curves[i].reference = true;
	}
	return 0;
}
