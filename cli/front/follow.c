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

/* ---- progress ------------------------------------------------------------ */

#define DELAY_NS    NS_PER_S
#define INTERVAL_NS (250 * NS_PER_MS)

/** Columns around the bar; the bar takes the rest of the line. */
#define TEXT_COLUMNS 66
#define BAR_MAX 40

/** A background job must not write over what its user types. */
static bool is_foreground(void)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);

	return group < 0 || group == getpgrp();
}

/** Return the unit of progress; a run of all counts steps. */
static const char *unit(const struct progress *p)
{
	return strcmp(p->name, "all") == 0 ? "probes" : "tests";
}

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

static void draw_bar(struct progress *p, int64_t now_ns,
		     const struct progress_now *now)
{
	struct str line = STR_INIT;
	char age[32];

	str_addf(&line, "%s ", p->name);
	if (now->total) {
		size_t done = now->done;
		size_t total = now->total;
		int width = screen_width(STDERR_FILENO) - TEXT_COLUMNS;
		int full;

		width = width < 0 ? 0 : width > BAR_MAX ? BAR_MAX : width;
		full = (int)((size_t)width * done / total);
		str_addch(&line, '[');
		for (int i = 0; i < width; i++) {
			str_addch(&line, i < full ? '#' : '.');
		}
		/* after the last cell bad ones are tried again, which takes a
		 * while */
		str_addf(&line, "] %3zu %%  %zu of %zu %s%s",
			 100 * done / total, done, total, unit(p),
			 done == total ? ", finishing" : "");
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

static void progress_update(struct progress *p, const struct progress_now *now)
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
		int tenths = n.total ? (int)(10 * n.done / n.total) : 0;
		struct str left = STR_INIT;

		if (tenths > p->tenths) {
			p->tenths = tenths;
			add_left(&left, n.left_ns);
			talk("%d %%, %zu of %zu %s%s", 10 * tenths, n.done,
			     n.total, unit(p), str_text(&left));
			str_release(&left);
		}
	} else if (is_foreground()) {
		draw_bar(p, now_ns, &n);
	}
	p->last_ns = now_ns;
}

/* Wipe the bar, before other talk and at the end. */
static void progress_clear(struct progress *p)
{
	if (p->drawn) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
		p->drawn = false;
	}
}

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
/** Beyond --max-time, at which the coordinator ends the run. */
#define GRACE_NS (60 * NS_PER_S)
/** Beyond --boot-timeout, when agents are still waited for. */
#define WAIT_NS (5 * NS_PER_S)
/** Beyond --boot-timeout, when nothing has begun. */
#define BEGIN_NS (600 * NS_PER_S)

enum stage { STAGE_FOLLOWING, STAGE_ENDING, STAGE_KILLED };

struct front_follow {
	const struct launcher_ops *ops;
	struct launch *launch;
	struct launch_state *state;
	struct watch *watch;
	struct progress progress;
	enum stage stage;
	int64_t deadline_ns;	/* of a stage that is not FOLLOWING */
	int64_t running_ns;	/* since when the job runs, 0 = not yet */
	int64_t begin_ns;	/* since when it is followed; 0: it may be
				 * queued */
	struct follow_limits limits;
	int64_t boot_ns;	/* that agents have when one has come */
	int signals;		/* answered so far */
	bool lost;		/* it was given up */
	bool unseen_said, silence_said, boot_said;
	bool waited, start_said;	/* so it was said; since when, too */
	int64_t signed_ns;	/* when a coordinator was first seen; 0 = not */
	char said[sizeof(((struct launch_state *)0)->text)];
};

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

/** ^C of a run that would not live on without us. */
static void stop_run(struct front_follow *f)
{
	progress_clear(&f->progress);
	if (f->signals == 1) {
		talk("stopping; finished tests are kept (again: stop at once)");
		f->ops->stop(f->launch, false);
		enter(f, STAGE_ENDING, ORDERLY_NS);
	} else {
		talk("stopping at once");
		kill_run(f);
	}
}

/** Why the job waits, each reason once, and until when, once that is known;
 *  then, that it waits no longer. */
static void say_state(struct front_follow *f)
{
	const struct launch_state *st = f->state;
	const bool waits = st->phase == LAUNCH_PENDING;
	const bool known = waits && st->starts_s > 0;
	char when[32] = "";

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
	progress_clear(&f->progress);
	talk("%s%s%s", st->text, when[0] ? ", expected to start about " : "",
	     when);
	if (st->hint[0]) {
		talk_hint("%s", st->hint);
	}
}

static void ask_launcher(struct front_follow *f)
{
	struct err e = { 0 };

	if (f->ops->poll(f->launch, f->state, &e) < 0) {
		if (!f->silence_said) {
			f->silence_said = true;
			progress_clear(&f->progress);
			talk("%s; retrying", e.text);
		}
		return;
	}
	f->silence_said = false;
	say_state(f);
	if (f->state->phase == LAUNCH_RUNNING && !f->running_ns) {
		f->running_ns = clock_now_ns();
	}
}

static void doubt_directory(struct front_follow *f)
{
	if (f->watch->seen || f->unseen_said || !f->running_ns ||
	    clock_now_ns() - f->running_ns < UNSEEN_NS) {
		return;
	}
	f->unseen_said = true;
	progress_clear(&f->progress);
	talk("the job runs but has written nothing to '%s' for a minute",
	     f->watch->dir);
	talk_hint("do all nodes share this file system? -o chooses another "
		  "directory");
}

