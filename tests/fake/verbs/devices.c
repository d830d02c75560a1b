/* SPDX-License-Identifier: BSD-3-Clause */
/* A fake: devices out of a file, and what they say of themselves. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/verbs/fake.h"

#define EVENT_POLL_NS (20 * FV_MS)

struct fv_port fv_ports[FV_PORTS];
int fv_n_ports;

int64_t fv_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * FV_S + t.tv_nsec;
}

void fv_sleep_ns(int64_t ns)
{
	struct timespec t = { ns / FV_S, ns % FV_S };

	nanosleep(&t, NULL);
}

/* ---- the file ------------------------------------------------------------ */

/* "v2/10.7.0.1,v1/fe80::1": the tree of files has the versions. */
static bool read_gids(struct fv_port *p, char *text)
{
	char *rest = NULL;

	for (char *g = strtok_r(text, ",", &rest); g != NULL;
	     g = strtok_r(NULL, ",", &rest)) {
		char *ip = strchr(g, '/') != NULL ? strchr(g, '/') + 1 : g;
		uint8_t *raw = p->gids[p->n_gids].raw;

		if (p->n_gids == FV_GIDS) {
			return false;
		}
		if (inet_pton(AF_INET, ip, raw + 12) == 1) {
			memset(raw + 10, 0xff, 2);
		} else if (inet_pton(AF_INET6, ip, raw) != 1) {
			return false;
		}
		p->n_gids++;
	}
	return true;
}

static bool read_word(struct fv_port *p, char *word)
{
	char *value = strchr(word, '=');

	if (value == NULL) {
		return false;
	}
	*value++ = '\0';
	if (strcmp(word, "gids") == 0) {
		return read_gids(p, value);
	}
	if (strcmp(word, "node") == 0) {
		snprintf(p->node, sizeof(p->node), "%s", value);
	} else if (strcmp(word, "link") == 0) {
		p->ethernet = strcmp(value, "InfiniBand") != 0;
	} else if (strcmp(word, "rate") == 0) {
		p->rate_Gb_s = strtod(value, NULL);
	} else if (strcmp(word, "pace") == 0) {
		p->pace_Gb_s = strtod(value, NULL);
	} else if (strcmp(word, "queue") == 0) {
		p->queue_Gb_s = strtod(value, NULL);
	} else if (strcmp(word, "state") == 0) {
		p->down = strcmp(value, "down") == 0;
	} else if (strcmp(word, "mtu") == 0) {
		long bytes = strtol(value, NULL, 10);

		for (p->mtu = IBV_MTU_256;
		     128 << p->mtu < bytes && p->mtu < IBV_MTU_4096;) {
			p->mtu++;
		}
	}	/* others are of the tree of files alone */
	return true;
}

/* A line; false when it is none of ours. */
static bool read_line(char *line)
{
	struct fv_port *p = &fv_ports[fv_n_ports];
	char *rest = NULL, *word = strtok_r(line, " \t\n", &rest), *colon;
	char id[sizeof(p->node) + 1] = "";

	if (word == NULL || word[0] == '#') {
		return true;
	}
	if (fv_n_ports == FV_PORTS) {
		return false;
	}
	*p = (struct fv_port){ .number = 1, .ethernet = true,
			       .rate_Gb_s = 100, .pace_Gb_s = -1,
			       .mtu = IBV_MTU_1024 };
	colon = strchr(word, ':');
	p->number = colon != NULL ? (int)strtol(colon + 1, NULL, 10) : 1;
	snprintf(p->hca, sizeof(p->hca), "%.*s",
		 (int)strcspn(word, ":"), word);
	for (char *w = strtok_r(NULL, " \t\n", &rest); w != NULL;
	     w = strtok_r(NULL, " \t\n", &rest)) {
		if (!read_word(p, w)) {
			return false;
		}
	}
	if (p->pace_Gb_s < 0) {
		p->pace_Gb_s = p->rate_Gb_s;
	}
	if (p->n_gids == 0) {	/* an address by the place in the file */
		p->gids[0].raw[0] = 0xfe;
		p->gids[0].raw[1] = 0x80;
		p->gids[0].raw[15] = (uint8_t)(fv_n_ports + 1);
		p->n_gids = 1;
	}
	if (p->node[0] != '\0') {
		snprintf(id, sizeof(id), "%s/", p->node);
	}
	snprintf(p->id, sizeof(p->id), "%s%s", id, word);
	fv_n_ports++;
	return true;
}

static void read_devices(void)
{
	const char *folder = getenv("FAKE_VERBS");
	char path[4096], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/devices",
		 folder != NULL ? folder : "");
	f = fopen(path, "r");
	if (f == NULL) {
		fprintf(stderr, "fake verbs: no %s: set FAKE_VERBS\n", path);
		return;
	}
	for (int n = 1; fgets(line, sizeof(line), f) != NULL; n++) {
		if (!read_line(line)) {
			fprintf(stderr, "fake verbs: %s:%d is wrong\n", path,
				n);
			fv_n_ports = 0;
			break;
		}
	}
	fclose(f);
	/* peers of the same user move bytes in and out of this process */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

