/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/hang/gpu_watch.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/clock.h"
#include "probes/dl/nvml.h"

#define SAMPLE_NS (NS_PER_S / 5)

struct gpu_watch {
	pthread_t thread;
	atomic_bool stop;
	/* of the thread, until it has ended */
	int n;
	struct sum {
		double busy_pct, power_W;
		int n_busy, n_power;
	} sums[GPU_WATCH_MAX];
};

static void sample(const struct nvml *lib, nvmlDevice_t dev, struct sum *s)
{
	struct nvml_use use;
	unsigned int milliwatts;

	if (lib->nvmlDeviceGetUtilizationRates &&
	    lib->nvmlDeviceGetUtilizationRates(dev, &use) == NVML_SUCCESS) {
		s->busy_pct += use.gpu;
		s->n_busy++;
	}
	if (lib->nvmlDeviceGetPowerUsage &&
	    lib->nvmlDeviceGetPowerUsage(dev, &milliwatts) == NVML_SUCCESS) {
		s->power_W += milliwatts / 1e3;
		s->n_power++;
	}
}

static void *watch(void *arg)
{
	const struct timespec pause = { .tv_nsec = SAMPLE_NS };
	nvmlDevice_t devs[GPU_WATCH_MAX];
	const struct nvml *lib = dl_nvml(NULL);
	struct gpu_watch *w = arg;
	unsigned int n = 0;

	if (!lib || lib->nvmlInit_v2() != NVML_SUCCESS) {
		return NULL;
	}
	lib->nvmlDeviceGetCount_v2(&n);
	for (unsigned int i = 0; i < n && i < GPU_WATCH_MAX &&
	     lib->nvmlDeviceGetHandleByIndex_v2(i, &devs[i]) == NVML_SUCCESS;
	     i++) {
		w->n++;
	}
	while (!atomic_load(&w->stop)) {
		for (int i = 0; i < w->n; i++) {
			sample(lib, devs[i], &w->sums[i]);
		}
		nanosleep(&pause, NULL);
	}
	lib->nvmlShutdown();
	return NULL;
}

struct gpu_watch *gpu_watch_begin(void)
{
	struct gpu_watch *w = calloc(1, sizeof(*w));

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
		use[i] = (struct gpu_use){ .busy_pct = NAN, .power_W = NAN };
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
		const struct sum *s = &w->sums[i];

		if (s->n_busy > 0) {
			use[i].busy_pct = s->busy_pct / s->n_busy;
		}
		if (s->n_power > 0) {
			use[i].power_W = s->power_W / s->n_power;
		}
	}
	n = w->n;
	free(w);
	return n;
}
