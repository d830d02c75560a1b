/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "probes/ib/link.h"

/* ---- setting ------------------------------------------------------------- */

/* A setting of RDMA: the option, what NCCL was told, or the default. */

#if HAVE_VERBS

#include <limits.h>

#include "probes/host/inventory.h"
#include "probes/host/nccl_conf.h"

/* The option, else what NCCL's jobs have by @name, else 0. */
static struct verbs_setting verbs_setting_of(const struct verbs_device *d,
					     int64_t option, const char *name)
{
	const char *source;
	int64_t value;

	if (option >= 0) {
		return (struct verbs_setting){ (int)option, true, "option" };
	}
	if (nccl_conf_int(d->conf, name, 0, INT_MAX, &value, &source)) {
		return (struct verbs_setting){
			(int)value, true,
			nccl_conf_of_file(d->conf, name) ? source : name,
		};
	}
	return (struct verbs_setting){ 0, false, "default" };
}

void verbs_setting_fact(const struct verbs_device *d, json_t *facts,
			const char *fact, const struct verbs_setting *s)
{
	facts_addf(facts, d->name, fact, "", s->source, "%d", s->value);
}

#endif

/* ---- words --------------------------------------------------------------- */

/* By number: the names are rdma-core's, the order is the wire's. */
static const struct err_words wc_words[] = {
	[1] = { "wc_loc_len",
		"local length error: a message did not fit; do both ends have "
		"the same MTU?" },
	[2] = { "wc_loc_qp_op", "local QP operation error" },
	[3] = { "wc_loc_eec_op", "local EE context error" },
	[4] = { "wc_loc_prot",
		"local protection error: the HCA may not access the buffer; "
		"ACS or IOMMU on its PCIe path?" },
	[5] = { "wc_flush", "flushed: the queue pair had failed before" },
	[6] = { "wc_mw_bind", "memory window bind error" },
	[7] = { "wc_bad_resp", "bad response from the other HCA" },
	[8] = { "wc_loc_access",
		"local access error: the buffer does not allow this "
		"operation" },
	[9] = { "wc_rem_inv_req",
		"remote invalid request: the other end cannot accept the "
		"message; MTU mismatch?" },
	[10] = { "wc_rem_access",
		"remote access error: the other end refuses access to its "
		"memory with this key" },
	[11] = { "wc_rem_op",
		"remote operation error: the other HCA could not complete the "
		"operation" },
	[12] = { "wc_retry_exc",
		"transport retry counter exceeded: no response from the other "
		"port; route, GID, VLAN, MTU, P_Key or a link that went down" },
	[13] = { "wc_rnr_retry_exc", "receiver not ready, retries exceeded" },
	[14] = { "wc_loc_rdd", "local RDD violation" },
	[15] = { "wc_rem_inv_rd_req", "remote invalid RD request" },
	[16] = { "wc_rem_abort", "the other end aborted" },
	[17] = { "wc_inv_eecn", "invalid EE context" },
	[18] = { "wc_inv_eec_state", "EE context in a wrong state" },
	[19] = { "wc_fatal", "fatal error of the HCA" },
	[20] = { "wc_resp_timeout", "response timeout" },
	[21] = { "wc_general", "general error" },
};

const struct err_words *verbs_wc_words(int status)
{
	static const struct err_words unknown = {
		.code = "wc_unknown",
		.says = "a status that libibverbs does not define",
	};
	int n = (int)(sizeof(wc_words) / sizeof(wc_words[0]));

	return status > 0 && status < n ? &wc_words[status] : &unknown;
}

const char *const verbs_call_names[VERBS_CALLS] = {
	[VERBS_OPEN] = "ibv_open_device",
	[VERBS_PD] = "ibv_alloc_pd",
	[VERBS_REG_MR] = "ibv_reg_mr",
	[VERBS_REG_GPU] = "registration of GPU memory",
	[VERBS_CREATE_CQ] = "ibv_create_cq",
	[VERBS_CREATE_QP] = "ibv_create_qp",
	[VERBS_TO_INIT] = "ibv_modify_qp RESET to INIT",
	[VERBS_TO_RTR] = "ibv_modify_qp INIT to RTR",
	[VERBS_TO_RTS] = "ibv_modify_qp RTR to RTS",
	[VERBS_POST] = "ibv_post_send",
	[VERBS_POLL] = "ibv_poll_cq",
};

#define ANY_CALL VERBS_CALLS

