/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the files of a run directory: it is read or refused, judged,
 * said and drawn, and the classes of the cells add up.  The input is run.json,
 * a line of "%%", results.csv, a line of "%%", facts.csv, and diagnose.csv so.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/details.h"
#include "report/picture.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Pictures of larger runs only cost time. */
#define MAX_RANKS 64

static char dir[] = "/tmp/gpucheck-fuzz-run-XXXXXX";
static const char *const names[] = {
	"run.json", "results.csv", "facts.csv", "diagnose.csv"
};

static void remove_files(void)
{
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		abort();
	}
	close(fd);
}

/** Cut the input into files at its "%%" lines. */
static void write_files(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const uint8_t *cut = memmem(data, size, "\n%%\n", 4);
		size_t len = cut ? (size_t)(cut - data) + 1 : size;

		write_file(names[i], data, len);
		size -= cut ? len + 3 : size;
		data += cut ? len + 3 : 0;
	}
}

static void draw(const struct run *r, const struct verdict *v)
{
	struct str out = STR_INIT;
	struct picture picture;
	struct view view;

	words_render(r, v, 80, true, &out);
	details_render(r, v, 80, &out);
	for (int style = TERM_ASCII; style <= TERM_COLOR; style++) {
		term_render(r, 80, (enum term_style)style, &out);
	}
	if (r->n_ranks > 0 &&
	    view_make(r, PICTURE_MAX_ROWS, VIEW_BANDWIDTH, &view) == 0) {
		if (picture_make(&view, v, &picture) == 0) {
			picture_svg(&picture, &out);
			picture_release(&picture);
		}
		view_release(&view);
	}
	str_release(&out);
}

static void check(const struct run *r, const struct verdict *v)
{
	size_t sum = 0, planned = 0;
	json_t *json = verdict_json(r, v);

	for (int c = 0; c < CELL_CLASSES; c++) {
		sum += v->cells[c];
	}
	for (int i = 0; i < r->n_ranks * r->n_ranks; i++) {
		planned += r->cells[i].class != CELL_UNPLANNED;
	}
	if (sum != planned || !json) {
		abort();
	}
	for (size_t i = 0; i < v->n; i++) {
		if (v->findings[i].explained > v->findings[i].cells ||
		    v->findings[i].code[0] == '\0') {
			abort();
		}
	}
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	struct verdict v;
	struct run r;

	if (!made) {
		made = mkdtemp(dir) != NULL;
		atexit(remove_files);
	}
	write_files(data, size);
	if (run_read(dir, &r, NULL) < 0) {
		return 0;
	}
	if (r.n_ranks <= MAX_RANKS) {
		if (verdict_compute(&r, &v) < 0) {
			abort();
		}
		check(&r, &v);
		draw(&r, &v);
		verdict_release(&v);
	}
	run_release(&r);
	return 0;
}
