/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/ib/link.h"

#if HAVE_VERBS

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/dl/verbs.h"
#include "probes/host/interface.h"
#include "probes/host/sysfile.h"

#define DEVICE	   "/dev/infiniband/rdma_cm"
/* Together below the time that a pair has to connect, so that the reason of a
 * failure is reported. */
#define RESOLVE_MS 2000		/* an address, or a route */
#define CALL_NS	   (2500 * NS_PER_MS)	/* both */
#define LOOK_MS	   100		/* poll interval of worker_cancelled() */
/* The kernel refuses further requests before the first is accepted. */
#define BACKLOG	   64

struct cm {
	const struct rdmacm *lib;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;	/* of the lead */
	struct rdma_cm_id *id;		/* the connection */
	struct ibv_ah_attr path;
};

/* Steps at which it can fail, with the usual cause. */
enum cm_step {
	STEP_CHANNEL, STEP_LISTEN, STEP_ADDRESS, STEP_ROUTE, STEP_CONNECT
};

static const struct {
	const char *code, *call, *says;
} steps[] = {
	[STEP_CHANNEL] = { "cm_device", "rdma_create_event_channel",
		DEVICE " cannot be opened; load rdma_ucm, and give the file to "
		"the job's container" },
	[STEP_LISTEN] = { "cm_listen", "rdma_listen",
		"the connection manager cannot listen" },
	[STEP_ADDRESS] = { "cm_address", "rdma_resolve_addr",
		"no RDMA interface has the local address, or the remote "
		"address does not respond" },
	[STEP_ROUTE] = { "cm_route", "rdma_resolve_route",
		"no path between the two addresses; on InfiniBand, does the "
		"subnet manager answer?" },
	[STEP_CONNECT] = { "cm_connect", "rdma_connect",
		"the connection managers cannot reach each other, or one "
		"rejects the connection" },
};

/* Fail with the errno @err or, if it is 0, the reason of CM. */
static int failed(const struct xport_link *l, enum cm_step step, int err,
		  int reason, struct xport_result *r)
{
	char own[GID_TEXT], peer[GID_TEXT], why[64];

	snprintf(why, sizeof(why), "reason %d", reason);
	if (!verbs_tell_port(l, r)) {
		xport_fail(r, OUTCOME_ERROR, steps[step].code,
			   "%s (%s) to %s (%s), %s: %s; %s",
			   l->own.name, ip_text(&l->ip, own, sizeof(own)),
			   l->peer.name,
			   ip_text(&l->peer_ip, peer, sizeof(peer)),
			   steps[step].call, err != 0 ? strerror(err) : why,
			   steps[step].says);
	}
	return -1;
}

/* ---- addresses ----------------------------------------------------------- */

struct ip_addr cm_address(const struct verbs_device *d)
{
	struct interface *list = calloc(INTERFACE_MAX, sizeof(*list));
	size_t n = list != NULL ? interface_list(list, INTERFACE_MAX) : 0;
	struct ip_addr ip = { .family = 0 };

	for (size_t i = 0; !d->ethernet && ip.family == 0 && i < n; i++) {
		char text[32];
		int64_t port = -1;

		/* IPoIB on the port */
		sysfile_read(text, sizeof(text), "/sys/class/net/%s/dev_port",
			     list[i].name);
		units_parse_int(text, 0, UINT8_MAX, &port, NULL);
		if (port + 1 == d->port &&
		    sysfile_there("/sys/class/infiniband/%s/device/net/%s",
				  d->hca, list[i].name)) {
			ip = list[i].net.ip;
		}
	}
	free(list);
	return ip;
}

/* Fill in @sa as the kernel wants it: a link-local address needs its
 * interface. */
static void to_sockaddr(const struct xport_link *l, const struct ip_addr *ip,
			uint16_t port, struct sockaddr_storage *sa)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)sa;
	char netdev[IF_NAMESIZE];

	ip_sockaddr(ip, port, sa);
	if (ip->family == AF_INET6 && ip_is_link_local(ip)) {
		sysfile_read(netdev, sizeof(netdev),
			     "/sys/class/infiniband/%s/ports/%d/gid_attrs/"
			     "ndevs/%d", l->x->dev.hca, l->x->dev.port,
			     l->gid.index);
		v6->sin6_scope_id = if_nametoindex(netdev);
	}
}

/* Set the addresses of both ends: on RoCE they are GIDs. */
static void take_addresses(struct xport_link *l)
{
	struct err e;

	if (l->x->dev.ethernet) {
		l->ip = gid_ip(l->gid.raw);
		l->peer_ip = gid_ip(l->peer_gid.raw);
	} else {
		l->ip = cm_address(&l->x->dev);
		ip_parse(l->peer.ip, &l->peer_ip, &e);
	}
}

/* ---- events -------------------------------------------------------------- */