/* The first row that fits. */
static const struct call_words {
	enum verbs_call call;
	int err;		/* 0: any */
	bool limited;		/* only where locked memory is limited */
	struct err_words words;
} call_words[] = {
	{ .call = VERBS_OPEN, .err = EACCES,
	  .words = { "device_permission",
		     "no permission to open the HCA; /dev/infiniband/uverbs* "
		     "must be readable and writable, also in the job's cgroup "
		     "or container" } },
	{ .call = VERBS_OPEN, .err = EPERM,
	  .words = { "device_permission",
		     "not permitted by the job's device cgroup or "
		     "container" } },
	{ .call = VERBS_OPEN, .err = ENOENT,
	  .words = { "device_missing",
		     "there is no such HCA, or no /dev/infiniband here" } },
	{ .call = VERBS_OPEN, .err = ENODEV,
	  .words = { "device_missing", "the HCA has been removed" } },
	{ .call = VERBS_REG_GPU, .err = EFAULT,
	  .words = { "gpu_memory",
		     "GPU memory cannot be registered; load nvidia-peermem, or "
		     "use a driver with dma-buf" } },
	{ .call = VERBS_REG_GPU,
	  .words = { "gpu_memory",
		     "neither dma-buf nor nvidia-peermem supports this GPU" } },
	{ .call = VERBS_TO_RTR, .err = ETIMEDOUT,
	  .words = { "rtr_timeout",
		     "the ports cannot resolve each other; rails that are not "
		     "connected, or no route between them" } },
	{ .call = VERBS_TO_RTR, .err = EHOSTUNREACH,
	  .words = { "rtr_no_route", "no route between the two GIDs" } },
	{ .call = VERBS_TO_RTR, .err = ENETUNREACH,
	  .words = { "rtr_no_route",
		     "no route between the subnets of the two GIDs" } },
	{ .call = VERBS_TO_RTR, .err = EINVAL,
	  .words = { "rtr_invalid",
		     "the driver refuses GID index, MTU or P_Key" } },
	{ .call = VERBS_TO_RTR, .err = ENODEV,
	  .words = { "rtr_no_device",
		     "the GID's network interface is missing or down" } },
	{ .call = VERBS_TO_INIT, .err = EINVAL,
	  .words = { "init_invalid",
		     "the driver refuses the port or the P_Key index" } },
	{ .call = ANY_CALL, .err = ENOMEM, .limited = true,
	  .words = { "memlock",
		     "cannot lock memory; run 'gpucheck memlock'" } },
	{ .call = ANY_CALL, .err = ENOMEM,
	  .words = { "no_memory",
		     "the HCA is out of queue pairs or memory; the limit of "
		     "locked memory is not the cause" } },
	{ .call = ANY_CALL, .err = ENODEV,
	  .words = { "device_missing", "the HCA has been removed" } },
	{ .call = ANY_CALL, .err = EIO,
	  .words = { "device_error", "the HCA reports an error" } },
	{ .call = ANY_CALL,
	  .words = { "verbs_error", "the driver refuses" } },
};

const struct err_words *verbs_call_words(enum verbs_call call, int err,
					   bool limited)
{
	const struct call_words *w = call_words;

	while ((w->call != ANY_CALL && w->call != call) ||
	       (w->err != 0 && w->err != err) || (w->limited && !limited)) {
		w++;	/* the last one fits all */
	}
	return &w->words;
}

/* ---- fault --------------------------------------------------------------- */

#if HAVE_VERBS

void verbs_tell_fault(const struct xport_link *l, const char *doing,
		     struct xport_result *r)
{
	const struct err_words *w;

	if (verbs_tell_port(l, r)) {
		return;
	}
	switch (l->fault) {
	case FAULT_WC:
		w = verbs_wc_words(l->error);
		xport_fail(r, OUTCOME_ERROR, w->code,
			   "%s, %s to %s: status %d, vendor error 0x%x, %s",
			   doing, l->own.name, l->peer.name, l->error,
			   l->vendor, w->says);
		break;
	case FAULT_CALL:
		w = verbs_call_words(l->call, l->error, l->x->dev.limited);
		xport_fail(r, OUTCOME_ERROR, w->code,
			   "%s, %s to %s: %s: %s; %s", doing, l->own.name,
			   l->peer.name, verbs_call_names[l->call],
			   strerror(l->error), w->says);
		break;
	case FAULT_CANCELLED:
		xport_fail(r, OUTCOME_ERROR, "cancelled", "%s: cancelled",
			   doing);
		r->echo = true;
		break;
	default:
		xport_fail(r, OUTCOME_TIMEOUT, "task_timeout",
			   "%s, %s to %s: no completion in time", doing,
			   l->own.name, l->peer.name);
		r->echo = true;
		break;
	}
}

