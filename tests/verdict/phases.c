/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the time of "gpucheck report DIR" goes, for a run of pairs.
 * usage: phases DIR	one line a phase: name, seconds of wall time, seconds of
 * CPU time with children; then "peak" and MiB of memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "lib/base/clock.h"
#include "report/judge/findings.h"
#include "report/judge/pairs.h"
#include "report/show/judged.h"

static double cpu_s(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/** Print what has passed since the last call. */
static void phase(const char *name)
{
	static double wall_then, cpu_then;
	double wall = (double)clock_now_ns() / NS_PER_S;
	double cpu = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN);

	if (name) {
		printf("%s %.3f %.3f\n", name, wall - wall_then,
		       cpu - cpu_then);
	}
	wall_then = wall;
	cpu_then = cpu;
}

int main(int argc, char **argv)
{
	struct str words = STR_INIT;
	struct err e = { 0 };
	struct rusage use;
	struct judged j = { .kind = &judged_pairs };

	if (argc != 2) {
		return EXIT_FAILURE;
	}
	phase(NULL);
	if (levels_read(argv[1], &j.run, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		return EXIT_FAILURE;
	}
	phase("read");
	if (verdict_compute(&j.run, &j.verdict) < 0) {
		return EXIT_FAILURE;
	}
	phase("verdict");
	judged_words(&j, 80, false, TERM_ASCII, &words);
	phase("words");
	if (show_html(&j, argv[1], &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
	}
	phase("html");
	if (heatmap_render(argv[1], &j.run, &j.verdict, false, NULL,
			   &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
	}
	phase("pictures");
	getrusage(RUSAGE_SELF, &use);
	printf("peak %.1f\n", (double)use.ru_maxrss / 1024);
	str_release(&words);
	verdict_release(&j.verdict);
	run_release(&j.run);
	return EXIT_SUCCESS;
}
