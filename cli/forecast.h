/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_FORECAST_H
#define CLI_FORECAST_H

#include "lib/spec.h"

/**
 * Say where a run of @probe will be (@why @launcher), and as far as the
 * options tell, how many cells it has and how long a healthy one takes; above
 * ten minutes, what a sample would take.
 */
void forecast_say(const struct spec *s, const char *probe,
		  const char *launcher, const char *why);

#endif