#endif

/* ---- gid ----------------------------------------------------------------- */

#define V4_AT 12		/* an IPv4 address is the end of a GID */

/* ---- texts --------------------------------------------------------------- */

int gid_parse_type(const char *text)
{
	return strstr(text, "RoCE v2") != NULL ? 2 :
	       strstr(text, "RoCE v1") != NULL ? 1 :
						 0;
}

int gid_parse_family(const char *text, sa_family_t *family, struct err *e)
{
	bool v6 = strcmp(text, "AF_INET6") == 0;

	if (!v6 && strcmp(text, "AF_INET") != 0) {
		return err_set(e, 0, "'%.32s' is neither AF_INET nor AF_INET6",
			       text);
	}
	*family = v6 ? AF_INET6 : AF_INET;
	return 0;
}

struct ip_addr gid_ip(const uint8_t raw[GID_BYTES])
{
	static const uint8_t mapped[V4_AT] = { [10] = 0xff, [11] = 0xff };
	bool v4 = memcmp(raw, mapped, V4_AT) == 0;
	struct ip_addr ip = { .family = v4 ? AF_INET : AF_INET6 };

	memcpy(ip.bytes, v4 ? raw + V4_AT : raw, v4 ? 4 : GID_BYTES);
	return ip;
}

const char *gid_text(const uint8_t raw[GID_BYTES], char buf[GID_TEXT])
{
	struct ip_addr ip = gid_ip(raw);

	return ip_text(&ip, buf, GID_TEXT);
}

/* ---- allowed GIDs ------------------------------------------------------- */

size_t gid_allowed(struct gid_entry *table, size_t n, sa_family_t family,
		   int roce, const struct ip_net *range)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct gid_entry *g = &table[i];
		struct ip_addr ip = gid_ip(g->raw);

		/* an old kernel does not say which version it is */
		if ((family == 0 || ip.family == family) &&
		    (roce == 0 || g->roce == 0 || g->roce == roce) &&
		    (range->prefix == 0 || ip_in(&ip, range))) {
			table[kept++] = *g;
		}
	}
	return kept;
}

/* ---- order --------------------------------------------------------------- */

/* Odd where it is IPv4, even where not; each step before is a better way. */
static int worth(const struct gid_entry *g)
{
	struct ip_addr ip = gid_ip(g->raw);
	int way = g->roce != 2 ? 0 : ip_is_link_local(&ip) ? 1 : 2;

	return 2 * way + (ip.family == AF_INET);
}

static int by_worth(const void *x, const void *y)
{
	const struct gid_entry *a = x, *b = y;
	int more = worth(b) - worth(a);

	return more != 0 ? more : a->index - b->index;
}

void gid_order(struct gid_entry *table, size_t n)
{
	qsort(table, n, sizeof(*table), by_worth);
}

static struct ip_net net_of(const struct gid_entry *g)
{
	struct ip_net net = { .ip = gid_ip(g->raw), .prefix = g->prefix };

	if (net.prefix == 0) {
		/* its interface is in another network namespace: what is
		 * usual */
		net.prefix = net.ip.family == AF_INET ? 24 : 64;
	}
	return net;
}

bool gid_agree(const struct gid_entry *lead, size_t n_lead,
	       const struct gid_entry *other, size_t n_other, size_t *at_lead,
	       size_t *at_other)
{
	int most = 0;

	for (size_t i = 0; i < n_lead; i++) {
		for (size_t k = 0; k < n_other; k++) {
			struct ip_net a = net_of(&lead[i]);
			struct ip_net b = net_of(&other[k]);
			bool same = ip_in(&a.ip, &b) && ip_in(&b.ip, &a);
			int w = worth(&lead[i]), together;

			/* the way, then the subnet, then IPv4 */
			together = 1 + 4 * (w / 2) + 2 * same + w % 2;
			if (w == worth(&other[k]) &&
			    lead[i].roce == other[k].roce && together > most) {
				most = together;
				*at_lead = i;
				*at_other = k;
			}
		}
	}
	return most > 0;
}

/* ---- gid table ----------------------------------------------------------- */

/* The addresses of a port, and which of them its pairs may use. */

#if HAVE_VERBS

#include <infiniband/verbs.h>

#include "lib/base/limit.h"
#include "probes/host/interface.h"
#include "probes/host/sysfile.h"

