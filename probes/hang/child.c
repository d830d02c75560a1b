/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/limit.h"
#include "lib/base/spawn.h"
#include "lib/base/str.h"
#include "lib/data/record_rows.h"
#include "lib/spec/spec.h"
#include "probes/dl/nvml.h"
#include "probes/hang/hang.h"
#include "probes/host/gpu_state.h"
#include "probes/host/sysfile.h"
#include "probes/node/child.h"

/* ---- host ---------------------------------------------------------------- */

#define LINES_MAX   16		/* of a kind, the last ones */

/** Messages of the kernel: each has all of the words. */
static const struct {
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

static void say_log(const char *root, int64_t since_us, int64_t deadline_ns)
{
	/* by the first kind with that fact; of each the number that came */
	char said[KINDS][LINES_MAX][200];
	size_t i, n[KINDS] = { 0 };
	const int64_t now_us = kernel_log_now_us(root);
	struct str lines = STR_INIT;
	const char *source = kernel_log_read(root, deadline_ns, &lines), *text;
	char *next = lines.data;
	int64_t us;

	if (!source) {
		node_task_fact("node", "kernel_log", KERNEL_LOG, "%s",
			       strerror(errno));
	}
	while (source && (text = kernel_log_next(&next, &us))) {
		const char *fact = hang_kernel_fact(text);

		i = fact ? STR_FIND(kinds, KINDS, fact, fact) : KINDS;
		if (i < KINDS && us >= since_us) {
			snprintf(said[i][n[i]++ % LINES_MAX],
				 sizeof(said[i][0]),
				 "%" PRId64 " s ago: %.160s",
				 (now_us - us) / 1000000, text);
		}
	}
	str_release(&lines);
	for (i = 0; i < KINDS; i++) {
		for (size_t k = n[i] > LINES_MAX ? n[i] - LINES_MAX : 0;
		     k < n[i]; k++) {
			node_task_fact("node", kinds[i].fact, source, "%s",
				       said[i][k % LINES_MAX]);
		}
	}
}

/* Collect facts of the node itself: messages of its kernel about GPUs, memory,
 * links and disks since @since_us after boot, when the job began; blocked
 * processes; and the memory the job has left (@job: this process is in its
 * cgroup). Files are read below @root ("" = /); the journal is given up at
 * @deadline_ns. */
static void hang_host_facts(const char *root, int64_t since_us, bool job,
			    int64_t deadline_ns)
{
	char text[160];
	struct timex t = { 0 };
	struct cgroup_limit memory;
	int64_t kills;
	int state;

	pressure_text(root, text, sizeof(text));
	if (text[0]) {
		node_task_fact("node", "pressure", "/proc/pressure", "%s",
			       text);
	}
	/* add a fact that says whether the clock of this node can be
	 * compared with those of other nodes */
	state = adjtimex(&t);
	if (state == TIME_ERROR || (state >= 0 && t.status & STA_UNSYNC)) {
		node_task_fact("node", "clock", "adjtimex", "not synchronised");
	} else if (state >= 0) {
		node_task_fact("node", "clock", "adjtimex",
			       "synchronised, within %.1f ms",
			       (double)t.maxerror / 1e3);
	}
	/* this process is a step of the job, and below its cgroup */
	kills = job ? cgroup_oom_kills() : 0;
	if (kills > 0) {
		node_task_fact("node", HANG_OOM, "memory.events", "%" PRId64,
			       kills);
	}
	if (job && cgroup_find(CGROUP_MEMORY, &memory) && memory.now >= 0) {
		node_task_fact("node", "job_memory", memory.path,
			       "%" PRId64 " of %" PRId64, memory.now,
			       memory.max);
	}
	say_log(root, since_us, deadline_ns);
}

/* ---- gpu watch ----------------------------------------------------------- */

#define SAMPLE_NS (NS_PER_S / 5)

static const struct gpu_use unknown = {
	.busy_pct = NAN, .power_W = NAN, .clock_MHz = NAN, .sm_pct = NAN,
	.warp_pct = NAN, .link_MiB_s = NAN,
};

enum reading { READ_BUSY, READ_POWER, READ_CLOCK, READ_THROTTLED, READINGS };

struct gpu_watch {
	pthread_t thread;
	atomic_bool stop;
	/* of the thread, until it has ended */
	int n;
	struct child_gpu {
		nvmlDevice_t dev;
		double sum[READINGS];
		int n[READINGS];
		unsigned long long reasons;	/* of READ_THROTTLED */
		nvmlGpmSample_t from, to;	/* NULL: it has none */
		struct gpu_use use;
	} gpus[GPU_WATCH_MAX];
};

static void add_reading(struct child_gpu *g, enum reading r, double value)
{
	g->sum[r] += value;
	g->n[r]++;
}

static double mean_of(const struct child_gpu *g, enum reading r)
{
	return g->n[r] > 0 ? g->sum[r] / g->n[r] : NAN;
}

static void sample(const struct nvml *lib, struct child_gpu *s)
{
	unsigned long long reasons;
	unsigned int value;
	struct nvml_use use;
	char words[sizeof(s->use.throttled)];

	if (NVML_SAYS(lib, nvmlDeviceGetUtilizationRates, s->dev, &use)) {
		add_reading(s, READ_BUSY, use.gpu);
	}
	if (NVML_SAYS(lib, nvmlDeviceGetPowerUsage, s->dev, &value)) {
		add_reading(s, READ_POWER, value / 1e3);
	}
	if (NVML_SAYS(lib, nvmlDeviceGetClockInfo, s->dev, NVML_CLOCK_SM,
		      &value)) {
		add_reading(s, READ_CLOCK, value);
	}
	if (NVML_SAYS(lib, nvmlDeviceGetCurrentClocksThrottleReasons, s->dev,
		      &reasons)) {
		gpu_throttle_words(reasons, words, sizeof(words));
		add_reading(s, READ_THROTTLED, words[0] != '\0');
		s->reasons |= reasons;
	}
}

static double gpm_value(const struct nvml_gpm_metric *m)
{
	return m->code == NVML_SUCCESS ? m->value : NAN;
}

static void end_gpu(const struct nvml *lib, struct child_gpu *g)
{
	static const unsigned int ids[] = {
		NVML_GPM_SM, NVML_GPM_WARPS, NVML_GPM_NVLINK_RX,
		NVML_GPM_NVLINK_TX,
	};
	struct nvml_gpm gpm = { .version = NVML_GPM_VERSION, .from = g->from,
				.to = g->to };
	struct nvml_process list[GPU_WATCH_PIDS];
	unsigned int n = GPU_WATCH_PIDS;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		gpm.list[gpm.n++].id = ids[i];
	}
	if (g->from && lib->nvmlGpmSampleGet(g->dev, g->to) == NVML_SUCCESS &&
	    lib->nvmlGpmMetricsGet(&gpm) == NVML_SUCCESS) {
		g->use.sm_pct = gpm_value(&gpm.list[0]);
		g->use.warp_pct = gpm_value(&gpm.list[1]);
		g->use.link_MiB_s = gpm_value(&gpm.list[2]) +
				    gpm_value(&gpm.list[3]);
	}
	if (g->from) {
		lib->nvmlGpmSampleFree(g->from);
	}
	if (g->to) {
		lib->nvmlGpmSampleFree(g->to);
	}
	if (NVML_SAYS(lib, nvmlDeviceGetComputeRunningProcesses_v3, g->dev, &n,
		      list)) {
		for (unsigned int i = 0; i < n && i < GPU_WATCH_PIDS; i++) {
			g->use.pids[g->use.n_pids++] = list[i].pid;
		}
	}
}

