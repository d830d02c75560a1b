/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_PING_JUDGE_H
#define PROBES_PING_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/ip.h"
#include "lib/data/record_ping.h"
#include "probes/ping/engine.h"
#include "probes/ping/mesh.h"
#include "probes/ping/socket.h"

/** Who the neighbour table says has an address. */
enum ping_owner {
	OWNER_UNKNOWN,
	OWNER_NOBODY,	/* nobody answered for it */
	OWNER_RIGHT,
	OWNER_FLUX,	/* another interface of the right node */
	OWNER_OTHER,	/* another node, or a machine that is none */
};

/** What was seen on a path besides answers. */
struct ping_sights {
	int send_code;		/* errno of the last send that failed */
	int refused_code;	/* errno that came back: TCP */
	bool icmp;		/* an ICMP error came: */
	struct ip_addr icmp_by;
	uint8_t icmp_type, icmp_code;
	bool wrong;		/* another address answered: */
	struct ip_addr wrong_by;
	unsigned stray_if;	/* answers came in here instead; 0 = no */
	bool traced_back;	/* by UDP, where ICMP was asked for */
	bool no_door;		/* the other end has no agent to answer */
	bool connected;		/* TCP: somebody accepted */
	enum ping_owner owner;
	int owner_node;		/* of OWNER_OTHER; -1 = none of ours */
	int32_t mtu_B;		/* found by --df; 0 = not looked for */
	bool unrouted;		/* no route leads there: nothing was sent */
	int found_on;		/* end of the own node on whose wire it answers
				 * instead, + 1; 0 = none */
};

/** All that the judge is told about one path. */
struct ping_case {
	const struct ping_mesh *mesh;
	int src, dst;		/* of mesh->ends */
	enum ping_method method;
	bool own_port;		/* --tcp=auto: our own agents listen */
	const struct ping_flow *flow;
	const struct ping_sights *sights;
};

/** Do the ends @a and @b belong to one wire, by their addresses? */
static inline bool ping_is_near(const struct ping_mesh *m, int a, int b)
{
	const struct ping_end *x = &m->ends[a], *y = &m->ends[b];

	return m->by_rail ? x->rail == y->rail : x->segment == y->segment;
}

/** Outcome, code, detail and figures of the path into @row, the rest of which
 *  is there.  Pure. */
void ping_judge(const struct ping_case *c, struct ping_row *row);

#endif