int fv_port_by_gid(const union ibv_gid *gid)
{
	for (int i = 0; i < fv_n_ports; i++) {
		for (int k = 0; k < fv_ports[i].n_gids; k++) {
			if (memcmp(&fv_ports[i].gids[k], gid, 16) == 0) {
				return i;
			}
		}
	}
	return -1;
}

/* ---- devices ------------------------------------------------------------- */

/* Ports without a node are seen by all, others on theirs: pretend nodes of one
 * machine are told apart as NCCL tells them. */
static bool is_seen(const struct fv_port *p)
{
	const char *node = getenv("FAKE_VERBS_NODE");

	node = node != NULL ? node : getenv("NCCL_HOSTID");
	return p->node[0] == '\0' ||
	       (node != NULL && strcmp(p->node, node) == 0);
}

static struct ibv_device *new_device(int first, int number)
{
	struct fv_device *d = calloc(1, sizeof(*d));
	struct ibv_device *v;

	if (d == NULL) {
		return NULL;
	}
	d->first = first;
	for (int i = first; i < fv_n_ports &&
	     strcmp(fv_ports[i].hca, fv_ports[first].hca) == 0 &&
	     strcmp(fv_ports[i].node, fv_ports[first].node) == 0; i++) {
		d->n_ports++;
	}
	v = &d->device;
	v->node_type = IBV_NODE_CA;
	v->transport_type = IBV_TRANSPORT_IB;
	snprintf(v->name, sizeof(v->name), "%s", fv_ports[first].hca);
	snprintf(v->dev_name, sizeof(v->dev_name), "fake_verbs%d", number);
	snprintf(v->ibdev_path, sizeof(v->ibdev_path),
		 "/sys/class/infiniband/%s", v->name);
	return v;
}

struct ibv_device **(ibv_get_device_list)(int *count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ibv_device **list = calloc(FV_PORTS + 1, sizeof(void *));
	int n = 0, ports;

	pthread_once(&once, read_devices);
	if (list == NULL || fv_n_ports == 0 || fv_wire() == NULL) {
		free(list);
		errno = ENOSYS;
		return NULL;
	}
	for (int i = 0; i < fv_n_ports; i += ports) {
		struct ibv_device *d = new_device(i, i);

		ports = ((struct fv_device *)d)->n_ports;
		if (is_seen(&fv_ports[i])) {
			list[n++] = d;
		} else {
			free(d);
		}
	}
	if (count != NULL) {
		*count = n;
	}
	return list;
}

/* Devices that are open live on, and so do the others: a few hundred bytes. */
void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct fv_context *fv_context_of(struct ibv_context *ctx)
{
	return (struct fv_context *)((char *)ctx -
				     offsetof(struct fv_context,
					      verbs.context));
}

int fv_port_of(struct ibv_context *ctx, int number)
{
	const struct fv_device *d = fv_context_of(ctx)->device;

	return number >= 1 && number <= d->n_ports ? d->first + number - 1 : -1;
}

static int query_port(struct ibv_context *ctx, uint8_t number,
		      struct ibv_port_attr *out, size_t size);

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct fv_context *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		return NULL;
	}
	c->device = (struct fv_device *)device;
	for (int i = 0; i < c->device->n_ports && i < 8; i++) {
		c->down[i] = fv_port_down(c->device->first + i);
	}
	c->verbs.sz = sizeof(c->verbs);
	c->verbs.query_port = query_port;
	c->verbs.context.device = device;
	c->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	c->verbs.context.cmd_fd = -1;
	c->verbs.context.async_fd = eventfd(0, EFD_CLOEXEC);
	c->verbs.context.num_comp_vectors = 1;
	c->verbs.context.ops.poll_cq = fv_poll_cq;
	c->verbs.context.ops.post_send = fv_post_send;
	c->verbs.context.ops.post_recv = fv_post_recv;
	pthread_mutex_init(&c->verbs.context.mutex, NULL);
	return &c->verbs.context;
}

int ibv_close_device(struct ibv_context *ctx)
{
	close(ctx->async_fd);
	free(fv_context_of(ctx));
	return 0;
}

/* ---- questions ----------------------------------------------------------- */

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	const struct fv_device *d = fv_context_of(ctx)->device;

	*a = (struct ibv_device_attr){
		.fw_ver = "fake",
		.node_guid = htobe64(0xfa0000 + (uint64_t)d->first),
		.sys_image_guid = htobe64(0xfa0000 + (uint64_t)d->first),
		.max_mr_size = UINT64_MAX, .page_size_cap = 4096,
		.max_qp = FV_QPS, .max_qp_wr = FV_RING, .max_sge = FV_SGES,
		.max_cq = FV_QPS, .max_cqe = 1 << 16, .max_mr = FV_MRS,
		.max_pd = FV_MRS, .max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16, .max_pkeys = 1,
		.phys_port_cnt = (uint8_t)d->n_ports,
	};
	return 0;
}