static void *watch_gpus(void *arg)
{
	const struct timespec pause = { .tv_nsec = SAMPLE_NS };
	const struct nvml *lib = dl_nvml(NULL);
	struct gpu_watch *w = arg;
	unsigned int n = 0;

	if (!lib || lib->nvmlInit_v2() != NVML_SUCCESS) {
		return NULL;
	}
	lib->nvmlDeviceGetCount_v2(&n);
	for (unsigned int i = 0; i < n && i < GPU_WATCH_MAX &&
	     lib->nvmlDeviceGetHandleByIndex_v2(i, &w->gpus[i].dev) ==
		     NVML_SUCCESS; i++) {
		/* the first sample of w->gpus[i]; none where the GPU or the
		 * driver has no such */
		if (lib->nvmlGpmSampleAlloc && lib->nvmlGpmSampleFree &&
		    lib->nvmlGpmSampleGet && lib->nvmlGpmMetricsGet &&
		    lib->nvmlGpmSampleAlloc(&w->gpus[i].from) == NVML_SUCCESS &&
		    (lib->nvmlGpmSampleAlloc(&w->gpus[i].to) != NVML_SUCCESS ||
		     lib->nvmlGpmSampleGet(w->gpus[i].dev, w->gpus[i].from) !=
			     NVML_SUCCESS)) {
			lib->nvmlGpmSampleFree(w->gpus[i].from);
			w->gpus[i].from = NULL;
		}
		w->n++;
	}
	while (!atomic_load(&w->stop)) {
		for (int i = 0; i < w->n; i++) {
			sample(lib, &w->gpus[i]);
		}
		nanosleep(&pause, NULL);
	}
	for (int i = 0; i < w->n; i++) {
		end_gpu(lib, &w->gpus[i]);
	}
	lib->nvmlShutdown();
	return NULL;
}

