/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/ticket.h"

#include <errno.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/data/json.h"

#define GID_HEX (2 * GID_BYTES + 1)

/* Members that are numbers, each with its limits. */
static const struct number {
	const char *key;
	size_t offset;
	int64_t min, max;
} numbers[] = {
#define NUMBER(f, low, high) \
	{ .key = #f, .offset = offsetof(struct verbs_ticket, f), \
	  .min = (low), .max = (high) }
	NUMBER(lid, 0, UINT16_MAX),
	NUMBER(psn, 0, 0xffffff),
	NUMBER(mtu_B, 256, 4096),
	NUMBER(read_depth, 0, UINT8_MAX),
	NUMBER(data_addr, 0, INT64_MAX),
	NUMBER(data_key, 0, UINT32_MAX),
	NUMBER(box_addr, 0, INT64_MAX),
	NUMBER(box_key, 0, UINT32_MAX),
	NUMBER(cm_port, 0, UINT16_MAX),
	{ 0 }
};

static int64_t *number_of(struct verbs_ticket *t, const struct number *n)
{
	return (int64_t *)((char *)t + n->offset);
}

static json_t *gids_json(const struct verbs_ticket *t)
{
	json_t *gids = json_array();

	for (size_t i = 0; i < t->n_gids; i++) {
		const struct gid_entry *g = &t->gids[i];
		char hex[GID_HEX];

		hash_hex(g->raw, GID_BYTES, hex);
		json_array_append_new(gids, json_pack("{s:s,s:i,s:i}", "gid",
						      hex, "roce", g->roce,
						      "prefix", g->prefix));
	}
	return gids;
}

static json_t *qpns_json(const struct verbs_ticket *t)
{
	json_t *qpns = json_array();

	for (size_t i = 0; i < t->n_qpns; i++) {
		json_array_append_new(qpns, json_integer(t->qpns[i]));
	}
	return qpns;
}

int verbs_ticket_format(const struct verbs_ticket *t, char *buf, size_t size,
			struct err *e)
{
	struct verbs_ticket copy = *t;
	size_t n;
	json_t *j;

	j = json_pack("{s:s,s:s,s:s,s:o,s:o}", "name", t->name, "link_layer",
		      t->link_layer, "ip", t->ip, "gids", gids_json(t), "qpns",
		      qpns_json(t));
	for (const struct number *m = numbers; m->key != NULL; m++) {
		json_object_set_new(j, m->key,
				    json_integer(*number_of(&copy, m)));
	}
	n = json_dumpb(j, buf, size - 1, JSON_COMPACT);
	json_decref(j);
	if (n == 0 || n >= size) {
		return err_set(e, ENOMEM, "the connection data does not fit");
	}
	buf[n] = '\0';
	return 0;
}

static int parse_gid(const json_t *j, struct gid_entry *g, struct err *e)
{
	char hex[GID_HEX];
	int64_t roce, prefix;

	if (json_get_text(j, "gid", hex, sizeof(hex), e) < 0 ||
	    json_get_int(j, "roce", 0, 2, &roce, e) < 0 ||
	    json_get_int(j, "prefix", 0, 8 * GID_BYTES, &prefix, e) < 0) {
		return -1;
	}
	g->roce = (int)roce;
	g->prefix = (int)prefix;
	return strlen(hex) == GID_HEX - 1 &&
			       hash_unhex(hex, g->raw, GID_BYTES) == 0 ?
		       0 :
		       err_set(e, EPROTO, "'gid' is not a GID");
}

static int parse_gids(const json_t *j, struct verbs_ticket *t, struct err *e)
{
	const json_t *gids = json_get_array(j, "gids", GID_OFFERS, e), *gid;

	if (gids == NULL) {
		return -1;
	}
	json_array_foreach(gids, t->n_gids, gid)
	{
		if (parse_gid(gid, &t->gids[t->n_gids], e) < 0) {
			return -1;
		}
	}
	return 0;
}

static int parse_qpns(const json_t *j, struct verbs_ticket *t, struct err *e)
{
	const json_t *qpns = json_get_array(j, "qpns", QPS_MAX, e), *qpn;

	if (qpns == NULL) {
		return -1;
	}
	json_array_foreach(qpns, t->n_qpns, qpn)
	{
		json_int_t n = json_is_integer(qpn) ? json_integer_value(qpn) :
						      -1;

		if (n < 0 || n > 0xffffff) {
			return err_set(e, EPROTO, "'qpns' has what is none");
		}
		t->qpns[t->n_qpns] = n;
	}
	return t->n_qpns > 0 ? 0 : err_set(e, EPROTO, "'qpns' is empty");
}

static int parse(const json_t *j, struct verbs_ticket *t, struct err *e)
{
	memset(t, 0, sizeof(*t));
	if (json_get_text(j, "name", t->name, sizeof(t->name), e) < 0 ||
	    json_get_text(j, "link_layer", t->link_layer,
			  sizeof(t->link_layer), e) < 0 ||
	    json_get_text(j, "ip", t->ip, sizeof(t->ip), e) < 0 ||
	    parse_gids(j, t, e) < 0 || parse_qpns(j, t, e) < 0) {
		return -1;
	}
	for (const struct number *n = numbers; n->key != NULL; n++) {
		if (json_get_int(j, n->key, n->min, n->max, number_of(t, n),
				 e) < 0) {
			return -1;
		}
	}
	return 0;
}

int verbs_ticket_parse(const char *text, struct verbs_ticket *t,
		       struct err *e)
{
	json_t *j = json_parse(text, strlen(text), e);
	int rc = j != NULL ? parse(j, t, e) : -1;

	json_decref(j);
	return rc;
}