#define FAMILY	"NCCL_IB_ADDR_FAMILY"
#define RANGE	"NCCL_IB_ADDR_RANGE"
#define VERSION "NCCL_IB_ROCE_VERSION_NUM"

/* ---- the table ---------------------------------------------------------- */

/* Describe the settings that decide between GIDs of an Ethernet port; an
 * InfiniBand port uses the first. */
static void describe_gids(const struct verbs_device *d,
			  struct gid_entry *table, size_t n)
{
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	size_t n_list = list != NULL ? interface_list(list, INTERFACE_MAX) : 0;
	char text[64];

	for (size_t i = 0; i < n; i++) {
		struct ip_addr ip = gid_ip(table[i].raw);

		sysfile_read(text, sizeof(text),
			     "/sys/class/infiniband/%s/ports/%d/gid_attrs/"
			     "types/%d",
			     d->hca, d->port, table[i].index);
		table[i].roce = gid_parse_type(text);
		/* the bits that name the subnet, as the interface says */
		table[i].prefix = 0;
		for (size_t k = n_list; k-- > 0;) {
			if (ip_equal(&list[k].net.ip, &ip)) {
				table[i].prefix = list[k].net.prefix;
			}
		}
	}
	free(list);
}

/* ---- the choice --------------------------------------------------------- */

static const char *const wishes[] = { FAMILY, RANGE, VERSION };

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

/* Keep the GIDs of @table that the settings of NCCL allow, the best first. */
static size_t take_allowed(const struct verbs_device *d,
			   struct gid_entry *table, size_t n)
{
	const char *of_family = nccl_conf_get(d->conf, FAMILY, NULL);
	const char *in_range = nccl_conf_get(d->conf, RANGE, NULL);
	sa_family_t family = 0;
	struct ip_net range = { 0 };

	if (!d->ethernet) {
		return take_index(table, n, 0);
	}
	/* as NCCL, ignore a value that cannot be read */
	if (of_family != NULL) {
		gid_parse_family(of_family, &family, NULL);
	}
	if (in_range != NULL) {
		ip_net_parse(in_range, &range, NULL);
	}
	n = gid_allowed(table, n, family,
			verbs_setting_of(d, -1, VERSION).value, &range);
	gid_order(table, n);
	return n < GID_OFFERS ? n : GID_OFFERS;
}

