/* SPDX-License-Identifier: BSD-3-Clause */
/* What an HCA port says in /sys, a filter of ports, and the ticket that the
 * other end of a queue pair sends. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/data/hosts.h"
#include "probes/host/port.h"
#include "probes/ib/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[4096], back[4096], word[16];
	struct verbs_ticket t;
	char name[IF_NAMESIZE];
	sa_family_t family;
	bool up;

	size = size < sizeof(text) ? size : sizeof(text) - 1;
	memcpy(text, data, size);
	text[size] = '\0';
	port_parse_state(text, word, sizeof(word));
	port_parse_rate(text, word, sizeof(word));
	port_parse_speed(text);
	port_parse_pkey(text);
	port_matches(text, "mlx5_0");
	link_log_parse(text, name, &up);
	gid_parse_type(text);
	gid_parse_family(text, &family, NULL);
	if (verbs_ticket_parse(text, &t, NULL) == 0 &&
	    verbs_ticket_format(&t, back, sizeof(back), NULL) == 0 &&
	    verbs_ticket_parse(back, &t, NULL) < 0) {
		__builtin_trap();	/* what it wrote it must read */
	}
	return 0;
}
