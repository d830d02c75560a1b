/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of a port, and which of them its pairs may use. */
#include "probes/ib/device.h"

#if HAVE_VERBS

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "probes/host/facts.h"
#include "probes/host/interface.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/sysfile.h"

#define FAMILY	"NCCL_IB_ADDR_FAMILY"
#define RANGE	"NCCL_IB_ADDR_RANGE"
#define VERSION "NCCL_IB_ROCE_VERSION_NUM"

/* ---- what is there ------------------------------------------------------- */

static int roce_version(const struct verbs_device *d, int index)
{
	char text[64];

	sysfile_read(text, sizeof(text),
		     "/sys/class/infiniband/%s/ports/%d/gid_attrs/types/%d",
		     d->hca, d->port, index);
	return gid_parse_type(text);
}

/* How many bits of its address name the subnet, as its interface says. */
static int prefix_of(const struct gid_entry *g, const struct interface *list,
		     size_t n)
{
	struct ip_addr ip = gid_ip(g->raw);
	size_t i = 0;

	while (i < n && !ip_equal(&list[i].net.ip, &ip)) {
		i++;
	}
	return i < n ? list[i].net.prefix : 0;
}

static size_t read_gids(const struct verbs_device *d,
			struct gid_entry table[GID_MAX])
{
	size_t n = 0;

	for (int i = 0; i < GID_MAX; i++) {
		struct gid_entry *g = &table[n];
		union ibv_gid gid;

		if (d->v->query_gid(d->ctx, d->port, i, &gid) != 0) {
			break;
		}
		*g = (struct gid_entry){ .index = i };
		memcpy(g->raw, gid.raw, GID_BYTES);
		n += !gid_is_zero(g->raw);
	}
	return n;
}

/* What decides between addresses of Ethernet; that of InfiniBand is the
 * first. */
static void describe_gids(const struct verbs_device *d,
			  struct gid_entry *table, size_t n)
{
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	size_t n_list = list != NULL ? interface_list(list, INTERFACE_MAX) : 0;

	for (size_t i = 0; i < n; i++) {
		table[i].roce = roce_version(d, table[i].index);
		table[i].prefix = prefix_of(&table[i], list, n_list);
	}
	free(list);
}

/* "0 (fe80::1), 1 (10.0.0.1)": what the user can choose from. */
static void list_gids(const struct gid_entry *table, size_t n, struct str *all)
{
	char gid[GID_TEXT];

	for (size_t i = 0; i < n; i++) {
		str_addf(all, "%s%d (%s)", i > 0 ? ", " : "", table[i].index,
			 gid_text(table[i].raw, gid));
	}
}

/* ---- what is wanted ------------------------------------------------------ */

/* NCCL warns of what it cannot read, and goes on without. */
static struct gid_wish read_wish(const struct verbs_device *d)
{
	const char *family = nccl_conf_get(d->conf, FAMILY, NULL);
	const char *range = nccl_conf_get(d->conf, RANGE, NULL);
	struct gid_wish w = { 0 };

	if (family != NULL) {
		gid_parse_family(family, &w.family, NULL);
	}
	if (range != NULL) {
		ip_net_parse(range, &w.range, NULL);
	}
	w.roce = verbs_setting_of(d, -1, VERSION).value;
	return w;
}

static const char *const wishes[] = { FAMILY, RANGE, VERSION };

/* "allowed by NCCL_IB_ADDR_FAMILY=AF_INET6, NCCL_IB_ADDR_RANGE=fd00::/8" */
static void list_wishes(const struct verbs_device *d, struct str *all)
{
	for (size_t i = 0; i < sizeof(wishes) / sizeof(*wishes); i++) {
		const char *value = nccl_conf_get(d->conf, wishes[i], NULL);

		if (value != NULL) {
			str_addf(all, "%s%s=%.64s",
				 all->len > 0 ? ", " : "allowed by ",
				 wishes[i], value);
		}
	}
}

static size_t take_index(struct gid_entry *table, size_t n, int index)
{
	for (size_t i = 0; i < n; i++) {
		if (table[i].index == index) {
			table[0] = table[i];
			return 1;
		}
	}
	return 0;
}

/* Those of @table that may be used, the best first. */
static size_t take_allowed(const struct verbs_device *d,
			   struct gid_entry *table, size_t n)
{
	struct gid_wish wish;

	if (!d->ethernet) {
		return take_index(table, n, 0);
	}
	wish = read_wish(d);
	n = gid_allowed(table, n, &wish);
	gid_order(table, n);
	return n < GID_OFFERS ? n : GID_OFFERS;
}

static int none_left(const struct verbs_device *d,
		     const struct gid_entry *table, size_t n, struct err *e)
{
	struct str all = STR_INIT, why = STR_INIT;

	list_gids(table, n, &all);
	list_wishes(d, &why);
	if (d->gid_index.given || why.len == 0) {
		str_reset(&why);
		str_addf(&why, "at index %d (%s)", d->gid_index.value,
			 d->gid_index.source);
	}
	err_set(e, 0, "%s: there is no GID %.120s; there are %.199s", d->name,
		str_text(&why), n > 0 ? str_text(&all) : "none");
	str_release(&all);
	str_release(&why);
	return -1;
}

int verbs_choose_gid(struct verbs_device *d, const struct spec *spec,
		     const char **code, struct err *e)
{
	struct gid_entry *table = calloc(2 * GID_MAX, sizeof(*table));
	struct gid_entry *left = table + GID_MAX;
	size_t n;

	if (table == NULL) {
		*code = LIMIT_MEMORY;
		return err_set(e, ENOMEM, "no memory for a GID table");
	}
	n = read_gids(d, table);
	if (d->ethernet) {
		describe_gids(d, table, n);
	}
	memcpy(left, table, n * sizeof(*table));
	d->gid_index = verbs_setting_of(d, spec->gid_index,
					"NCCL_IB_GID_INDEX");
	d->n_gids = d->gid_index.given ?
			    take_index(left, n, d->gid_index.value) :
			    take_allowed(d, left, n);
	if (d->n_gids == 0) {
		*code = "gid_missing";
		none_left(d, table, n, e);
	} else {
		memcpy(d->gids, left, d->n_gids * sizeof(*left));
		d->gid_index.value = d->gids[0].index;
	}
	free(table);
	return d->n_gids > 0 ? 0 : -1;
}

void verbs_gid_facts(const struct verbs_device *d, json_t *facts)
{
	char gid[GID_TEXT];

	facts_add(facts, d->name, "gid", gid_text(d->gids[0].raw, gid), "",
		  "ibv_query_gid");
	if (d->gids[0].roce > 0) {
		facts_addf(facts, d->name, "roce_version", "", "gid_attrs",
			   "%d", d->gids[0].roce);
	}
	verbs_setting_fact(d, facts, "gid_index", &d->gid_index);
}

#endif
