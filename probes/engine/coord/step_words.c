/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/coord/step_words.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/rundir.h"

#define SRUN	"srun: error: "
#define LOOK_NS NS_PER_S
/* Of one look: more lines than a start has. */
#define LOOK_MAX (64 * 1024)

bool step_words_parse(const char *line, struct step_word *w)
{
	static const struct {
		const char *before, *after;
		bool task;	/* between them, else nodes */
	} forms[] = {
		/* gcn[2-3]: tasks 1-2: Exited with exit code 1 */
		{ "", ": task", false },
		/* Task launch for StepId=5.0 failed on node gcn2: Invalid
		 * ... */
		{ " failed on node ", ": ", false },
		/* task 1 launch failed: Slurmd could not execve job */
		{ "task ", " launch failed: ", true },
	};
	int64_t task = -1;

	if (!str_starts(line, SRUN)) {
		return false;
	}
	line += strlen(SRUN);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const char *from = strstr(line, forms[i].before);
		const char *to;
		size_t n;

		from = from ? from + strlen(forms[i].before) : NULL;
		to = from ? strstr(from, forms[i].after) : NULL;
		n = to ? (size_t)(to - from) : 0;
		if (n == 0 || n >= sizeof(w->nodes) ||
		    strcspn(from, " \t") < n) {
			continue;
		}
		snprintf(w->nodes, sizeof(w->nodes), "%.*s", (int)n, from);
		if (forms[i].task &&
		    units_parse_int(w->nodes, 0, INT_MAX, &task, NULL) < 0) {
			continue;
		}
		w->nodes[0] = forms[i].task ? '\0' : w->nodes[0];
		w->task = (int)task;
		return true;
	}
	return false;
}

/* Whole lines of @text; how many bytes they are. */
static size_t read_lines(char *text, size_t len, step_said_fn said, void *arg)
{
	char *line = text, *end;
	struct step_word w;

	while ((end = memchr(line, '\n', len - (size_t)(line - text)))) {
		*end = '\0';
		if (step_words_parse(line, &w)) {
			said(arg, &w, line);
		}
		line = end + 1;
	}
	return (size_t)(line - text);
}

void step_words_read(const char *dir, struct step_words *w, step_said_fn said,
		     void *arg)
{
	const int64_t now = clock_now_ns();
	char *text;
	ssize_t n;
	int fd;

	if (now < w->look_ns) {
		return;
	}
	w->look_ns = now + LOOK_NS;
	fd = rundir_open_fd(dir, RUN_JOB_OUT, O_RDONLY | O_NONBLOCK, NULL);
	text = fd >= 0 ? malloc(LOOK_MAX) : NULL;
	n = text ? pread(fd, text, LOOK_MAX, w->at) : -1;
	if (n > 0) {
		size_t used = read_lines(text, (size_t)n, said, arg);

		/* a line as long as that is none of srun's */
		w->at += used == 0 && n == LOOK_MAX ? n : (int64_t)used;
	}
	free(text);
	if (fd >= 0) {
		close(fd);
	}
}