/* Means of what was seen until now, by NVML's index, NAN where nothing was.
 * One that has not come back by @deadline_ns is left behind: it ends with this
 * process.  Returns how many GPUs there are, -1 = NVML does not answer. */
static int gpu_watch_end(struct gpu_watch *w, int64_t deadline_ns,
			 struct gpu_use use[GPU_WATCH_MAX])
{
	int64_t left_ns = deadline_ns - clock_now_ns();
	struct timespec until;
	int n = -1;

	for (int i = 0; i < GPU_WATCH_MAX; i++) {
		use[i] = unknown;
	}
	if (!w) {
		return -1;
	}
	atomic_store(&w->stop, true);
	clock_gettime(CLOCK_REALTIME, &until);
	left_ns = left_ns > 0 ? left_ns : 0;
	until.tv_sec += (until.tv_nsec + left_ns) / NS_PER_S;
	until.tv_nsec = (until.tv_nsec + left_ns) % NS_PER_S;
	if (pthread_timedjoin_np(w->thread, NULL, &until) != 0) {
		return -1; /* not freed: the thread may still write */
	}
	for (int i = 0; i < w->n; i++) {
		const struct child_gpu *g = &w->gpus[i];

		use[i] = g->use;
		use[i].busy_pct = mean_of(g, READ_BUSY);
		use[i].power_W = mean_of(g, READ_POWER);
		use[i].clock_MHz = mean_of(g, READ_CLOCK);
		if (mean_of(g, READ_THROTTLED) > 0.5) {
			gpu_throttle_words(g->reasons, use[i].throttled,
					   sizeof(use[i].throttled));
		}
	}
	n = w->n;
	free(w);
	return n;
}

/* ---- look rows ----------------------------------------------------------- */

/* The rows of a node: its processes, and ranks that no other node reports. */

/** The one GPU that the driver says process @pid uses; RECORD_NONE: none, or
 *  several. */
static int64_t gpu_of(const struct look *l, int64_t pid)
{
	int64_t gpu = RECORD_NONE;
	int n = 0;

	for (int i = 0; i < GPU_WATCH_MAX; i++) {
		for (unsigned int k = 0; k < l->use[i].n_pids; k++) {
			if ((int64_t)l->use[i].pids[k] == pid) {
				gpu = i;
				n++;
			}
		}
	}
	return n == 1 ? gpu : RECORD_NONE;
}

static struct hang_row new_row(const struct look *l, const char *node,
			       int64_t rank, int64_t pid)
{
	struct hang_row row = {
		.rank = rank, .pid = pid, .cpu = NAN,
		.gpu = RECORD_NONE, .gpu_busy_pct = NAN, .gpu_power_W = NAN,
		.comm_rank = RECORD_NONE, .comm_size = RECORD_NONE,
		.async_error = RECORD_NONE, .behind = RECORD_NONE,
		.gpu_sm_pct = NAN, .gpu_warp_pct = NAN, .gpu_link_MiB_s = NAN,
		.gpu_clock_MHz = NAN,
		.swapped_B = RECORD_NONE, .faults = RECORD_NONE,
		.stuck_tid = RECORD_NONE, .switches = RECORD_NONE,
		.unread_B = RECORD_NONE, .unsent_B = RECORD_NONE,
		.local_ranks = RECORD_NONE, .outcome = OUTCOME_OK,
	};

	STR_COPY(row.node, node);
	STR_COPY(row.start_utc, l->utc);
	STR_COPY(row.ras, HANG_RAS_NONE);
	return row;
}

static void set_comm(struct hang_row *row, const struct ras_rank *r)
{
	STR_COPY(row->ras, r->dead    ? HANG_RAS_DEAD :
			   r->missing ? HANG_RAS_MISSING :
			   r->told    ? HANG_RAS_ANSWERS :
					HANG_RAS_NONE);
	STR_COPY(row->comm, r->comm);
	row->comm_rank = r->rank;
	row->comm_size = r->comm_size;
	row->async_error = r->async_error;
}