/* 0, or an errno: there will be no event in time. */
static int await_event(const struct xport_link *l, int64_t deadline_ns)
{
	struct pollfd p = {
		.fd = ((struct rdmacm_channel *)l->cm->channel)->fd,
		.events = POLLIN,
	};
	int left;

	do {
		left = clock_ms_left(deadline_ns);
		if (left == 0) {
			return ETIMEDOUT;
		}
		if (worker_cancelled(l->x->self.worker)) {
			return ECANCELED;
		}
	} while (poll(&p, 1, left < LOOK_MS ? left : LOOK_MS) <= 0);
	return 0;
}

/* Return true for a request of anyone but the peer, which sends the word of
 * this pair. */
static bool is_stranger(const struct xport_link *l,
			const struct rdmacm_event *event)
{
	const struct rdmacm_param *p = &event->param;

	return event->type == RDMACM_CONNECT_REQUEST &&
	       (l->cm->id != NULL || p->private_data == NULL ||
		p->private_data_len < sizeof(l->word) ||
		!hash_equal(p->private_data, &l->word, sizeof(l->word)));
}

/* Wait for the next event, which must be @wanted.  A connection that the peer
 * asks for is kept as cm->id, strangers are refused. */
static int await(const struct xport_link *l, enum rdmacm_event_type wanted,
		 enum cm_step step, int64_t deadline_ns, struct xport_result *r)
{
	struct cm *cm = l->cm;
	struct rdma_cm_id *stranger = NULL;
	struct rdmacm_event *event;
	int type = -1, status = 0, rc;

	do {
		rc = await_event(l, deadline_ns);
		if (rc == 0 &&
		    cm->lib->get_cm_event(cm->channel, &event) != 0) {
			rc = errno;
		}
		if (rc != 0) {
			/* a wait that ended in vain is not the cause */
			r->echo = rc == ETIMEDOUT || rc == ECANCELED;
			return failed(l, step, rc, 0, r);
		}
		type = event->type;
		status = event->status;
		stranger = is_stranger(l, event) ? event->id : NULL;
		if (stranger == NULL && type == RDMACM_CONNECT_REQUEST) {
			cm->id = event->id;
		}
		cm->lib->ack_cm_event(event);
		if (stranger != NULL) {
			cm->lib->destroy_id(stranger);
		}
	} while (stranger != NULL);
	if (type == (int)wanted) {
		return 0;
	}
	r->echo = false;
	return status < 0 ? failed(l, step, -status, 0, r) :
			    failed(l, step, 0, status, r);
}

/* ---- life ---------------------------------------------------------------- */

void cm_free(struct cm *cm)
{
	if (cm == NULL) {
		return;
	}
	if (cm->id != NULL) {
		cm->lib->destroy_id(cm->id);
	}
	if (cm->listener != NULL) {
		cm->lib->destroy_id(cm->listener);
	}
	if (cm->channel != NULL) {
		cm->lib->destroy_event_channel(cm->channel);
	}
	free(cm);
}

int cm_check(const struct verbs_device *d, const char **code, struct err *e)
{
	const struct rdmacm *lib = dl_rdmacm(e);
	struct rdma_event_channel *channel;
	int why;

	if (lib == NULL) {
		*code = "rdmacm_missing";
		return err_hint(e, "install librdmacm1, or set "
				   "GPUCHECK_RDMACM_LIB");
	}
	errno = 0;
	channel = lib->create_event_channel();
	if (channel == NULL) {
		/* the library looks elsewhere for what it may not open */
		why = errno;
		why = access(DEVICE, R_OK | W_OK) < 0 ? errno : why;
		*code = steps[STEP_CHANNEL].code;
		return err_set(e, why, "%s: %s: %s", d->name,
			       steps[STEP_CHANNEL].call,
			       steps[STEP_CHANNEL].says);
	}
	lib->destroy_event_channel(channel);
	if (!d->ethernet && cm_address(d).family == 0) {
		*code = steps[STEP_ADDRESS].code;
		return err_set(e, 0, "%s has no IP address, which rdma_cm "
			       "needs: on InfiniBand, an IPoIB address",
			       d->name);
	}
	return 0;
}

/* With its channel; NULL with @r. */
static struct cm *new_cm(struct xport_link *l, struct xport_result *r)
{
	struct cm *cm = calloc(1, sizeof(*cm));

	if (cm == NULL) {
		return xport_short(r, ENOMEM, "no memory for a connection");
	}
	l->cm = cm;	/* goes with the link */
	cm->lib = dl_rdmacm(NULL);
	cm->channel = cm->lib->create_event_channel();
	if (cm->channel == NULL) {
		failed(l, STEP_CHANNEL, errno, 0, r);
		return NULL;
	}
	return cm;
}

int cm_listen(struct xport_link *l, struct xport_result *r)
{
	/* at all addresses: which one is not known before the peer's are */
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct cm *cm = new_cm(l, r);

	if (cm == NULL) {
		return -1;
	}
	if (cm->lib->create_id(cm->channel, &cm->listener, NULL,
			       RDMACM_PS_TCP) != 0 ||
	    cm->lib->bind_addr(cm->listener, (struct sockaddr *)&any) != 0 ||
	    cm->lib->listen(cm->listener, BACKLOG) != 0) {
		return failed(l, STEP_LISTEN, errno, 0, r);
	}
	l->own.cm_port = ntohs(cm->lib->get_src_port(cm->listener));
	return 0;
}

