/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/device.h"

#if HAVE_VERBS

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <infiniband/verbs.h>

#include "lib/base/limit.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/facts.h"
#include "probes/host/nccl_conf.h"
#include "probes/host/pin.h"
#include "probes/ib/ticket.h"

int verbs_call_fault(const struct verbs_device *d, enum verbs_call call,
		     int err, const char **code, struct err *e)
{
	const struct verbs_words *w = verbs_call_words(call, err, d->limited);

	*code = w->code;
	return err_set(e, err, "%s, %s: %s", d->name, verbs_call_name(call),
		       w->says);
}

static bool memory_limited(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_MEMLOCK, &r) == 0 &&
	       r.rlim_cur != RLIM_INFINITY;
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
	/* a device file that may not be opened is looked for elsewhere by the
	 * library, which then finds none: what does its own say? */
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

bool verbs_port_active(const struct verbs_device *d, const char **state)
{
	struct ibv_port_attr a;

	if (query_port(d, &a) != 0) {
		*state = "not to be asked";
		return false;
	}
	*state = state_word(a.state);
	return a.state == IBV_PORT_ACTIVE;
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

/* ---- the whole ----------------------------------------------------------- */

static int check_pkey(struct verbs_device *d, const char **code,
		      struct err *e)
{
	uint16_t pkey = 0;
	int rc = d->v->query_pkey(d->ctx, d->port, d->pkey_index.value, &pkey);

	if (rc == 0 && pkey != 0) {
		return 0;
	}
	*code = "pkey_missing";
	return err_set(e, 0, "%s: there is no P_Key at index %d (%s)", d->name,
		       d->pkey_index.value, d->pkey_index.source);
}

int verbs_device_open(struct verbs_device *d, const char *name,
		      const struct spec *spec, const char **code,
		      struct err *e)
{
	int rc;

	split_name(d, name);
	pin_to_hca(d->hca);	/* before memory is made */
	d->limited = memory_limited();
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
	d->v = dl_verbs(NULL);	/* who opens us has looked */
	rc = open_context(d);
	if (rc != 0) {
		return verbs_call_fault(d, VERBS_OPEN, rc, code, e);
	}
	if (read_port(d, code, e) < 0 ||
	    verbs_choose_gid(d, spec, code, e) < 0 ||
	    check_pkey(d, code, e) < 0) {
		return -1;
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

/* ---- facts --------------------------------------------------------------- */

void verbs_device_facts(const struct verbs_device *d, json_t *facts)
{
	facts_addf(facts, d->name, "active_mtu", "B", "ibv_query_port", "%d",
		   d->mtu_B);
	if (!d->ethernet) {
		facts_addf(facts, d->name, "lid", "", "ibv_query_port", "%d",
			   d->lid);
	}
	verbs_gid_facts(d, facts);
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
