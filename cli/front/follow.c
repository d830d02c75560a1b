/* SPDX-License-Identifier: BSD-3-Clause */
/* Follow a run until it ends: progress, reasons for waiting, signals. */
#include "cli/front/follow.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/front/talk.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "lib/data/rundir.h"

/* ---- follow -------------------------------------------------------------- */

#define LOOK_NS  (50 * NS_PER_MS)
/** In a long run, a hundredth of its time so far, and at most this. */
#define LONG_LOOK_NS (500 * NS_PER_MS)
/** A job that runs this long without a sign in the directory is strange. */
#define UNSEEN_NS (60 * NS_PER_S)
/** For agents to end by themselves, after the run's end or after TERM. */
#define ORDERLY_NS (30 * NS_PER_S)
/** For the coordinator to write the end, once it has no agent any more. */
#define LAST_WORDS_NS (5 * NS_PER_S)
/** After KILL. */
#define HARD_NS (10 * NS_PER_S)
/** Beyond --time-limit, at which the coordinator ends the run. */
#define GRACE_NS (60 * NS_PER_S)
/** Beyond --agent-timeout, when agents are still waited for. */
#define WAIT_NS (5 * NS_PER_S)
/** Beyond --agent-timeout, when nothing has begun. */
#define BEGIN_NS (600 * NS_PER_S)

enum stage { STAGE_FOLLOWING, STAGE_ENDING, STAGE_KILLED };

struct front_follow {
	const struct launcher_ops *ops;
	struct launch *launch;
	struct launch_state *state;
	struct watch *watch;
	enum stage stage;
	int64_t deadline_ns;	/* of a stage that is not FOLLOWING */
	int64_t running_ns;	/* since when the job runs, 0 = not yet */
	int64_t begin_ns;	/* since when it is followed; 0: it may be
				 * queued */
	struct follow_limits limits;
	int64_t boot_ns;	/* that agents have when one has come */
	int signals;		/* answered so far */
	bool lost;		/* it was given up */
	bool unseen_said, silence_said, apart_said, boot_said;
	bool waited, start_said;	/* so it was said; since when, too */
	int64_t signed_ns;	/* when a coordinator was first seen; 0 = not */
	char said[sizeof(((struct launch_state *)0)->text)];

	/* The progress on stderr is a bar on a terminal that we are in the
	 * foreground of, else one plain line per 10 %; nothing in the first
	 * second, at most 4 drawings a second. */
	enum { PROGRESS_NONE, PROGRESS_LINES, PROGRESS_BAR } form;
	const char *probe;	/* borrowed */
	const char *unit;	/* of progress; a run of all counts steps */
	int64_t start_ns;
	int64_t last_ns;	/* of the last drawing */
	int tenths;		/* last line said: 10 % each */
	bool drawn;		/* a bar is on the screen */
};

/* ---- progress ------------------------------------------------------------ */

#define DELAY_NS    NS_PER_S
#define INTERVAL_NS (250 * NS_PER_MS)

/** Columns around the bar; the bar takes the rest of the line. */
#define TEXT_COLUMNS 66
#define BAR_MAX 40

/** Adds ", 40 s left"; nothing if that is not known or nearly over. */
static void add_left(struct str *line, int64_t left_ns)
{
	char left[32];

	if (left_ns >= NS_PER_S) {
		str_addf(line, ", %s left",
			 units_duration_text(left_ns / NS_PER_S * NS_PER_S,
					     left, sizeof(left)));
	}
}

static void draw_bar(struct front_follow *f, size_t done, size_t total,
		     int64_t left_ns)
{
	int width = screen_width(STDERR_FILENO) - TEXT_COLUMNS, full;
	struct str line = STR_INIT;
	char age[32], waits[LAUNCH_WAITS_SIZE];

	str_addf(&line, "%s ", f->probe);
	if (total) {
		width = width < 0 ? 0 : width > BAR_MAX ? BAR_MAX : width;
		full = (int)((size_t)width * done / total);
		str_addch(&line, '[');
		for (int i = 0; i < width; i++) {
			str_addch(&line, i < full ? '#' : '.');
		}
		/* after the last cell bad ones are tried again, which takes a
		 * while */
		str_addf(&line, "] %3zu %%  %zu of %zu %s%s",
			 100 * done / total, done, total, f->unit,
			 done == total ? ", finishing" : "");
	} else {
		str_add(&line, launch_waits(f->state, waits));
	}
	str_addf(&line, "  %s",
		 units_duration_text((clock_now_ns() - f->start_ns) / NS_PER_S *
				     NS_PER_S, age, sizeof(age)));
	add_left(&line, left_ns);
	/* \033[K: a shorter line leaves nothing of the longer one before */
	fprintf(stderr, "\r%s\033[K", str_text(&line));
	fflush(stderr);
	str_release(&line);
	f->drawn = true;
}