static struct rdmacm_param param_of(const struct xport_link *l)
{
	const struct verbs_device *d = &l->x->dev;

	return (struct rdmacm_param){
		.private_data = &l->word,
		.private_data_len = sizeof(l->word),
		.responder_resources = (uint8_t)l->own.read_depth,
		.initiator_depth = (uint8_t)l->peer.read_depth,
		.retry_count = (uint8_t)d->qp_retries,
		.rnr_retry_count = 7,
		.qp_num = (uint32_t)l->own.qpns[0],
	};
}

/* Addresses lead to an HCA by themselves, not by the one that was asked for. */
static int check_port(const struct xport_link *l, struct xport_result *r)
{
	const struct verbs_device *d = &l->x->dev;
	const struct rdmacm_id *id = (const struct rdmacm_id *)l->cm->id;
	const char *name = id->verbs != NULL ?
				   d->v->get_device_name(id->verbs->device) :
				   "no HCA";
	char ip[IP_TEXT];

	if (strcmp(name, d->hca) == 0) {
		return 0;
	}
	xport_fail(r, OUTCOME_ERROR, "cm_other_port",
		   "rdma_cm resolves the address of %s, %s, to %s",
		   l->own.name, ip_text(&l->ip, ip, sizeof(ip)), name);
	return -1;
}

int cm_call(struct xport_link *l, struct xport_result *r)
{
	struct rdmacm_param param = param_of(l);
	struct sockaddr_storage own, peer;
	struct cm *cm = new_cm(l, r);
	int64_t deadline = clock_now_ns() + CALL_NS;

	if (cm == NULL) {
		return -1;
	}
	take_addresses(l);
	to_sockaddr(l, &l->ip, 0, &own);
	to_sockaddr(l, &l->peer_ip, (uint16_t)l->peer.cm_port, &peer);
	worker_step(l->x->self.worker, "rdma_resolve_addr, %s to %s",
		    l->own.name, l->peer.name);
	if (cm->lib->create_id(cm->channel, &cm->id, NULL, RDMACM_PS_TCP) !=
		    0 ||
	    cm->lib->resolve_addr(cm->id, (struct sockaddr *)&own,
				  (struct sockaddr *)&peer, RESOLVE_MS) != 0) {
		return failed(l, STEP_ADDRESS, errno, 0, r);
	}
	if (await(l, RDMACM_ADDR_RESOLVED, STEP_ADDRESS, deadline, r) < 0 ||
	    check_port(l, r) < 0) {
		return -1;
	}
	if (cm->lib->resolve_route(cm->id, RESOLVE_MS) != 0) {
		return failed(l, STEP_ROUTE, errno, 0, r);
	}
	if (await(l, RDMACM_ROUTE_RESOLVED, STEP_ROUTE, deadline, r) < 0) {
		return -1;
	}
	return cm->lib->connect(cm->id, &param) == 0 ?
		       0 :
		       failed(l, STEP_CONNECT, errno, 0, r);
}

int cm_hear(struct xport_link *l, bool lead, int64_t deadline_ns,
	    struct xport_result *r)
{
	const struct verbs_device *d = &l->x->dev;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct cm *cm = l->cm;
	int mask = 0;

	take_addresses(l);
	worker_step(l->x->self.worker, "rdma_connect, %s to %s", l->own.name,
		    l->peer.name);
	if (await(l, lead ? RDMACM_CONNECT_REQUEST : RDMACM_CONNECT_RESPONSE,
		  STEP_CONNECT, deadline_ns, r) < 0 || check_port(l, r) < 0) {
		return -1;
	}
	if (cm->lib->init_qp_attr(cm->id, &attr, &mask) != 0) {
		return failed(l, STEP_CONNECT, errno, 0, r);
	}
	cm->path = attr.ah_attr;
	if (d->service_level.given) {
		cm->path.sl = (uint8_t)d->service_level.value;
	}
	if (d->traffic_class.given) {
		cm->path.grh.traffic_class = (uint8_t)d->traffic_class.value;
	}
	if (cm->path.is_global) {
		l->gid.index = cm->path.grh.sgid_index;
	}
	return 0;
}

const struct ibv_ah_attr *cm_path(const struct cm *cm)
{
	return &cm->path;
}

int cm_finish(struct xport_link *l, bool lead, int64_t deadline_ns,
	      struct xport_result *r)
{
	struct rdmacm_param param = param_of(l);
	struct cm *cm = l->cm;
	int rc = lead ? cm->lib->accept(cm->id, &param) :
			cm->lib->establish(cm->id);

	if (rc != 0) {
		return failed(l, STEP_CONNECT, errno, 0, r);
	}
	return lead ? await(l, RDMACM_ESTABLISHED, STEP_CONNECT, deadline_ns,
			    r) :
		      0;
}

#endif
