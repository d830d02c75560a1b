/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/jobs.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"

static char root[] = "/tmp/gpucheck-fuzz-jobs-XXXXXX";

static const char *const folders[] = { "", "/parts", "/parts/0001-1",
				       "/parts/0001-2" };
/** Where the texts of an input go, after the first. */
static const char *const files[] = {
	"parts/0001-1/run.json", "parts/0001-1/results.csv",
	"parts/0001-1/events.csv", "parts/0001-1/facts.csv",
	"parts/0001-2/run.json", "parts/0001-2/results.csv",
};
static const char *const written[] = { "run.json", "results.csv", "facts.csv",
				       "events.csv" };
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const char *below(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", root, name);
	return path;
}

static void remove_files(void)
{
	char path[128];

	for (size_t i = 0; i < COUNT(files); i++) {
		unlink(below(files[i], path));
	}
	for (size_t i = 0; i < COUNT(written); i++) {
		unlink(below(written[i], path));
	}
}

static void remove_all(void)
{
	char path[128];

	remove_files();
	for (size_t i = COUNT(folders); i > 0; i--) {
		rmdir(below(folders[i - 1], path));
	}
}

static void make_root(void)
{
	static bool made;
	char path[128];

	if (made) {
		return;
	}
	made = mkdtemp(root) != NULL;
	atexit(remove_all);
	for (size_t i = 1; i < COUNT(folders); i++) {
		if (mkdir(below(folders[i], path), 0700) < 0) {
			abort();
		}
	}
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f = fopen(below(name, path), "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
		abort();
	}
}

/** The files of a run of many jobs, with "----" on lines between them: that of
 *  the whole, then those of two tries of its only part. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct slurm_lane_node down = { .name = "b", .state = "down*" };
	struct job part = { .tries = 2, .state = JOB_DONE };
	struct jobs j = { .list = &part, .n = 1,
			  .nodes = { .list = &down, .n = 1 } };
	char *text = calloc(1, size + 1), *rest = text, *next, path[128];

	if (!text) {
		return 0;
	}
	memcpy(text, data, size);
	make_root();
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
	snprintf(j.left.dir, sizeof(j.left.dir), "%s", root);
	if (json_is_object(j.left.run) && jobs_merge(&j, true, NULL) == 0 &&
	    access(below(RUN_JSON, path), R_OK) < 0) {
		abort();
	}
	json_decref(j.left.run);
	remove_files();
	free(text);
	return 0;
}