static void progress_update(struct front_follow *f)
{
	const int64_t now_ns = clock_now_ns();
	const int64_t left_ns = watch_left_ns(f->watch);
	const size_t total = f->watch->cells;
	/* a cell that is tried again adds a row, not a cell */
	const size_t done = f->watch->rows > total ? total : f->watch->rows;
	pid_t group;

	if (f->form == PROGRESS_NONE || now_ns - f->start_ns < DELAY_NS ||
	    now_ns - f->last_ns < INTERVAL_NS) {
		return;
	}
	if (f->form == PROGRESS_LINES) {
		int tenths = total ? (int)(10 * done / total) : 0;
		struct str left = STR_INIT;

		if (tenths > f->tenths) {
			f->tenths = tenths;
			add_left(&left, left_ns);
			talk("%d %%, %zu of %zu %s%s", 10 * tenths, done,
			     total, f->unit, str_text(&left));
			str_release(&left);
		}
	} else {
		/* a background job must not write over what its user types */
		group = tcgetpgrp(STDERR_FILENO);
		if (group < 0 || group == getpgrp()) {
			draw_bar(f, done, total, left_ns);
		}
	}
	f->last_ns = now_ns;
}

/* Wipe the bar, before other talk and at the end. */
static void progress_clear(struct front_follow *f)
{
	if (f->drawn) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
		f->drawn = false;
	}
}

/* ---- signals ------------------------------------------------------------- */

static sigset_t stop_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

void follow_hold_signals(sigset_t *before)
{
	const sigset_t stop = stop_set();

	sigprocmask(SIG_BLOCK, &stop, before);
}

bool follow_take_signal(int64_t wait_ns)
{
	const struct timespec wait = { .tv_sec = wait_ns / NS_PER_S,
				       .tv_nsec = wait_ns % NS_PER_S };
	const sigset_t stop = stop_set();

	return sigtimedwait(&stop, NULL, &wait) > 0;
}

void follow_release_signals(const sigset_t *before)
{
	while (follow_take_signal(0)) {
		/* it is answered, or comes too late */
	}
	sigprocmask(SIG_SETMASK, before, NULL);
}

/* ---- following ----------------------------------------------------------- */

static void enter(struct front_follow *f, enum stage stage, int64_t wait_ns)
{
	f->stage = stage;
	f->deadline_ns = clock_now_ns() + wait_ns;
}

static void kill_run(struct front_follow *f)
{
	f->ops->stop(f->launch, true);
	enter(f, STAGE_KILLED, HARD_NS);
}

/** Ask for the state of the job, and say why it waits, each reason once, and
 *  until when, once that is known; then, that it waits no longer. */
static void ask_launcher(struct front_follow *f)
{
	const struct launch_state *st = f->state;
	struct err e = { 0 };
	char when[32] = "";
	bool waits, known;

	if (f->ops->poll(f->launch, f->state, &e) < 0) {
		if (!f->silence_said) {
			f->silence_said = true;
			progress_clear(f);
			talk("%s; retrying", e.text);
		}
		return;
	}
	f->silence_said = false;
	if (st->phase == LAUNCH_RUNNING && !f->running_ns) {
		f->running_ns = clock_now_ns();
	}
	waits = st->phase == LAUNCH_PENDING;
	known = waits && st->starts_s > 0;
	if (st->phase == LAUNCH_ENDED || (!waits && !f->waited) ||
	    (waits && (f->start_said || !known) &&
	     strcmp(st->text, f->said) == 0)) {
		return;
	}
	memcpy(f->said, st->text, sizeof(f->said));
	f->waited = waits;
	f->start_said = known;
	if (known) {
		launch_starts(st, when, sizeof(when));
	}
	progress_clear(f);
	talk("%s%s%s", st->text, when[0] ? ", expected to start about " : "",
	     when);
	if (st->hint[0]) {
		talk_hint("%s", st->hint);
	}
}

