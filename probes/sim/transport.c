/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/xport.h"

#include "lib/base/clock.h"

/* The model itself is sim.c; agents answer for their ranks without workers. */
const struct xport_ops xport_sim = {
	.name = "sim",
	.priority = -1,
	.default_size_bytes = 64 << 20,
	.default_timeout_ns = 2 * NS_PER_S,
	.setup_timeout_ns = 2 * NS_PER_S,
	/* a test costs its row; it says of itself what sim.c has, about: 20
	 * transfers of the default size */
	.cost = { .open_s = 0.2, .sample_s = 5.6e-3, .rate_GB_s = 48,
		  .inside_GB_s = 340 },
	.open_timeout_ns = 10 * NS_PER_S,
};