/** The rank in the job of @r, whose process is gone, and with it its
 *  environment: that in a communicator of all ranks, or the only one that no
 *  process here has. */
static int64_t lost_rank(const struct look *l, const struct ras_rank *r)
{
	int64_t world = -1, sum = 0, known = 0;

	for (size_t i = 0; i < l->procs.n; i++) {
		const struct proc *p = &l->procs.list[i];

		world = p->world > world ? p->world : world;
		known += p->rank >= 0;
		sum += p->rank >= 0 ? p->rank : 0;
	}
	return r->comm_size < world && known == world - 1 ?
		       world * (world - 1) / 2 - sum : r->rank;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? RECORD_NONE : a < b ? a : b;
}

/** Fill in what both looks at @p have. */
static void set_looks(const struct look *l, const struct proc *p,
		      struct hang_row *row)
{
	const struct proc_look *first = &p->first, *last = &p->last;
	bool same = first->started == last->started;

	row->cpu = proc_cpu(p);
	STR_COPY(row->command, first->command);
	row->state[0] = same ? last->state : 'X';
	/* in one place all the time, or nowhere in particular */
	if (strcmp(first->waits_in, last->waits_in) == 0) {
		STR_COPY(row->waits_in, last->waits_in);
	}
	if (same && row->state[0] != 'X') {
		row->faults = last->faults - first->faults;
		row->swapped_B = last->swapped_B >= 0 ? last->swapped_B :
							RECORD_NONE;
		row->switches = last->switches - first->switches;
		row->unread_B = least(first->unread_B, last->unread_B);
		row->unsent_B = least(first->unsent_B, last->unsent_B);
		proc_threads(l->root, p->pid, row->threads,
			     sizeof(row->threads));
	}
	row->local_ranks = p->local > 0 ? p->local : RECORD_NONE;
	STR_COPY(row->store, p->store);
}

/** Report @p.  @r is its rank by the last answer, @first by the first one; both
 *  NULL without one. */
static void say_row(const struct look *l, const struct proc *p,
		    const struct ras_rank *first, const struct ras_rank *r)
{
	struct hang_row row = new_row(l, l->node, p->rank, p->pid);
	char printed[4096];

	set_looks(l, p, &row);
	/* in most kernels only root may read it */
	sysfile_read(printed, sizeof(printed), "%s/proc/%" PRId64
		     "/task/%" PRId64 "/stack", l->root, p->pid,
		     p->stuck.tid > 0 ? p->stuck.tid : p->pid);
	stack_parse(printed, row.kernel_stack);
	if (p->stuck.tid > 0) {
		row.stuck_tid = p->stuck.tid;
		snprintf(row.stuck_in, sizeof(row.stuck_in), "%s%s%s",
			 p->stuck.name, p->stuck.waits_in[0] ? " in " : "",
			 p->stuck.waits_in);
	}
	STR_COPY(row.stack, p->stack);
	proc_children(l->root, p->pid, row.children, sizeof(row.children));
	if (r) {
		set_comm(&row, r);
		STR_COPY(row.calls, first->calls);
		STR_COPY(row.calls_later, r->calls);
		row.gpu = r->gpu >= 0 ? r->gpu : RECORD_NONE;
		row.rank = p->rank >= 0 ? p->rank : lost_rank(l, r);
		row.behind = look_behind(l, r);
	}
	if (row.gpu == RECORD_NONE) {
		row.gpu = gpu_of(l, p->pid);
	}
	if (row.gpu >= 0 && row.gpu < GPU_WATCH_MAX) {
		const struct gpu_use *use = &l->use[row.gpu];
		unsigned int k = 0;

		row.gpu_busy_pct = use->busy_pct;
		row.gpu_clock_MHz = use->clock_MHz;
		STR_COPY(row.gpu_throttled, use->throttled);
		/* what others than the ranks do there must not be held
		 * against it */
		while (k < use->n_pids && procs_at(&l->procs, use->pids[k])) {
			k++;
		}
		if (k == use->n_pids) {
			row.gpu_power_W = use->power_W;
			row.gpu_sm_pct = use->sm_pct;
			row.gpu_warp_pct = use->warp_pct;
			row.gpu_link_MiB_s = use->link_MiB_s;
		}
	}
	node_task_row(&schema_hang, &row);
}

