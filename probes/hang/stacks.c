/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/stacks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/spawn.h"
#include "lib/base/str.h"

#define PRINTED_MAX 60000	/* what a pipe holds */
#define FRAMES_MAX  6
#define ARGS_MAX    12
#define PID	    "PID"

/** py-spy knows what Python is at, gdb only what C is. */
static const struct tool {
	const char *name;
	const char *args[ARGS_MAX];
} tools[] = {
	{ "py-spy", { "py-spy", "dump", "--pid", PID } },
	{ "gdb", { "gdb", "-batch", "-nx", "-p", PID, "-ex",
		   "set print frame-arguments none", "-ex", "bt 6" } },
};

/* ---- what they print ----------------------------------------------------- */

/** "    read (data.py:31)" of py-spy, "#1  0x00007f in read () from" of gdb,
 *  "[<0>] pipe_read+0x1a/0x70" of the kernel: the name, NULL: the line has
 *  none. */
static const char *frame_of(const char *line, bool main, size_t *len)
{
	const char *in;

	if (str_starts(line, "[<") && strstr(line, ">] ")) {
		line = strstr(line, ">] ") + strlen(">] ");
		*len = strcspn(line, "+ \n");
		return *len > 0 ? line : NULL;
	}
	if (line[0] == '#' && isdigit((unsigned char)line[1])) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
		in = str_starts(line, "0x") ? strstr(line, " in ") : NULL;
		line = in ? in + strlen(" in ") : line;
	} else if (main && str_starts(line, "    ")) {
		line += strspn(line, " ");
	} else {
		return NULL;
	}
	*len = strcspn(line, " \n");
	return *len > 0 ? line : NULL;
}

void stack_parse(const char *printed, char text[STACK_SIZE])
{
	struct str out = STR_INIT;
	bool main = false;
	int n = 0;

	while (*printed && n < FRAMES_MAX) {
		char line[512];
		size_t whole = strcspn(printed, "\n"), len;
		const char *frame;

		snprintf(line, sizeof(line), "%.*s",
			 (int)(whole < sizeof(line) ? whole :
						      sizeof(line) - 1),
			 printed);
		main = str_starts(line, "Thread ") ?
			       strstr(line, "\"MainThread\"") != NULL : main;
		frame = frame_of(line, main, &len);
		if (frame) {
			str_addf(&out, "%s%.*s", n++ ? " < " : "",
				 (int)(len < 60 ? len : 60), frame);
		}
		printed += whole + (printed[whole] == '\n');
	}
	snprintf(text, STACK_SIZE, "%s", str_text(&out));
	for (char *c = text; *c; c++) {
		*c = isprint((unsigned char)*c) ? *c : '?';
	}
	str_release(&out);
}

/* ---- asking them --------------------------------------------------------- */

static int start(const struct tool *t, int64_t pid, struct spawn_child *child,
		 struct str *out)
{
	char *argv[ARGS_MAX + 1] = { NULL }, number[24];

	snprintf(number, sizeof(number), "%" PRId64, pid);
	for (int i = 0; i < ARGS_MAX && t->args[i]; i++) {
		argv[i] = strcmp(t->args[i], PID) == 0 ?
				  number : (char *)(uintptr_t)t->args[i];
	}
	return spawn_start(child, argv, out, NULL, PRINTED_MAX, NULL);
}

const char *stacks_read(struct stack *list, size_t n, int64_t deadline_ns)
{
	struct ask {
		struct spawn_child child;
		struct str out;
		int rc;
	} *asks = calloc(STACKS_MAX, sizeof(*asks));
	const struct tool *t = tools;

	n = n < STACKS_MAX ? n : STACKS_MAX;
	while (t < tools + sizeof(tools) / sizeof(tools[0]) &&
	       !spawn_find(t->name, NULL, 0)) {
		t++;
	}
	if (!asks || t == tools + sizeof(tools) / sizeof(tools[0])) {
		free(asks);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		asks[i].rc = start(t, list[i].pid, &asks[i].child,
				   &asks[i].out);
	}
	for (size_t i = 0; i < n; i++) {
		struct spawn_status st;

		list[i].text[0] = '\0';
		if (asks[i].rc == 0) {
			spawn_finish(&asks[i].child, deadline_ns, &st);
			stack_parse(str_text(&asks[i].out), list[i].text);
		}
		str_release(&asks[i].out);
	}
	free(asks);
	return t->name;
}