static int none_left(const struct verbs_device *d,
		     const struct gid_entry *table, size_t n, struct err *e)
{
	struct str all = STR_INIT, why = STR_INIT;
	char gid[GID_TEXT];

	/* the choice of the user: "0 (fe80::1), 1 (10.0.0.1)" */
	for (size_t i = 0; i < n; i++) {
		str_addf(&all, "%s%d (%s)", i > 0 ? ", " : "", table[i].index,
			 gid_text(table[i].raw, gid));
	}
	/* "allowed by NCCL_IB_ADDR_FAMILY=AF_INET6,
	 * NCCL_IB_ADDR_RANGE=fd00::/8" */
	for (size_t i = 0; i < sizeof(wishes) / sizeof(*wishes); i++) {
		const char *value = nccl_conf_get(d->conf, wishes[i], NULL);

		if (value != NULL) {
			str_addf(&why, "%s%s=%.64s",
				 why.len > 0 ? ", " : "allowed by ",
				 wishes[i], value);
		}
	}
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

/* Fill in d->gids, of which a pair takes one, and d->gid_index.  0, or -1 with
 * @e and *@code: there is none that the settings allow. */
static int verbs_choose_gid(struct verbs_device *d, const struct spec *spec,
			    const char **code, struct err *e)
{
	struct gid_entry *table = calloc(2 * GID_MAX, sizeof(*table));
	static const uint8_t zero[GID_BYTES];
	struct gid_entry *left = table + GID_MAX;
	union ibv_gid gid;
	size_t n = 0;

	if (table == NULL) {
		*code = LIMIT_MEMORY;
		return err_set(e, ENOMEM, "no memory for a GID table");
	}
	for (int i = 0; i < GID_MAX &&
			d->v->query_gid(d->ctx, d->port, i, &gid) == 0; i++) {
		table[n] = (struct gid_entry){ .index = i };
		memcpy(table[n].raw, gid.raw, GID_BYTES);
		n += memcmp(table[n].raw, zero, GID_BYTES) != 0;
	}
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

#endif

/* ---- device -------------------------------------------------------------- */

#if HAVE_VERBS

#include <sys/resource.h>

#include "lib/base/units.h"
#include "probes/host/port.h"

int verbs_call_fault(const struct verbs_device *d, enum verbs_call call,
		     int err, const char **code, struct err *e)
{
	const struct err_words *w = verbs_call_words(call, err, d->limited);

	*code = w->code;
	return err_set(e, err, "%s, %s: %s", d->name, verbs_call_names[call],
		       w->says);
}

/* ---- opening ------------------------------------------------------------- */

/* "mlx5_0:2" is port 2 of mlx5_0. */
static void split_name(struct verbs_device *d, const char *name)
{
	const char *colon = strchr(name, ':');
	int64_t port = 1;

	STR_COPY(d->name, name);
	STR_COPY(d->hca, name);
	d->hca[strcspn(d->hca, ":")] = '\0';
	if (colon != NULL) {
		port = 0;	/* there is none of that number */
		units_parse_int(colon + 1, 1, UINT8_MAX, &port, NULL);
	}
	d->port = (uint8_t)port;
}

/* Opens the context; 0 or an errno. */
static int open_context(struct verbs_device *d)
{
	int n = 0, rc = ENOENT;
	struct ibv_device **list = d->v->get_device_list(&n);

	for (int i = 0; list != NULL && i < n; i++) {
		if (strcmp(d->v->get_device_name(list[i]), d->hca) == 0) {
			errno = 0;
			d->ctx = d->v->open_device(list[i]);
			rc = d->ctx != NULL ? 0 : errno != 0 ? errno : EIO;
			break;
		}
	}
	if (list != NULL) {
		d->v->free_device_list(list);
	}
	/* if a device file must not be opened, the library looks elsewhere and
	 * reports that there is none: use the error of opening the file */
	return rc == ENOENT ? port_device_errno(d->hca, rc) : rc;
}

static int query_port(const struct verbs_device *d, struct ibv_port_attr *a)
{
	/* the library fills in the older, shorter part of the struct */
	memset(a, 0, sizeof(*a));
	return d->v->query_port(d->ctx, d->port,
				(struct _compat_ibv_port_attr *)a);
}

static const char *state_word(enum ibv_port_state s)
{
	static const char *const words[] = {
		[IBV_PORT_NOP] = "without a state",
		[IBV_PORT_DOWN] = "DOWN",
		[IBV_PORT_INIT] = "INIT (no subnet manager has set it up)",
		[IBV_PORT_ARMED] = "ARMED",
		[IBV_PORT_ACTIVE] = "ACTIVE",
		[IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
	};

	return (size_t)s < sizeof(words) / sizeof(words[0]) ? words[s] : "?";
}

bool verbs_tell_port(const struct xport_link *l, struct xport_result *r)
{
	struct ibv_port_attr a;
	int rc = query_port(&l->x->dev, &a);

	if (rc == 0 && a.state == IBV_PORT_ACTIVE) {
		return false;
	}
	xport_fail(r, OUTCOME_ERROR, "port_down", "%s: the port is %s now",
		   l->x->dev.name,
		   rc == 0 ? state_word(a.state) : "not to be asked");
	return true;
}

static int read_port(struct verbs_device *d, const char **code, struct err *e)
{
	struct ibv_device_attr most = { 0 };
	struct ibv_port_attr a;
	int rc = query_port(d, &a);

	if (rc != 0 || (rc = d->v->query_device(d->ctx, &most)) != 0) {
		*code = "port_missing";
		return err_set(e, rc, "%s: port %d cannot be queried", d->name,
			       d->port);
	}
	d->read_depth = most.max_qp_rd_atom;
	d->read_ask = most.max_qp_init_rd_atom;
	d->max_wr = most.max_qp_wr;
	d->max_cqe = most.max_cqe;
	d->ethernet = a.link_layer == IBV_LINK_LAYER_ETHERNET;
	d->lid = a.lid;
	d->lmc = a.lmc;
	d->mtu_B = 128 << a.active_mtu;	/* enum ibv_mtu: 1 is 256 */
	if (a.state != IBV_PORT_ACTIVE) {
		*code = "port_down";
		err_set(e, 0, "%s: the port is %s", d->name,
			state_word(a.state));
		return err_hint(e, "check 'ibstat', 'ip link', the cable and "
				   "the switch port");
	}
	return 0;
}

/* ---- the device ---------------------------------------------------------- */

int verbs_device_open(struct verbs_device *d, const char *name,
		      const struct spec *spec, const char **code,
		      struct err *e)
{
	uint16_t pkey = 0;
	int rc;
	struct rlimit r;

	split_name(d, name);
	pin_to_hca(d->hca);	/* before memory is made */
	d->limited = getrlimit(RLIMIT_MEMLOCK, &r) == 0 &&
	       r.rlim_cur != RLIM_INFINITY;
	d->conf = nccl_conf_read(spec->sysroot, 0);
	d->traffic_class = verbs_setting_of(d, spec->traffic_class,
					    "NCCL_IB_TC");
	d->service_level = verbs_setting_of(d, spec->service_level,
					    "NCCL_IB_SL");
	d->pkey_index = verbs_setting_of(d, spec->pkey_index, "NCCL_IB_PKEY");
	d->qps = verbs_setting_of(d, spec->qps, "NCCL_IB_QPS_PER_CONNECTION");
	d->qps.value = d->qps.value < 1 ? 1 :
		       d->qps.value > QPS_MAX ? QPS_MAX : d->qps.value;
	d->relaxed = verbs_setting_of(d, -1, "NCCL_IB_PCI_RELAXED_ORDERING");
	if (!d->relaxed.given) {
		d->relaxed.value = 1;	/* as NCCL: where it can be had */
	}
	d->qp_timeout = (int)spec->qp_timeout;
	d->qp_retries = (int)spec->qp_retries;
	d->v = dl_verbs(NULL); /* the caller has checked that it is there */
	rc = open_context(d);
	if (rc != 0) {
		return verbs_call_fault(d, VERBS_OPEN, rc, code, e);
	}
	if (read_port(d, code, e) < 0 ||
	    verbs_choose_gid(d, spec, code, e) < 0) {
		return -1;
	}
	if (d->v->query_pkey(d->ctx, d->port, d->pkey_index.value, &pkey) !=
		    0 ||
	    pkey == 0) {
		*code = "pkey_missing";
		return err_set(e, 0, "%s: there is no P_Key at index %d (%s)",
			       d->name, d->pkey_index.value,
			       d->pkey_index.source);
	}
	d->pd = d->v->alloc_pd(d->ctx);
	return d->pd != NULL ? 0 :
			       verbs_call_fault(d, VERBS_PD, errno, code, e);
}

void verbs_device_close(struct verbs_device *d)
{
	if (d->pd != NULL) {
		d->v->dealloc_pd(d->pd);
	}
	if (d->ctx != NULL) {
		d->v->close_device(d->ctx);
	}
	json_decref(d->conf);
	memset(d, 0, sizeof(*d));
}

const char *verbs_flows_lack(const struct verbs_device *d)
{
	return !d->ethernet ? "InfiniBand packets have no UDP source port; the "
			      "LIDs of a port (LMC) and adaptive routing "
			      "choose their path" :
	       d->gids[0].roce == 1 ? "RoCE v1 packets have no UDP source "
				      "port" :
				      NULL;
}

/* ---- facts --------------------------------------------------------------- */

void verbs_device_facts(const struct verbs_device *d, json_t *facts)
{
	char gid[GID_TEXT];

	facts_addf(facts, d->name, "active_mtu", "B", "ibv_query_port", "%d",
		   d->mtu_B);
	if (!d->ethernet) {
		facts_addf(facts, d->name, "lid", "", "ibv_query_port", "%d",
			   d->lid);
		facts_addf(facts, d->name, "lmc", "", "ibv_query_port", "%d",
			   d->lmc);
	}
	/* add the chosen GID, its index and, where known, its RoCE version
	 * to facts */
	facts_add(facts, d->name, "gid", gid_text(d->gids[0].raw, gid), "",
		  "ibv_query_gid");
	if (d->gids[0].roce > 0) {
		facts_addf(facts, d->name, "roce_version", "", "gid_attrs",
			   "%d", d->gids[0].roce);
	}
	verbs_setting_fact(d, facts, "gid_index", &d->gid_index);
	verbs_setting_fact(d, facts, "traffic_class", &d->traffic_class);
	verbs_setting_fact(d, facts, "service_level", &d->service_level);
	verbs_setting_fact(d, facts, "pkey_index", &d->pkey_index);
	verbs_setting_fact(d, facts, "qps", &d->qps);
	/* of all pairs: run.json keeps them as settings */
	facts_addf(facts, "run", "qp_timeout_s", "s", "option", "%.6f",
		   4.096e-6 * (double)(1LL << d->qp_timeout));
	facts_addf(facts, "run", "qp_retries", "", "option", "%d",
		   d->qp_retries);
}

#endif