/** Say once that the job writes nothing, or that agents are awaited: an image
 *  may be being imported, or a node may be dead. */
static void say_silence(struct front_follow *f)
{
	const int64_t now_ns = clock_now_ns();

	if (!f->watch->seen && !f->unseen_said && f->running_ns &&
	    now_ns - f->running_ns >= UNSEEN_NS) {
		f->unseen_said = true;
		progress_clear(f);
		talk("the job runs but has written nothing to '%s' for a "
		     "minute", f->watch->dir);
		talk_hint("do all nodes share this file system? -o chooses "
			  "another directory");
	}
	if (f->watch->signs && !f->signed_ns) {
		f->signed_ns = now_ns;
	}
	if (!f->signed_ns || f->watch->planned || f->boot_said ||
	    now_ns - f->signed_ns < f->limits.quiet_ns) {
		return;
	}
	f->boot_said = true;
	progress_clear(f);
	talk("still waiting for the agents of other nodes");
	if (f->limits.image) {
		talk_hint("those nodes may still be importing an image; "
			  "--start-timeout=%ds limits this wait",
			  (int)(f->boot_ns / NS_PER_S));
	}
}

/** Return a text if the run exceeds --time-limit, else NULL. */
static const char *is_overdue(const struct front_follow *f)
{
	const int64_t from_ns = f->running_ns ? f->running_ns : f->begin_ns;

	if (!f->limits.most_ns || !from_ns ||
	    clock_now_ns() - from_ns <= f->limits.most_ns) {
		return NULL;
	}
	return f->running_ns ? "the run did not end at --time-limit" :
			       "no agent connected within --time-limit";
}

/** Why the run will not end by itself; NULL while it may. */
static const char *is_stuck(const struct front_follow *f)
{
	const int64_t silent_ns = f->watch->silent_ns - f->ops->patience_ns;

	if (f->stage != STAGE_FOLLOWING) {
		return NULL;
	}
	if (!f->running_ns) {
		return is_overdue(f);
	}
	if (f->watch->lost && silent_ns >= 0) {
		return access(f->watch->dir, F_OK) < 0 ?
		       "the run directory was moved or removed" :
		       "the coordinator no longer responds";
	}
	if (!launcher_is_job(f->ops) && !f->watch->signs &&
	    silent_ns > f->limits.begin_ns) {
		return "the run cannot begin: no coordinator has started";
	}
	return is_overdue(f);
}

/** One look at everything; false when there is nothing more to wait for. */
static bool step(struct front_follow *f)
{
	const struct watch *w = f->watch;
	const char *why;

	ask_launcher(f);
	watch_look(f->watch);
	/* only the nodes know that rails are apart: once, in the words of the
	 * verdict */
	if (w->apart > 0 && !f->apart_said) {
		f->apart_said = true;
		progress_clear(f);
		talk("%s of %s pairs; %s between rails are not connected",
		     UNITS_COUNT(w->pairs), UNITS_COUNT(w->pairs + w->apart),
		     UNITS_COUNT(w->apart));
	}
	if (f->state->phase == LAUNCH_ENDED || f->watch->ended ||
	    f->watch->failed) {
		return false;	/* all is written, processes may linger */
	}
	say_silence(f);
	why = is_stuck(f);
	if (why) {
		/* a run that is stuck keeps no one waiting */
		f->lost = true;
		progress_clear(f);
		if (launcher_is_job(f->ops)) {
			talk("%s", why);
			return false;	/* the batch system sees to its end */
		}
		talk("%s; ending it", why);
		kill_run(f);
		return true;
	}
	if (f->stage == STAGE_FOLLOWING || clock_now_ns() < f->deadline_ns) {
		progress_update(f);
		return true;
	}
	if (f->stage == STAGE_KILLED) {
		return false;
	}
	kill_run(f);
	return true;
}

/** Until its end, or one that was asked for. */
static enum follow_end follow_until_end(struct front_follow *f)
{
	const int64_t since_ns = clock_now_ns();
	int64_t most_ns, ended_ns;