/** Say that agents are awaited: an image may be being imported, or a node may
 *  be dead. */
static void say_boot(struct front_follow *f)
{
	if (f->watch->signs && !f->signed_ns) {
		f->signed_ns = clock_now_ns();
	}
	if (!f->signed_ns || f->watch->planned || f->boot_said ||
	    clock_now_ns() - f->signed_ns < f->limits.quiet_ns) {
		return;
	}
	f->boot_said = true;
	progress_clear(&f->progress);
	talk("still waiting for the agents of other nodes");
	if (f->limits.image) {
		talk_hint("an image may be being imported there; "
			  "--start-timeout=%ds does not wait for that",
			  (int)(f->boot_ns / NS_PER_S));
	}
}

/** Return a text if the run exceeds --max-time, else NULL. */
static const char *is_overdue(const struct front_follow *f)
{
	const int64_t from_ns = f->running_ns ? f->running_ns : f->begin_ns;

	if (!f->limits.most_ns || !from_ns ||
	    clock_now_ns() - from_ns <= f->limits.most_ns) {
		return NULL;
	}
	return f->running_ns ? "the run did not end at --max-time" :
			       "no agent has come within --max-time";
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
		       "the run directory is gone: moved, or removed" :
		       "the coordinator is gone: it gives no sign of life";
	}
	if (!launcher_is_job(f->ops) && !f->watch->signs &&
	    silent_ns > f->limits.begin_ns) {
		return "the run does not begin: no coordinator has started";
	}
	return is_overdue(f);
}

/** One look at everything; false when there is nothing more to wait for. */
static bool step(struct front_follow *f)
{
	const char *why;

	ask_launcher(f);
	watch_look(f->watch);
	if (f->state->phase == LAUNCH_ENDED || f->watch->ended ||
	    f->watch->failed) {
		return false;	/* all is written, processes may linger */
	}
	doubt_directory(f);
	say_boot(f);
	why = is_stuck(f);
	if (why) {
		/* a run that is stuck keeps no one waiting */
		f->lost = true;
		progress_clear(&f->progress);
		if (launcher_is_job(f->ops)) {
			talk("%s", why);
			return false;	/* the batch system sees to its end */
		}
		talk("%s; ending it", why);
		kill_run(f);
		return true;
	}
	if (f->stage == STAGE_FOLLOWING || clock_now_ns() < f->deadline_ns) {
		char waits[LAUNCH_WAITS_SIZE];

		progress_update(&f->progress, &(struct progress_now){
			.done = f->watch->rows, .total = f->watch->cells,
			.left_ns = watch_left_ns(f->watch),
			.waits = launch_waits(f->state, waits),
		});
		return true;
	}
	if (f->stage == STAGE_KILLED) {
		return false;
	}
	kill_run(f);
	return true;
}

/** All agents may be gone before their coordinator has noticed. */
static void hear_out(struct front_follow *f)
{
	const int64_t since_ns = clock_now_ns();

	watch_look(f->watch);
	while (f->stage != STAGE_KILLED && !f->watch->ended &&
	       clock_now_ns() - since_ns < LAST_WORDS_NS &&
	       rundir_is_held(f->watch->dir)) {
		clock_nap(since_ns, LOOK_NS);
		watch_look(f->watch);
	}
}

/** Until the next look at what has gone on since @since_ns: the directory may
 *  be on a file server, and a user sees no more than two changes a second. */
static void nap(int64_t since_ns)
{
	int64_t most_ns = (clock_now_ns() - since_ns) / 100;

	most_ns = most_ns < LONG_LOOK_NS ? most_ns : LONG_LOOK_NS;
	clock_nap(since_ns, most_ns > LOOK_NS ? most_ns : LOOK_NS);
}

/** Until its end, or one that was asked for. */
static enum follow_end follow_until_end(struct front_follow *f)
{
	const int64_t since_ns = clock_now_ns();

	while (step(f)) {
		nap(since_ns);
		if (!follow_take_signal(0)) {
			continue;
		}
		if (launcher_is_job(f->ops)) {
			return FOLLOW_LEFT;
		}
		f->signals++;
		stop_run(f);
	}
	hear_out(f);
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
	sigset_t before;
	struct front_follow f = {
		.ops = ops, .launch = l, .state = last, .watch = w,
		.begin_ns = ops->adopt ? 0 : clock_now_ns(),
		.limits = follow_limits(s, ops->name),
		.boot_ns = spec_boot_ns(s),
	};
	enum follow_end end;
	struct progress *p;
	enum spec_when when;

	watch_init(w, dir);
	*last = (struct launch_state){ .exit_code = -1 };
	/* when is --progress; "always" draws the bar whatever stderr is */
	p = &f.progress;
	when = (enum spec_when)s->progress;
	*p = (struct progress){ .name = probe, .start_ns = clock_now_ns() };
	p->form = s->quiet || when == WHEN_NEVER ? PROGRESS_NONE :
		  when == WHEN_ALWAYS || isatty(STDERR_FILENO) ?
						PROGRESS_BAR : PROGRESS_LINES;
	if (when == WHEN_ALWAYS) {
		p->start_ns -= DELAY_NS;
	}
	/* they wait until they are asked for */
	follow_hold_signals(&before);
	end = follow_until_end(&f);
	follow_release_signals(&before);
	progress_clear(&f.progress);
	return end;
}