static void say_rows(const struct look *l)
{
	const struct ras_answer *last = l->answers > 0 ?
					&l->ras[l->answers - 1] : NULL;

	for (size_t i = 0; i < l->procs.n; i++) {
		const struct proc *p = &l->procs.list[i];
		bool said = false;

		for (size_t k = 0; last && k < last->n; k++) {
			const struct ras_rank *r = &last->ranks[k], *first;

			if (r->here && r->pid == p->pid) {
				first = look_rank(&l->ras[0], r);
				say_row(l, p, first ? first : r, r);
				said = true;
			}
		}
		if (!said) {
			say_row(l, p, NULL, NULL);
		}
	}
}

/** Return true if no look saw it. */
static bool is_missed(const struct look *l, const struct ras_rank *like)
{
	bool missed = l->answers == HANG_LOOKS;

	for (int i = 0; i < l->answers && missed; i++) {
		const struct ras_rank *r = look_rank(&l->ras[i], like);

		missed = r && (r->missing || r->dead);
	}
	return missed;
}

/** Return true if the first rank of @r's communicator that answers is on this
 *  node. One node of all has it. */
static bool is_ours_to_say(const struct ras_answer *a,
			   const struct ras_rank *r)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct ras_rank *s = &a->ranks[i];

		if (s->told && strcmp(s->comm, r->comm) == 0) {
			return s->here;
		}
	}
	return false;
}

/** Report ranks of the largest communicators, those of the job, that NCCL
 * misses on other nodes: a node without a live rank does not report them
 * itself. */
static void say_far(const struct look *l)
{
	const struct ras_answer *a = &l->ras[HANG_LOOKS - 1];
	int64_t most = 0;

	for (size_t i = 0; i < a->n; i++) {
		most = a->ranks[i].comm_size > most ? a->ranks[i].comm_size :
						      most;
	}
	for (size_t i = 0; i < a->n; i++) {
		const struct ras_rank *r = &a->ranks[i];

		if (r->comm_size == most && (r->missing || r->dead) &&
		    !r->here && r->host[0] && is_missed(l, r) &&
		    is_ours_to_say(a, r)) {
			struct hang_row row = new_row(l, r->host, r->rank,
						      r->pid);

			set_comm(&row, r);
			node_task_row(&schema_hang, &row);
		}
	}
}

/* ---- child --------------------------------------------------------------- */

/* A rank that computes or waits for data for this long is no hang yet; one that
 * begins a step each second has begun one. */
#define WATCH_NS (2 * NS_PER_S)
/* All of it: the child is ended a second later. */
#define LOOK_NS (14 * NS_PER_S)
/* All questions to RAS together: an answer takes five seconds at most. */
#define ASK_ALL_NS (4 * NS_PER_S)
/* NVML, behind the watch. */
#define GPU_NS (2 * NS_PER_S)

/* The journal of the kernel, where its log itself may not be read. */
#define JOURNAL_NS (2 * NS_PER_S)

/* py-spy takes a second, gdb up to four where libraries are large. */
#define STACKS_NS (4 * NS_PER_S)

static void wait_until(int64_t until_ns)
{
	int64_t left = until_ns - clock_now_ns();
	const struct timespec t = { .tv_sec = left / NS_PER_S,
				    .tv_nsec = left % NS_PER_S };

	if (left > 0) {
		nanosleep(&t, NULL);
	}
}

/** Choose the ranks to watch: those of RAS if it answers, including dead ones;
 *  else those that have a rank in their environment. */
static int choose(struct look *l)
{
	const struct ras_answer *a = &l->ras[0];

	if (a->n == 0 || a->words) {
		procs_keep_ranks(&l->procs);
	}
	/* those that RAS does not name are what started ranks, or was started
	 * by them; where it does name all */
	for (size_t i = l->procs.n; i-- > 0 && a->n > 0 && !a->words;) {
		bool named = false;

		for (size_t k = 0; k < a->n; k++) {
			named = named || (a->ranks[k].here &&
					  a->ranks[k].pid ==
						  l->procs.list[i].pid);
		}
		if (!named) {
			l->procs.list[i] = l->procs.list[--l->procs.n];
		}
	}
	for (size_t k = 0; k < a->n; k++) {
		if (a->ranks[k].here &&
		    !procs_add(&l->procs, a->ranks[k].pid)) {
			return -1;
		}
	}
	return 0;
}

