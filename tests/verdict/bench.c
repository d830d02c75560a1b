/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a verdict costs: one model cluster with a few faults, judged.
 * usage: bench NODES GPUS [LEAF_SIZE] < DRILL	prints ranks, seconds of CPU
 * time, findings, and MiB of peak memory; LEAF_SIZE: nodes at a leaf switch, as
 * Slurm would say it
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/judge/verdict.h"
#include "report/model/run.h"
#include "tests/verdict/cluster.h"
#include "tests/layout.h"

static void make_layout(int nodes, int gpus, struct layout *l)
{
	const char **names = calloc((size_t)nodes, sizeof(*names));
	int *counts = calloc((size_t)nodes, sizeof(*counts));

	for (int i = 0; names && counts && i < nodes; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		names[i] = strdup(name);
		counts[i] = gpus;
	}
	if (!names || !counts ||
	    layout_of(l, nodes, names, counts, counts) < 0) {
		abort();
	}
	for (int i = 0; i < nodes; i++) {
		free((void *)(uintptr_t)names[i]);
	}
	free(names);
	free(counts);
}

int main(int argc, char **argv)
{
	char text[4096];
	size_t len = fread(text, 1, sizeof(text) - 1, stdin);
	struct verdict v;
	struct rusage use;
	struct layout l;
	struct drill d;
	struct run run;
	int size = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0, *leaf_of;
	clock_t start;
	double time_s;

	if (argc < 3 || drill_parse(text, len, &d, NULL) < 0) {
		return EXIT_FAILURE;
	}
	make_layout((int)strtol(argv[1], NULL, 10),
		    (int)strtol(argv[2], NULL, 10), &l);
	leaf_of = calloc((size_t)l.n_nodes + 1, sizeof(*leaf_of));
	for (int i = 0; leaf_of && size > 0 && i < l.n_nodes; i++) {
		leaf_of[i] = i / size;
	}
	cluster_run(&l, size > 0 ? leaf_of : NULL, &d, 1, &run);
	/* what was judged to make it does not count: once more */
	free(run.cell_line);
	run.cell_line = NULL;
	start = clock();
	if (expected_apply(&run, &run.expected) < 0 ||
	    levels_mark_slow(&run) < 0 || verdict_compute(&run, &v) < 0) {
		return EXIT_FAILURE;
	}
	time_s = (double)(clock() - start) / CLOCKS_PER_SEC;
	getrusage(RUSAGE_SELF, &use);
	printf("%d %.3f %zu %.1f\n", l.n_ranks, time_s, v.n,
	       (double)use.ru_maxrss / 1024);
	verdict_release(&v);
	free(leaf_of);
	cluster_release(&run);
	drill_release(&d);
	layout_release(&l);
	return EXIT_SUCCESS;
}
