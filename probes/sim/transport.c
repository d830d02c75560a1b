/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/transport/xport.h"

#include "lib/base/clock.h"

static int sim_usable(const char **code, struct err *why)
{
	(void)code;
	(void)why;
	return 0;
}

/* The model itself is sim.c; agents answer for their ranks without workers. */
const struct xport_ops xport_sim = {
	.name = "sim",
	.priority = -1,
	.default_size_bytes = 64 << 20,
	.default_timeout_ns = 2 * NS_PER_S,
	.setup_timeout_ns = 2 * NS_PER_S,
	.open_timeout_ns = 10 * NS_PER_S,
	.usable = sim_usable,
};
