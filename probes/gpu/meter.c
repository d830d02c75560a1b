/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/gpu/meter.h"

#include <string.h>

#include "probes/host/gpu_state.h"

void meter_begin(struct gpu_meter *m, const char *uuid)
{
	memset(m, 0, sizeof(*m));
	m->lib = dl_nvml(NULL);
	if (m->lib && (!m->lib->nvmlDeviceGetHandleByUUID ||
		       m->lib->nvmlInit_v2() != NVML_SUCCESS ||
		       m->lib->nvmlDeviceGetHandleByUUID(uuid, &m->dev) !=
			       NVML_SUCCESS)) {
		m->lib = NULL;
	}
}

void meter_sample(struct gpu_meter *m)
{
	unsigned long long reasons;
	unsigned int value;

	if (!m->lib) {
		return;
	}
	if (m->lib->nvmlDeviceGetPowerUsage &&
	    m->lib->nvmlDeviceGetPowerUsage(m->dev, &value) == NVML_SUCCESS) {
		m->power_W += value / 1e3;
		m->n_power++;
	}
	if (m->lib->nvmlDeviceGetTemperature &&
	    m->lib->nvmlDeviceGetTemperature(m->dev, NVML_TEMPERATURE_GPU,
					     &value) == NVML_SUCCESS &&
	    value > m->hottest_C) {
		m->hottest_C = value;
	}
	if (m->lib->nvmlDeviceGetClockInfo &&
	    m->lib->nvmlDeviceGetClockInfo(m->dev, NVML_CLOCK_SM, &value) ==
		    NVML_SUCCESS &&
	    (m->slowest_MHz == 0 || value < m->slowest_MHz)) {
		m->slowest_MHz = value;
	}
	if (m->lib->nvmlDeviceGetCurrentClocksThrottleReasons &&
	    m->lib->nvmlDeviceGetCurrentClocksThrottleReasons(
		    m->dev, &reasons) == NVML_SUCCESS) {
		m->throttled |= reasons;
	}
}

void meter_end(struct gpu_meter *m, struct gpu_row *row)
{
	if (m->n_power > 0) {
		row->power_W = m->power_W / m->n_power;
	}
	if (m->hottest_C > 0) {
		row->temp_C = m->hottest_C;
	}
	if (m->slowest_MHz > 0) {
		row->clock_MHz = m->slowest_MHz;
	}
	gpu_throttle_words(m->throttled, row->throttled,
			   sizeof(row->throttled));
}
