/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include "lib/base/cgroup.h"
#include "lib/base/clock.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/record_hang.h"
#include "probes/host/kernel_log.h"
#include "probes/host/pressure.h"
#include "probes/node/child.h"

#define LINES_MAX   16		/* of a kind, the last ones */
#define JOURNAL_MAX (4 << 20)

/** Messages of the kernel: each has all of the words. */
static const struct kind {
	const char *fact, *words[2];
} kinds[] = {
	{ HANG_KERNEL_XID, { "NVRM: Xid (PCI:", "" } },
	{ HANG_KERNEL_OOM, { "ut of memory: Killed process ", "" } },
	{ HANG_KERNEL_LINK, { "mlx5_core ", "Link down" } },
	{ HANG_KERNEL_DISK, { "INFO: task ", " blocked for more than " } },
	{ HANG_KERNEL_DISK, { "nfs: server ", " not responding" } },
	{ HANG_KERNEL_DISK, { "Lustre", " was lost; in progress" } },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *hang_kernel_fact(const char *text)
{
	for (size_t i = 0; i < KINDS; i++) {
		if (strstr(text, kinds[i].words[0]) &&
		    strstr(text, kinds[i].words[1])) {
			return kinds[i].fact;
		}
	}
	return NULL;
}

/* ---- saying -------------------------------------------------------------- */

static void say(const char *fact, const char *value, const char *source)
{
	struct fact_row row = { .scope = "node" };

	STR_COPY(row.fact, fact);
	STR_COPY(row.value, value);
	STR_COPY(row.source, source);
	node_task_fact(&row);
}

struct log {
	int64_t since_us, now_us;
	struct lines {
		char text[LINES_MAX][200];
		size_t n;	/* that came */
	} of[KINDS];		/* of the first kind with that fact */
};

static void take_line(void *user, int64_t us, const char *text)
{
	struct log *log = user;
	const char *fact = hang_kernel_fact(text);

	for (size_t i = 0; i < KINDS && fact && us >= log->since_us; i++) {
		struct lines *l = &log->of[i];

		if (strcmp(kinds[i].fact, fact) == 0) {
			snprintf(l->text[l->n++ % LINES_MAX],
				 sizeof(l->text[0]), "%" PRId64 " s ago: %.160s",
				 (log->now_us - us) / 1000000, text);
			break;
		}
	}
}

/** Whoever may not read the log may be let read the journal: lines as
 *  "[ 1234.567890] host kernel: TEXT". */
static int read_journal(struct log *log, int64_t deadline_ns, struct err *e)
{
	char *const argv[] = { (char *)"journalctl", (char *)"-k", (char *)"-b",
			       (char *)"-q", (char *)"--no-pager",
			       (char *)"-o", (char *)"short-monotonic",
			       (char *)"-n", (char *)"20000", NULL };
	struct str out = STR_INIT;
	struct spawn_status st;
	int rc = spawn_capture(argv, &out, NULL, JOURNAL_MAX, deadline_ns, &st,
			       e);
	const char *line = str_text(&out);

	while (rc == 0 && *line) {
		char text[400];
		double seconds;
		size_t len = strcspn(line, "\n");

		snprintf(text, sizeof(text), "%.*s",
			 (int)(len < sizeof(text) ? len : sizeof(text) - 1),
			 line);
		if (sscanf(text, "[%lf]", &seconds) == 1) {
			take_line(log, (int64_t)(seconds * 1e6), text);
		}
		line += len + (line[len] == '\n');
	}
	if (rc == 0 && (st.timed_out || st.exit_code != 0)) {
		rc = err_set(e, EPERM, "the journal says nothing");
	}
	str_release(&out);
	return rc;
}

static void say_log(const char *root, int64_t since_us, int64_t deadline_ns)
{
	struct log log = { .since_us = since_us,
			   .now_us = clock_now_ns() / NS_PER_US };
	const char *source = KERNEL_LOG;
	struct err e = { 0 };

	if (kernel_log_read(root, take_line, &log) < 0) {
		const char *why = strerror(errno);

		source = "journalctl";
		if (root[0] || read_journal(&log, deadline_ns, &e) < 0) {
			say("kernel_log", why, KERNEL_LOG);
			return;
		}
	}
	for (size_t i = 0; i < KINDS; i++) {
		const struct lines *l = &log.of[i];
		size_t first = l->n > LINES_MAX ? l->n - LINES_MAX : 0;

		for (size_t k = first; k < l->n; k++) {
			say(kinds[i].fact, l->text[k % LINES_MAX], source);
		}
	}
}

/** Kills there: we are a step of that job, and below its cgroup. */
static void say_memory(void)
{
	int64_t kills = cgroup_oom_kills();
	struct cgroup_limit memory;
	char text[64];

	if (kills > 0) {
		snprintf(text, sizeof(text), "%" PRId64, kills);
		say(HANG_OOM, text, "memory.events");
	}
	if (cgroup_find(CGROUP_MEMORY, &memory) && memory.now >= 0) {
		snprintf(text, sizeof(text), "%" PRId64 " of %" PRId64,
			 memory.now, memory.max);
		say("job_memory", text, memory.path);
	}
}

/** May times of its logs be compared with those of other nodes? */
static void say_clock(void)
{
	struct timex t = { 0 };
	char text[64];
	int state = adjtimex(&t);

	if (state == TIME_ERROR || (state >= 0 && t.status & STA_UNSYNC)) {
		say("clock", "not synchronised", "adjtimex");
	} else if (state >= 0) {
		snprintf(text, sizeof(text), "synchronised, within %.1f ms",
			 (double)t.maxerror / 1e3);
		say("clock", text, "adjtimex");
	}
}

void hang_host_facts(const char *root, int64_t since_us, bool job,
		     int64_t deadline_ns)
{
	char text[160];

	pressure_text(root, text, sizeof(text));
	if (text[0]) {
		say("pressure", text, "/proc/pressure");
	}
	say_clock();
	if (job) {
		say_memory();
	}
	say_log(root, since_us, deadline_ns);
}