	while (step(f)) {
		/* the directory may be on a file server, and a user sees no
		 * more than two changes a second */
		most_ns = (clock_now_ns() - since_ns) / 100;
		most_ns = most_ns < LONG_LOOK_NS ? most_ns : LONG_LOOK_NS;
		clock_nap(since_ns, most_ns > LOOK_NS ? most_ns : LOOK_NS);
		if (!follow_take_signal(0)) {
			continue;
		}
		if (launcher_is_job(f->ops)) {
			return FOLLOW_LEFT;
		}
		/* ^C of a run that would not live on without us */
		progress_clear(f);
		if (++f->signals == 1) {
			talk("stopping; finished tests are kept (again: stop "
			     "at once)");
			f->ops->stop(f->launch, false);
			enter(f, STAGE_ENDING, ORDERLY_NS);
		} else {
			talk("stopping at once");
			kill_run(f);
		}
	}
	/* all agents may be gone before their coordinator has noticed */
	ended_ns = clock_now_ns();
	watch_look(f->watch);
	while (f->stage != STAGE_KILLED && !f->watch->ended &&
	       clock_now_ns() - ended_ns < LAST_WORDS_NS &&
	       rundir_is_held(f->watch->dir)) {
		clock_nap(ended_ns, LOOK_NS);
		watch_look(f->watch);
	}
	/* one that came during the last look counts; later ones are not ours */
	while (follow_take_signal(0)) {
		f->signals++;
	}
	return f->lost && !f->watch->ended ? FOLLOW_LOST :
	       f->signals		   ? FOLLOW_STOPPED : FOLLOW_OVER;
}

void follow_leave(const struct launcher_ops *ops, struct launch *l)
{
	const int64_t since_ns = clock_now_ns();
	int64_t deadline = since_ns + ORDERLY_NS;
	struct launch_state st = { 0 };

	if (launcher_is_job(ops)) {
		return;		/* the batch system sees to that */
	}
	while (ops->poll(l, &st, NULL) < 0 || st.phase != LAUNCH_ENDED) {
		if (clock_now_ns() > deadline + HARD_NS) {
			return;
		}
		if (clock_now_ns() > deadline) {
			ops->stop(l, true);
		}
		clock_nap(since_ns, LOOK_NS);
	}
}

struct follow_limits follow_limits(const struct spec *s, const char *launcher)
{
	const bool slurm = spec_launcher_is(launcher, LAUNCHER_SLURM);
	const int64_t first_ns = spec_boot_first_ns(s, slurm);

	return (struct follow_limits){
		.most_ns = s->max_time_ns ?
				   s->max_time_ns + first_ns + GRACE_NS : 0,
		.begin_ns = first_ns + BEGIN_NS,
		.quiet_ns = spec_boot_ns(s) + WAIT_NS,
		.image = slurm,
	};
}

enum follow_end follow_run(const char *dir, const char *probe,
			   const struct spec *s,
			   const struct launcher_ops *ops, struct launch *l,
			   struct watch *w, struct launch_state *last)
{
	/* this is --progress; "always" draws the bar whatever stderr is */
	const enum spec_when when = (enum spec_when)s->progress;
	sigset_t before;
	struct front_follow f = {
		.ops = ops, .launch = l, .state = last, .watch = w,
		.begin_ns = ops->adopt ? 0 : clock_now_ns(),
		.limits = follow_limits(s, ops->name),
		.boot_ns = spec_boot_ns(s),
		.probe = probe,
		.unit = strcmp(probe, "all") == 0 ? "probes" : "tests",
	};
	enum follow_end end;

	watch_init(w, dir);
	*last = (struct launch_state){ .exit_code = -1 };
	f.start_ns = clock_now_ns() - (when == WHEN_ALWAYS ? DELAY_NS : 0);
	f.form = s->quiet || when == WHEN_NEVER ? PROGRESS_NONE :
		 when == WHEN_ALWAYS || isatty(STDERR_FILENO) ?
						PROGRESS_BAR : PROGRESS_LINES;
	/* they wait until they are asked for */
	follow_hold_signals(&before);
	end = follow_until_end(&f);
	follow_release_signals(&before);
	progress_clear(&f);
	return end;
}
