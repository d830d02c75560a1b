/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_METER_H
#define PROBES_GPU_METER_H

#include "lib/base/str.h"
#include "lib/data/record_gpu.h"
#include "probes/dl/nvml.h"

/** What NVML says of a GPU while it works. */
struct gpu_meter {
	const struct nvml *lib;	/* NULL: it says nothing */
	nvmlDevice_t dev;
	double power_W;		/* sum */
	int n_power;
	unsigned int hottest_C, slowest_MHz;
	unsigned long long throttled;
};

void meter_begin(struct gpu_meter *m, const char *uuid);
void meter_sample(struct gpu_meter *m);
/** Into power, temperature, clock and throttled of @row. */
void meter_end(struct gpu_meter *m, struct gpu_row *row);

#endif
