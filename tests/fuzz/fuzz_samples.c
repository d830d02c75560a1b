/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/collective/collective.h"

/** More steps than one size of any kind takes. */
#define STEPS_MAX 10000
#define RANKS	  4
#define WANTED_MAX 1000001	/* one more than -n takes */

/** The next time that a rank claims; once the input is used up the last one
 *  again, so that the size becomes steady. */
static double next_us(const uint8_t **data, size_t *size, double last)
{
	if (*size >= sizeof(last)) {
		memcpy(&last, *data, sizeof(last));
		*data += sizeof(last);
		*size -= sizeof(last);
	}
	return last;
}

/**
 * Any numbers as the times that ranks report, after -n, the nodes and what one
 * operation takes: a size comes to its end, with as many operations as wanted.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct collective_row row = {
		.op = "allreduce", .size_B = 1024, .ranks = RANKS,
	};
	struct collective_samples s;
	double us[RANKS] = { 0 };
	int64_t wanted, nodes;
	int next, steps = 0;

	if (size < 5) {
		return 0;
	}
	wanted = (int64_t)data[0] * data[1] * data[2] * data[3] % WANTED_MAX;
	nodes = data[4];
	data += 5;
	size -= 5;
	us[0] = next_us(&data, &size, 1);
	collective_samples_begin(&s, wanted, us[0], nodes);
	while ((next = collective_samples_next(&s)) > 0) {
		if (next > COLLECTIVE_STEP_SAMPLES || s.now < 1 ||
		    steps++ > STEPS_MAX) {
			abort();
		}
		for (int k = 0; k < next; k++) {
			for (int i = 0; i < RANKS; i++) {
				us[i] = next_us(&data, &size, us[i]);
			}
			collective_samples_add(&s, us, RANKS);
		}
	}
	if (next != 0 || (wanted > 0 && s.done != wanted)) {
		abort();
	}
	collective_samples_result(&s, &row);
	return 0;
}
