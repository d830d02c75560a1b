/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/plan/layout.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"

/* Classes that one name has on different nodes, counted; more are too few
 * each to matter. */
#define CLASSES_MAX 16

/* ---- classes ------------------------------------------------------------- */

/* Return true if the ports are of one fabric, at any rate. */
static bool same_fabric(const struct port_class *a, const struct port_class *b)
{
	return strcmp(a->link_layer, b->link_layer) == 0 &&
	       strcmp(a->subnet, b->subnet) == 0 && a->pkey == b->pkey &&
	       a->use == b->use;
}

static bool same_class(const struct port_class *a, const struct port_class *b)
{
	return same_fabric(a, b) && a->rate_Gb_s == b->rate_Gb_s;
}

/* ---- slots --------------------------------------------------------------- */

/*
 * The first node of those whose names the most have.  Every node is compared
 * with the first of each kind: there are few kinds.
 */
static const struct port_set *usual_node(const struct port_set *nodes, int n)
{
	const struct port_set *kinds[CLASSES_MAX], *best = NULL;
	int count[CLASSES_MAX] = { 0 }, n_kinds = 0, most = 0;

	for (int i = 0; i < n; i++) {
		int k = 0;

		if (nodes[i].n == 0) {
			continue;	/* the others say what it lacks */
		}
		for (; k < n_kinds; k++) {
			bool same = kinds[k]->n == nodes[i].n;

			for (int p = 0; same && p < nodes[i].n; p++) {
				same = strcmp(kinds[k]->ports[p].name,
					      nodes[i].ports[p].name) == 0;
			}
			if (same) {
				break;
			}
		}
		if (k == CLASSES_MAX) {
			continue;
		}
		kinds[k] = &nodes[i];
		n_kinds += k == n_kinds;
		count[k]++;
		if (count[k] > most ||
		    (count[k] == most && nodes[i].n > best->n)) {
			most = count[k];
			best = &nodes[i];
		}
	}
	return best;
}

/* Return the class of most active ports called @name; on a tie the faster,
 * because a link loses rate and never gains it. */
static struct port_class usual_class(const struct port_set *nodes, int n,
				     const char *name)
{
	struct port_class kinds[CLASSES_MAX], best = { .link_layer = "" };
	int count[CLASSES_MAX] = { 0 }, n_kinds = 0, most = 0;

	for (int i = 0; i < n; i++) {
		const struct port_seen *p = nodes[i].ports;
		const struct port_seen *end = p + nodes[i].n;
		int k = 0;

		while (p < end && strcmp(p->name, name) != 0) {
			p++;
		}
		if (p == end || !p->up) {
			continue;
		}
		while (k < n_kinds && !same_class(&kinds[k], &p->class)) {
			k++;
		}
		if (k == CLASSES_MAX) {
			continue;
		}
		kinds[k] = p->class;
		n_kinds += k == n_kinds;
		count[k]++;
		if (count[k] > most ||
		    (count[k] == most &&
		     p->class.rate_Gb_s > best.rate_Gb_s)) {
			most = count[k];
			best = p->class;
		}
	}
	return best;
}

/* ---- groups -------------------------------------------------------------- */

static int count_class(const struct port_slots *s, const struct port_class *c)
{
	int n = 0;

	for (int i = 0; i < s->n; i++) {
		n += same_class(&s->slot[i].class, c);
	}
	return n;
}

/*
 * The class that slot @i is grouped as.  A rate that a single slot has is no
 * design but a link that came up slow: it stays with the most of its fabric,
 * or nobody would measure it.  What no GPU uses may be one of a kind: storage
 * beside management.
 */
static const struct port_class *grouped_as(const struct port_slots *s, int i)
{
	const struct port_class *own = &s->slot[i].class, *best = own;
	bool alone = own->use != USE_OTHER && count_class(s, own) < 2;

	for (int k = 0; alone && k < s->n; k++) {
		const struct port_class *c = &s->slot[k].class;

		if (same_fabric(c, own) &&
		    (count_class(s, c) > count_class(s, best) ||
		     (count_class(s, c) == count_class(s, best) &&
		      c->rate_Gb_s > best->rate_Gb_s))) {
			best = c;
		}
	}
	return best;
}

void port_slots_make(struct port_slots *s, const struct port_set *nodes, int n)
{
	const struct port_set *usual = usual_node(nodes, n);

	*s = (struct port_slots){ .n = usual != NULL ? usual->n : 0 };
	for (int i = 0; i < s->n; i++) {
		STR_COPY(s->slot[i].name, usual->ports[i].name);
		s->slot[i].class = usual_class(nodes, n, s->slot[i].name);
	}
	for (int i = 0; i < s->n; i++) {
		const struct port_class *as = grouped_as(s, i);
		int k = 0;

		while (k < i && !same_class(grouped_as(s, k), as)) {
			k++;
		}
		s->slot[i].group = k < i ? s->slot[k].group : s->n_groups++;
	}
}

/* ---- matching ------------------------------------------------------------ */

/* How a port can fit a slot, the best way first. */
enum fit { FIT_ALL, FIT_CLASS, FIT_NAME, FIT_LAYER, FITS };

static bool fits(enum fit fit, const struct port_seen *s,
		 const struct port_seen *p)
{
	bool named = strcmp(s->name, p->name) == 0;
	bool alike = p->up && same_class(&s->class, &p->class);

	switch (fit) {
	case FIT_ALL:
		return named && (!p->up || alike);
	case FIT_CLASS:
		return alike;
	case FIT_NAME:
		return named;
	default:
		return strcmp(s->class.link_layer, p->class.link_layer) == 0;
	}
}

void port_slots_match(const struct port_slots *s, const struct port_set *node,
		      int at[PORT_MAX])
{
	bool taken[PORT_MAX] = { false };

	for (int i = 0; i < PORT_MAX; i++) {
		at[i] = -1;
	}
	for (enum fit fit = FIT_ALL; fit < FITS; fit++) {
		for (int i = 0; i < s->n; i++) {
			for (int p = 0; at[i] < 0 && p < node->n; p++) {
				if (!taken[p] &&
				    fits(fit, &s->slot[i], &node->ports[p])) {
					at[i] = p;
					taken[p] = true;
				}
			}
		}
	}
}

const char *port_group_text(const struct port_slots *s, int group,
			    char buf[PORT_GROUP_TEXT])
{
	struct port_class c = { .link_layer = "" };
	char ib[48] = "";

	for (int i = s->n - 1; i >= 0; i--) {
		if (s->slot[i].group == group) {
			c = *grouped_as(s, i);
		}
	}
	if (c.subnet[0] != '\0') {
		snprintf(ib, sizeof(ib), ", subnet %s, P_Key 0x%04x", c.subnet,
			 (unsigned)c.pkey);
	}
	snprintf(buf, PORT_GROUP_TEXT, "%s, %d Gb/s%s%s",
		 c.link_layer[0] != '\0' ? c.link_layer : "link layer unknown",
		 c.rate_Gb_s, ib,
		 c.use == USE_OTHER ? ", near to no GPU" : "");
	return buf;
}
