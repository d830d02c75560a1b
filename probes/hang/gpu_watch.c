/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/gpu_watch.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/clock.h"
#include "probes/dl/nvml.h"
#include "probes/host/gpu_state.h"

#define SAMPLE_NS (NS_PER_S / 5)

static const struct gpu_use unknown = {
	.busy_pct = NAN, .power_W = NAN, .clock_MHz = NAN, .sm_pct = NAN,
	.warp_pct = NAN, .link_MiB_s = NAN,
};

struct gpu_watch {
	pthread_t thread;
	atomic_bool stop;
	/* of the thread, until it has ended */
	int n;
	struct gpu {
		nvmlDevice_t dev;
		struct mean {
			double sum;
			int n;
		} busy_pct, power_W, clock_MHz, throttled;
		unsigned long long reasons;	/* of those */
		nvmlGpmSample_t from, to;	/* NULL: it has none */
		struct gpu_use use;
	} gpus[GPU_WATCH_MAX];
};

static void add(struct mean *m, double value)
{
	m->sum += value;
	m->n++;
}

static double mean_of(const struct mean *m)
{
	return m->n > 0 ? m->sum / m->n : NAN;
}

static void sample(const struct nvml *lib, struct gpu *s)
{
	unsigned long long reasons;
	unsigned int value;
	struct nvml_use use;
	char words[sizeof(s->use.throttled)];

	if (NVML_SAYS(lib, nvmlDeviceGetUtilizationRates, s->dev, &use)) {
		add(&s->busy_pct, use.gpu);
	}
	if (NVML_SAYS(lib, nvmlDeviceGetPowerUsage, s->dev, &value)) {
		add(&s->power_W, value / 1e3);
	}
	if (NVML_SAYS(lib, nvmlDeviceGetClockInfo, s->dev, NVML_CLOCK_SM,
		      &value)) {
		add(&s->clock_MHz, value);
	}
	if (NVML_SAYS(lib, nvmlDeviceGetCurrentClocksThrottleReasons, s->dev,
		      &reasons)) {
		gpu_throttle_words(reasons, words, sizeof(words));
		add(&s->throttled, words[0] != '\0');
		s->reasons |= reasons;
	}
}

/** The first sample of @g; none where the GPU or the driver has no such. */
static void gpm_begin(const struct nvml *lib, struct gpu *g)
{
	if (lib->nvmlGpmSampleAlloc && lib->nvmlGpmSampleFree &&
	    lib->nvmlGpmSampleGet && lib->nvmlGpmMetricsGet &&
	    lib->nvmlGpmSampleAlloc(&g->from) == NVML_SUCCESS &&
	    (lib->nvmlGpmSampleAlloc(&g->to) != NVML_SUCCESS ||
	     lib->nvmlGpmSampleGet(g->dev, g->from) != NVML_SUCCESS)) {
		lib->nvmlGpmSampleFree(g->from);
		g->from = NULL;
	}
}

static double gpm_value(const struct nvml_gpm_metric *m)
{
	return m->code == NVML_SUCCESS ? m->value : NAN;
}

static void gpm_end(const struct nvml *lib, struct gpu *g)
{
	static const unsigned int ids[] = {
		NVML_GPM_SM, NVML_GPM_WARPS, NVML_GPM_NVLINK_RX,
		NVML_GPM_NVLINK_TX,
	};
	struct nvml_gpm gpm = { .version = NVML_GPM_VERSION, .from = g->from,
				.to = g->to };

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
}

static void list_processes(const struct nvml *lib, struct gpu *g)
{
	struct nvml_process list[GPU_WATCH_PIDS];
	unsigned int n = GPU_WATCH_PIDS;

	if (NVML_SAYS(lib, nvmlDeviceGetComputeRunningProcesses_v3, g->dev, &n,
		      list)) {
		for (unsigned int i = 0; i < n && i < GPU_WATCH_PIDS; i++) {
			g->use.pids[g->use.n_pids++] = list[i].pid;
		}
	}
}

static void *watch(void *arg)
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
		gpm_begin(lib, &w->gpus[i]);
		w->n++;
	}
	while (!atomic_load(&w->stop)) {
		for (int i = 0; i < w->n; i++) {
			sample(lib, &w->gpus[i]);
		}
		nanosleep(&pause, NULL);
	}
	for (int i = 0; i < w->n; i++) {
		gpm_end(lib, &w->gpus[i]);
		list_processes(lib, &w->gpus[i]);
	}
	lib->nvmlShutdown();
	return NULL;
}

struct gpu_watch *gpu_watch_begin(void)
{
	struct gpu_watch *w = calloc(1, sizeof(*w));

	for (int i = 0; w && i < GPU_WATCH_MAX; i++) {
		w->gpus[i].use = unknown;
	}
	if (w && pthread_create(&w->thread, NULL, watch, w) != 0) {
		free(w);
		w = NULL;
	}
	return w;
}

int gpu_watch_end(struct gpu_watch *w, int64_t deadline_ns,
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
		return -1;	/* it may still write: nobody frees it */
	}
	for (int i = 0; i < w->n; i++) {
		const struct gpu *g = &w->gpus[i];

		use[i] = g->use;
		use[i].busy_pct = mean_of(&g->busy_pct);
		use[i].power_W = mean_of(&g->power_W);
		use[i].clock_MHz = mean_of(&g->clock_MHz);
		if (mean_of(&g->throttled) > 0.5) {
			gpu_throttle_words(g->reasons, use[i].throttled,
					   sizeof(use[i].throttled));
		}
	}
	n = w->n;
	free(w);
	return n;
}
