/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for every launcher, and what it leaves out. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sbatch/launcher.h"

int launcher_usable(const struct launcher_ops *ops, struct err *why)
{
	return ops->usable ? ops->usable(why) : 0;
}

int launcher_hosts(const struct launcher_ops *ops, const struct spec *s,
		   struct hosts *h, struct err *e)
{
	if (ops->hosts(s, h, e) == 0 &&
	    hosts_choose(h, s->nodelist, s->exclude, e) == 0) {
		return 0;
	}
	hosts_release(h);
	return -1;
}

int launcher_check(const struct launcher_ops *ops, const struct spec *s,
		   struct err *e)
{
	struct hosts h = { 0 };
	int rc = ops->check ? ops->check(s, e) : 0;

	if (rc == 0 && ops->hosts) {
		rc = launcher_hosts(ops, s, &h, e);
	}
	hosts_release(&h);
	return rc;
}

void launcher_usual(const struct launcher_ops *ops, const struct spec *s,
		    int64_t *nodes, int64_t *gpus)
{
	struct hosts h = { 0 };

	if (ops->usual) {
		ops->usual(s, nodes, gpus);
	} else if (ops->hosts && launcher_hosts(ops, s, &h, NULL) == 0) {
		*nodes = (int64_t)h.n;
	}
	hosts_release(&h);
}

const char *launcher_job_id(const struct launcher_ops *ops,
			    const struct launch *l)
{
	return ops->job_id ? ops->job_id(l) : "";
}

struct launch *launcher_start(const struct launcher_ops *ops,
			      const struct launch_request *r, struct err *e)
{
	struct launch *l = calloc(1, ops->size);

	if (!l) {
		err_set(e, ENOMEM, "no memory for a run");
		return NULL;
	}
	if (ops->start(l, r, e) < 0) {
		launcher_free(ops, l);
		return NULL;
	}
	return l;
}

int launcher_adopt(const struct launcher_ops *ops, const char *dir, bool past,
		   struct launch **l, struct err *e)
{
	int rc;

	*l = calloc(1, ops->size);
	if (!*l) {
		return err_set(e, ENOMEM, "no memory for a run");
	}
	rc = ops->adopt(*l, dir, past, e);
	if (rc <= 0) {
		launcher_free(ops, *l);
		*l = NULL;
	}
	return rc;
}

void launcher_free(const struct launcher_ops *ops, struct launch *l)
{
	if (ops->release) {
		ops->release(l);
	}
	free(l);
}

void launcher_add_agent(const struct launch_request *r, struct args *a)
{
	args_add(a, r->self);
	args_add(a, "agent");
	args_add(a, r->dir);
}

void launch_say(struct launch_state *st, enum launch_phase phase,
		int exit_code, const char *fmt, ...)
{
	va_list ap;

	*st = (struct launch_state){ .phase = phase, .exit_code = exit_code };
	va_start(ap, fmt);
	vsnprintf(st->text, sizeof(st->text), fmt, ap);
	va_end(ap);
}

bool launch_starts(const struct launch_state *st, char *buf, size_t size)
{
	const time_t at = (time_t)st->starts_s;
	struct tm tm;

	return st->starts_s > 0 && gmtime_r(&at, &tm) &&
	       strftime(buf, size, "%Y-%m-%d %H:%M UTC", &tm) > 0;
}

const char *launch_waits(const struct launch_state *st, char *buf)
{
	char when[32];

	snprintf(buf, LAUNCH_WAITS_SIZE, "%s", st->phase == LAUNCH_PENDING ?
		 "pending" : "starting");
	if (st->phase == LAUNCH_PENDING &&
	    launch_starts(st, when, sizeof(when))) {
		snprintf(buf, LAUNCH_WAITS_SIZE,
			 "pending, expected to start about %.20s", when);
	}
	return buf;
}
