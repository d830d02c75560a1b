/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probes/host/interface.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Any bytes as a file of /proc/net/bonding, and as statistics of a driver. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(size + 1, 1), fault[BOND_FAULT];
	struct str out = STR_INIT;
	struct bond b;
	uint64_t n;

	if (text == NULL) {
		return 0;
	}
	memcpy(text, data, size);
	if (bond_parse(text, &b)) {
		for (int i = 0; i < b.n_legs; i++) {
			bond_leg_fault(&b, i, fault);
			if (memchr(fault, '\0', BOND_FAULT) == NULL) {
				abort();
			}
		}
	}
	interface_said(text, INTERFACE_FEC, fault, 16);
	interface_dcb_parse(data, size, &out);
	str_release(&out);
	if (interface_stat(text, "rx_discards_phy", &n) && size < 18) {
		abort();
	}
	free(text);
	return 0;
}
