/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_GPU_MODEL_H
#define PROBES_GPU_MODEL_H

#include <stdint.h>

#include "lib/data/record_gpu.h"
#include "lib/spec/spec.h"
#include "probes/gpu/drills.h"

/** --transport=sim: the rows of @row->gpu of @row->node, as a healthy H200 has
 *  them within half a percent, but for the drill, of the tests that @s asks
 *  for; with --soak six times.  A model for trying verdict, pictures and
 *  scripts where there is no GPU. */
void gpu_model_rows(const struct gpu_row *row, const struct gpu_drill *d,
		    const struct spec *s, uint64_t seed);

#endif