/** Take the first sample of the processes that have none yet, or the last one
 *  of all. */
static void look_at_ranks(struct look *l, bool first)
{
	for (size_t i = 0; i < l->procs.n; i++) {
		struct proc *p = &l->procs.list[i];

		if (first && p->looked_at) {
			continue;
		}
		if (first) {
			p->looked_at = true;
			proc_note_blocked(l->root, p);
		}
		proc_look(l->root, p->pid, first ? &p->first : &p->last);
		proc_sockets(l->root, p->pid, first ? &p->first : &p->last);
		if (!first) {
			proc_find_stuck(l->root, p);
		}
	}
}

static int watch(struct look *l)
{
	struct gpu_watch *gpus = calloc(1, sizeof(*gpus));
	int64_t until = look_within_ns(l, ASK_ALL_NS), begun;
	bool ended = false;
	int rc;

	for (int i = 0; gpus && i < GPU_WATCH_MAX; i++) {
		gpus->gpus[i].use = unknown;
	}
	if (gpus &&
	    pthread_create(&gpus->thread, NULL, watch_gpus, gpus) != 0) {
		free(gpus);
		gpus = NULL;
	}
	/* before RAS, which waits for a rank that does not answer */
	look_at_ranks(l, true);
	begun = clock_now_ns();
	l->answers += look_ask(l, until, &l->ras[0]);
	rc = choose(l);
	look_at_ranks(l, true);
	for (int i = 1; i < HANG_LOOKS && rc == 0; i++) {
		wait_until(begun + WATCH_NS * i / (HANG_LOOKS - 1));
		if (l->answers == i) {
			l->answers += look_ask(l, until, &l->ras[i]);
		}
	}
	look_complete(l);
	look_at_ranks(l, false);
	for (size_t i = 0; i < l->procs.n; i++) {
		const struct proc *p = &l->procs.list[i];

		ended = ended ||
			(p->first.state != 'X' && p->last.state == 'X');
	}
	if (ended) {
		/* the others may be about to: a job at its end is no hang */
		wait_until(clock_now_ns() + WATCH_NS);
		look_at_ranks(l, false);
	}
	if (gpu_watch_end(gpus, look_within_ns(l, GPU_NS), l->use) < 0) {
		node_task_fact("node", "gpu_note", "hang",
			       "NVML does not respond");
	}
	return rc;
}

/** Return the time after the boot when the first of the live ranks was
 *  started. */
static int64_t job_since_us(const struct look *l)
{
	int64_t since = INT64_MAX;

	for (size_t i = 0; i < l->procs.n; i++) {
		const struct proc_look *p = &l->procs.list[i].first;

		if (p->state != 'X' && p->started < since) {
			since = p->started;
		}
	}
	return since == INT64_MAX ? INT64_MAX :
				    since * (NS_PER_S / NS_PER_US) /
					    sysconf(_SC_CLK_TCK);
}

int hang_child(const struct node_args *args, struct err *e)
{
	const char *job = getenv("SLURM_JOB_ID");
	struct look l = { .end_ns = clock_now_ns() + LOOK_NS };
	const struct spec *spec = &args->spec;
	const char *tool;
	int rc;

	clock_utc(l.utc);
	STR_COPY(l.node, args->node);
	STR_COPY(l.job, job ? job : "");
	STR_COPY(l.root, spec->sysroot);
	rc = procs_find(l.root, l.job, spec->pid, &l.procs);
	if (l.procs.mute > 0) {
		node_task_fact("node", "process_note", "hang",
			       "the kernel does not let processes be read that "
			       "hang while they change their memory");
	}
	rc = rc == 0 ? watch(&l) : -1;
	if (rc == 0 && spec->stacks) { /* after all else: it stops them */
		tool = stacks_read(&l.procs, look_within_ns(&l, STACKS_NS));
		node_task_fact("node", "stacks", "hang", "%s",
			       tool ? tool :
				      "neither py-spy nor gdb is installed");
	}
	if (rc == 0) {
		/* all rows */
		say_rows(&l);
		say_far(&l);
		look_diagnose(&l);
		hang_host_facts(l.root, job_since_us(&l), l.job[0],
				look_within_ns(&l, JOURNAL_NS));
	} else {
		err_set(e, ENOMEM, "no memory for the processes");
	}
	for (int i = 0; i < HANG_LOOKS; i++) {
		ras_release(&l.ras[i]);
	}
	procs_release(&l.procs);
	return rc;
}