/* The width and speed whose product is the rate, or next to it. */
static void set_speed(double rate_Gb_s, struct ibv_port_attr *a)
{
	static const struct { uint8_t code, lanes; } widths[] = {
		{ 2, 4 }, { 1, 1 }, { 16, 2 }, { 4, 8 }, { 8, 12 } };
	static const struct { uint8_t code; double Gb_s; } speeds[] = {
		{ 1, 2.5 }, { 2, 5 }, { 4, 10 }, { 16, 14 }, { 32, 25 },
		{ 64, 50 }, { 128, 100 } };
	double best = 1e9;

	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
		for (size_t s = 0; s < sizeof(speeds) / sizeof(*speeds); s++) {
			double off = widths[w].lanes * speeds[s].Gb_s -
				     rate_Gb_s;

			off = off < 0 ? -off : off;
			if (off < best) {
				best = off;
				a->active_width = widths[w].code;
				a->active_speed = speeds[s].code;
			}
		}
	}
}

static int query_port(struct ibv_context *ctx, uint8_t number,
		      struct ibv_port_attr *out, size_t size)
{
	int i = fv_port_of(ctx, number);
	const struct fv_port *p = &fv_ports[i < 0 ? 0 : i];
	struct ibv_port_attr a = {
		.max_mtu = IBV_MTU_4096, .active_mtu = (enum ibv_mtu)p->mtu,
		.gid_tbl_len = p->n_gids, .max_msg_sz = 1u << 31,
		.pkey_tbl_len = 1, .max_vl_num = 1, .sm_sl = 0,
		.lid = p->ethernet ? 0 : (uint16_t)(i + 1),
		.sm_lid = p->ethernet ? 0 : 1,
		.link_layer = p->ethernet ? IBV_LINK_LAYER_ETHERNET :
					    IBV_LINK_LAYER_INFINIBAND,
	};

	if (i < 0) {
		return EINVAL;
	}
	a.state = fv_port_down(i) ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
	a.phys_state = fv_port_down(i) ? 3 : 5;	/* Disabled, LinkUp */
	set_speed(p->rate_Gb_s, &a);
	/* what the caller's headers have beyond ours */
	memset(out, 0, size);
	memcpy(out, &a, size < sizeof(a) ? size : sizeof(a));
	return 0;
}

int (ibv_query_port)(struct ibv_context *ctx, uint8_t number,
		     struct _compat_ibv_port_attr *out)
{
	return query_port(ctx, number, (struct ibv_port_attr *)out,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(struct ibv_context *ctx, uint8_t number, int index,
		  union ibv_gid *gid)
{
	int i = fv_port_of(ctx, number);

	if (i < 0 || index < 0 || index >= fv_ports[i].n_gids) {
		errno = EINVAL;
		return -1;
	}
	*gid = fv_ports[i].gids[index];
	return 0;
}

int ibv_query_pkey(struct ibv_context *ctx, uint8_t number, int index,
		   __be16 *pkey)
{
	*pkey = 0xffff;
	return fv_port_of(ctx, number) >= 0 && index == 0 ? 0 : -1;
}

int ibv_query_port_speed(struct ibv_context *ctx, uint32_t number,
			 uint64_t *speed);

/* In units of 100 Mb/s; of later headers. */
int ibv_query_port_speed(struct ibv_context *ctx, uint32_t number,
			 uint64_t *speed)
{
	int i = fv_port_of(ctx, (int)number);

	*speed = i < 0 ? 0 : (uint64_t)(fv_ports[i].rate_Gb_s * 10);
	return i < 0 ? EINVAL : 0;
}

/* ---- events -------------------------------------------------------------- */

/* Blocks, as the real one does: until a port goes down or comes back. */
int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	struct fv_context *c = fv_context_of(ctx);

	for (;;) {
		for (int i = 0; i < c->device->n_ports && i < 8; i++) {
			bool down = fv_port_down(c->device->first + i);

			if (down != c->down[i]) {
				c->down[i] = down;
				event->event_type = down ?
						IBV_EVENT_PORT_ERR :
						IBV_EVENT_PORT_ACTIVE;
				event->element.port_num = i + 1;
				return 0;
			}
		}
		fv_sleep_ns(EVENT_POLL_NS);
	}
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
	return event == IBV_EVENT_PORT_ERR ? "port error" :
	       event == IBV_EVENT_PORT_ACTIVE ? "port active" : "unknown";
}

int ibv_fork_init(void)
{
	return 0;
}
