/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/jobs.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "tests/fuzz/folder.h"

static const char *const parts[] = { "parts", "parts/0001-1", "parts/0001-2",
				     NULL };
static struct folder folder = { .root = "/tmp/gpucheck-fuzz-jobs-XXXXXX",
				.below = parts };
/** Where the texts of an input go, after the first. */
static const char *const files[] = {
	"parts/0001-1/run.json", "parts/0001-1/results.csv",
	"parts/0001-1/events.csv", "parts/0001-1/facts.csv",
	"parts/0001-2/run.json", "parts/0001-2/results.csv",
};
static const char *const written[] = { "run.json", "results.csv", "facts.csv",
				       "events.csv" };
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static void remove_files(void)
{
	char path[128];

	for (size_t i = 0; i < COUNT(files); i++) {
		unlink(folder_path(&folder, files[i], path));
	}
	for (size_t i = 0; i < COUNT(written); i++) {
		unlink(folder_path(&folder, written[i], path));
	}
}

static void remove_all(void)
{
	remove_files();
	folder_remove(&folder);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f = fopen(folder_path(&folder, name, path), "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** The files of a run of many jobs, with "----" on lines between them: that of
 *  the whole, then those of two tries of its only part. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct slurm_node down = { .name = "b", .state = "down*" };
	struct job part = { .nodes = "a,b", .tries = 2, .state = JOB_DONE };
	struct jobs j = { .list = &part, .n = 1,
			  .nodes = { .list = &down, .n = 1 } };
	char *text = calloc(1, size + 1), *rest = text, *next, path[128];

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	folder_make(&folder, remove_all);
	for (size_t i = 0; rest && i <= COUNT(files); i++, rest = next) {
		next = strstr(rest, "\n----\n");
		if (next) {
			*next = '\0';
			next += 6;
		}
		if (i == 0) {
			j.left.run = json_parse(rest, strlen(rest), NULL);
		} else {
			write_file(files[i - 1], rest);
		}
	}
	snprintf(j.left.dir, sizeof(j.left.dir), "%s", folder.root);
	if (json_is_object(j.left.run) && jobs_merge(&j, NULL) == 0 &&
	    access(folder_path(&folder, RUN_JSON, path), R_OK) < 0) {
		abort();
	}
	json_decref(j.left.run);
	remove_files();
	free(text);
	return 0;
}
