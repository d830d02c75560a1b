/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * every: all unit programs in one, which runs the one that it is called by.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The Makefile defines PROGRAMS as PROGRAM(test_a) PROGRAM(test_b) ... */
#define PROGRAM(name) int name##_main(int argc, char **argv);
PROGRAMS
#undef PROGRAM

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} programs[] = {
#define PROGRAM(name) { #name, name##_main },
	PROGRAMS
#undef PROGRAM
};

int main(int argc, char **argv)
{
	const char *name = program_invocation_short_name;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (strcmp(name, programs[i].name) == 0) {
			return programs[i].run(argc, argv);
		}
	}
	fprintf(stderr, "%s: there is no such unit program\n", name);
	return 2;
}
