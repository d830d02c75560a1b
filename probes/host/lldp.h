/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_HOST_LLDP_H
#define PROBES_HOST_LLDP_H

#include <stddef.h>

#include <jansson.h>

#include "probes/host/port.h"

/** The port of a switch that an interface is connected to, by LLDP. */
#define LLDP_MAX 128

struct lldp_neighbour {
	char interface[32];
	char name[64];		/* of the switch, its MAC if it has none */
	char port[64];
};

/**
 * What "lldpctl -f json0" prints, @len bytes, into @list; returns how many
 * there were room for, 0 of anything else.  Of several neighbours of an
 * interface the first.  Pure.
 */
size_t lldp_parse(const char *text, size_t len,
		  struct lldp_neighbour list[LLDP_MAX]);

/**
 * Facts "switch" and "switch_port" of interfaces, and of the RoCE ports among
 * @ports whose netdev they are, or are in a bond of, names apart by ", ".  By
 * lldpctl, where lldpd lets this user ask it, in a second at most; of a machine
 * that was recorded below @root, by its file LLDP_ANSWER.
 */
void lldp_facts(const char *root, const struct port *ports, size_t n,
		json_t *facts);

#define LLDP_ANSWER "lldp"

#endif
