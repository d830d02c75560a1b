/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/screen.h"
#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"

#define DELAY_NS    NS_PER_S
#define INTERVAL_NS (250 * NS_PER_MS)

/** What stands around the bar; what is left of the line is the bar. */
#define TEXT_COLUMNS 66
#define BAR_MAX 40

void progress_init(struct progress *p, const char *name, enum spec_when when,
		   bool quiet)
{
	*p = (struct progress){ .name = name, .start_ns = clock_now_ns() };
	p->form = quiet || when == WHEN_NEVER ? PROGRESS_NONE :
		  when == WHEN_ALWAYS || isatty(STDERR_FILENO) ?
						PROGRESS_BAR : PROGRESS_LINES;
	if (when == WHEN_ALWAYS) {
		p->start_ns -= DELAY_NS;
	}
}

/** A background job must not write over what its user types. */
static bool is_foreground(void)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);

	return group < 0 || group == getpgrp();
}

/** What is counted: all has a row a step. */
static const char *unit(const struct progress *p)
{
	return strcmp(p->name, "all") == 0 ? "probes" : "tests";
}

static void add_bar(const struct progress *p, struct str *line, size_t done,
		    size_t total)
{
	int width = screen_width(STDERR_FILENO) - TEXT_COLUMNS;
	int full;

	width = width < 0 ? 0 : width > BAR_MAX ? BAR_MAX : width;
	full = (int)((size_t)width * done / total);
	str_addch(line, '[');
	for (int i = 0; i < width; i++) {
		str_addch(line, i < full ? '#' : '.');
	}
	/* after the last cell bad ones are tried again, which takes a while */
	str_addf(line, "] %3zu %%  %zu of %zu %s%s", 100 * done / total, done,
		 total, unit(p), done == total ? ", finishing" : "");
}

/** ", 40 s left"; nothing where nobody knows, or it is as good as over. */
static void add_left(struct str *line, int64_t left_ns)
{
	char left[32];

	if (left_ns >= NS_PER_S) {
		str_addf(line, ", %s left",
			 units_duration_text(left_ns / NS_PER_S * NS_PER_S,
					     left, sizeof(left)));
	}
}

static void draw_bar(struct progress *p, int64_t now_ns,
		     const struct progress_now *now)
{
	struct str line = STR_INIT;
	char age[32];

	str_addf(&line, "%s ", p->name);
	if (now->total) {
		add_bar(p, &line, now->done, now->total);
	} else {
		str_add(&line, now->waits);
	}
	str_addf(&line, "  %s",
		 units_duration_text((now_ns - p->start_ns) / NS_PER_S *
				     NS_PER_S, age, sizeof(age)));
	add_left(&line, now->left_ns);
	/* \033[K: a shorter line leaves nothing of the longer one before */
	fprintf(stderr, "\r%s\033[K", str_text(&line));
	fflush(stderr);
	str_release(&line);
	p->drawn = true;
}

static void say_line(struct progress *p, const struct progress_now *now)
{
	int tenths = now->total ? (int)(10 * now->done / now->total) : 0;
	struct str left = STR_INIT;

	if (tenths > p->tenths) {
		p->tenths = tenths;
		add_left(&left, now->left_ns);
		talk("%d %%, %zu of %zu %s%s", 10 * tenths, now->done,
		     now->total, unit(p), str_text(&left));
		str_release(&left);
	}
}

void progress_update(struct progress *p, const struct progress_now *now)
{
	const int64_t now_ns = clock_now_ns();
	struct progress_now n = *now;

	/* a cell that is tried again adds a row, not a cell */
	n.done = n.done > n.total ? n.total : n.done;
	if (p->form == PROGRESS_NONE || now_ns - p->start_ns < DELAY_NS ||
	    now_ns - p->last_ns < INTERVAL_NS) {
		return;
	}
	if (p->form == PROGRESS_LINES) {
		say_line(p, &n);
	} else if (is_foreground()) {
		draw_bar(p, now_ns, &n);
	}
	p->last_ns = now_ns;
}

void progress_clear(struct progress *p)
{
	if (p->drawn) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
		p->drawn = false;
	}
}
