/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/sweep.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/input.h"
#include "lib/data/rundir.h"
#include "lib/base/str.h"
#include "report/model/run_read.h"

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

/** Bytes of one that comes by a pipe. */
#define REFERENCE_MAX ((size_t)64 << 20)

/** The rows of @f, which is closed; -1 with @e, which says what @path is called
 *  in the place of a run's file. */
static int read_rows(FILE *f, const char *path, struct sweep *s, struct err *e)
{
	const struct run_rows rows = { .schema = &schema_collective, .user = s,
				       .take = sweep_take_row };
	static const char ours[] = "'" RUN_RESULTS "' ";
	struct err why = { 0 };

	if (!f) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	if (run_take_rows(f, &rows, &why) == 0) {
		return 0;
	}
	return str_starts(why.text, ours) ?
		       err_set(e, why.code, "'%s' %s", path,
			       why.text + strlen(ours)) :
		       err_set(e, why.code, "%s: %s", path, why.text);
}

/** A directory has its rows in results.csv; anything else is a file. */
static int read_path(const char *reference, struct sweep *s, struct err *e)
{
	char path[PATH_MAX];
	struct stat st;
	FILE *f;

	if (stat(reference, &st) < 0) {
		return err_set(e, errno, "there is no reference '%s'",
			       reference);
	}
	if (!S_ISDIR(st.st_mode)) {
		f = input_open(reference, REFERENCE_MAX, e);
		return f ? read_rows(f, reference, s, e) : -1;
	}
	f = rundir_open(reference, RUN_RESULTS, e);
	return f && rundir_path(reference, RUN_RESULTS, path, e) == 0 ?
		       read_rows(f, path, s, e) : -1;
}

int sweep_reference(const char *reference, struct sweep *s, struct err *e)
{
	const struct builtin *b = builtins;
	int rc;

	*s = (struct sweep){ 0 };
	while (b->name && strcmp(b->name, reference) != 0) {
		b++;
	}
	/* the stream only reads */
	rc = !b->name ? read_path(reference, s, e) :
			read_rows(fmemopen((void *)(uintptr_t)b->text,
					   strlen(b->text), "r"),
				  b->name, s, e);
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
