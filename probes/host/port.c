/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/host/port.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "probes/host/sysfile.h"

#define HCAS_MAX  64
#define PORTS_MAX 8
#define FILE_TEXT 256
#define GIDS_MAX  32	/* looked at: NCCL takes one of the first few */

#define LINK(n) { .name = #n, .folder = "counters" }
#define RDMA(n) { .name = #n, .folder = "hw_counters" }

/* Those of mlx5 and of the kernel's own drivers; what is not there is not
 * read.  New ones go to the end of their group. */
const struct port_counter_def port_counter_defs[] = {
	LINK(symbol_error),
	LINK(link_error_recovery),
	LINK(link_downed),
	LINK(local_link_integrity_errors),
	LINK(excessive_buffer_overrun_errors),
	LINK(port_rcv_errors),
	LINK(port_rcv_remote_physical_errors),
	LINK(port_rcv_switch_relay_errors),
	LINK(port_xmit_constraint_errors),
	LINK(port_rcv_constraint_errors),
	LINK(port_xmit_discards),
	LINK(VL15_dropped),
	RDMA(local_ack_timeout_err),
	RDMA(packet_seq_err),
	RDMA(out_of_sequence),
	RDMA(implied_nak_seq_err),
	RDMA(rnr_nak_retry_err),
	RDMA(out_of_buffer),
	RDMA(duplicate_request),
	RDMA(req_cqe_error),
	RDMA(resp_cqe_error),
	RDMA(req_remote_access_errors),
	RDMA(req_remote_invalid_request),
	RDMA(roce_adp_retrans),
	RDMA(rx_icrc_encapsulated),
	RDMA(np_cnp_sent),
	RDMA(rp_cnp_handled),
	RDMA(np_ecn_marked_roce_packets),
	RDMA(retry_exceeded_err),
	RDMA(retry_rnr_exceeded_err),
	RDMA(completer_retry_err),
	RDMA(out_of_seq_request),
	RDMA(rcvd_seq_err),
	RDMA(send_err),
	{ .name = "carrier_changes" },
	{ 0 }
};

_Static_assert(sizeof(port_counter_defs) / sizeof(port_counter_defs[0]) - 1 <=
		       PORT_COUNTERS,
	       "a counter has no place in struct port");

/* ---- texts of the kernel ------------------------------------------------ */

void port_parse_state(const char *text, char *buf, size_t size)
{
	const char *colon = strstr(text, ": ");

	str_copy(buf, size, colon != NULL ? colon + 2 : text);
}

/* The number that @text begins with; NAN when it begins with none. */
static double leading_number(const char *text)
{
	char *end;
	double v;

	if (*text < '0' || *text > '9') {
		return NAN;	/* strtod would take "inf", "0x" and blanks */
	}
	v = strtod(text, &end);
	return end != text && isfinite(v) && v > 0 && v < 1e6 ? v : NAN;
}

double port_parse_rate(const char *text, char *width, size_t size)
{
	const char *open = strchr(text, '(');

	str_copy(width, size, open != NULL ? open + 1 : "");
	width[strcspn(width, ")")] = '\0';
	return leading_number(text);
}

double port_parse_speed(const char *text)
{
	return strstr(text, "GT/s") != NULL ? leading_number(text) : NAN;
}

/** Data that @p carries one way, Gb/s, its line code taken off; NAN. */
static double pcie_Gb_s(const struct port_pcie *p)
{
	/* up to 5 GT/s a byte travels as 10 bits, above 128 bits as 130 */
	double code = p->speed_GT_s <= 5 ? 8.0 / 10 : 128.0 / 130;

	return p->width > 0 ? p->speed_GT_s * p->width * code : NAN;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
	char root[PATH_MAX / 4];
	char hca[PATH_MAX / 2];		/* folder of the HCA */
	char port[PATH_MAX / 2 + 32];	/* folder of its port */
};

static const char *read_text(const char *folder, const char *name,
			     char text[FILE_TEXT])
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.3000s/%.200s", folder, name);
	sysfile_read(path, text, FILE_TEXT);
	return text;
}

static void read_pcie(const char *device, const char *speed, const char *width,
		      struct port_pcie *p)
{
	char text[FILE_TEXT];
	double lanes;

	p->speed_GT_s = port_parse_speed(read_text(device, speed, text));
	lanes = leading_number(read_text(device, width, text));
	/* 63 is what the kernel says for a link that it cannot see */
	p->width = lanes >= 1 && lanes <= 32 ? (int)lanes : 0;
}

/* No link is faster or wider than the slot that it ends in. */
static void limit_to_slot(const char *device, struct port_pcie *most)
{
	char bridge[PATH_MAX];
	struct port_pcie slot;

	snprintf(bridge, sizeof(bridge), "%.3000s/..", device);
	read_pcie(bridge, "max_link_speed", "max_link_width", &slot);
	most->speed_GT_s = fmin(most->speed_GT_s, slot.speed_GT_s);
	if (slot.width > 0 && slot.width < most->width) {
		most->width = slot.width;
	}
}

static void read_device(const struct reader *f, struct port *p)
{
	char device[PATH_MAX], text[FILE_TEXT];
	double numa;

	read_text(f->hca, "fw_ver", text);
	STR_COPY(p->firmware, text);
	read_text(f->hca, "board_id", text);
	STR_COPY(p->board, text);
	snprintf(device, sizeof(device), "%.3000s/device", f->hca);
	p->software = access(device, F_OK) != 0;
	read_pcie(device, "current_link_speed", "current_link_width", &p->link);
	read_pcie(device, "max_link_speed", "max_link_width", &p->most);
	limit_to_slot(device, &p->most);
	read_text(device, "numa_node", text);
	numa = strcmp(text, "0") == 0 ? 0 : leading_number(text);
	p->numa = isnan(numa) ? -1 : (int)numa;
}

static void read_counters(const struct reader *f, struct port *p)
{
	char folder[PATH_MAX], text[FILE_TEXT], *end;

	for (size_t i = 0; port_counter_defs[i].name != NULL; i++) {
		const struct port_counter_def *d = &port_counter_defs[i];

		if (d->folder != NULL) {
			snprintf(folder, sizeof(folder), "%.3000s/%s", f->port,
				 d->folder);
		} else if (p->netdev[0] != '\0') {
			snprintf(folder, sizeof(folder),
				 "%.1000s/sys/class/net/%s", f->root,
				 p->netdev);
		} else {
			continue;
		}
		read_text(folder, d->name, text);
		p->counters[i] = strtoull(text, &end, 10);
		p->has_counter[i] = end != text && *end == '\0';
	}
}

/* The table of addresses, as NCCL_IB_GID_INDEX counts it.  An index without one
 * cannot be read. */
static void read_gids(const struct reader *f, struct port *p)
{
	char name[64], text[FILE_TEXT];
	struct str out = STR_INIT;

	for (int i = 0; i < GIDS_MAX; i++) {
		snprintf(name, sizeof(name), "gid_attrs/types/%d", i);
		read_text(f->port, name, text);
		if (text[0] != '\0') {
			str_addf(&out, "%s%d:v%d", out.len > 0 ? " " : "", i,
				 strstr(text, "RoCE v2") != NULL ? 2 : 1);
		}
	}
	STR_COPY(p->gids, str_text(&out));
	str_release(&out);
}

static void read_port(const struct reader *f, struct port *p)
{
	char text[FILE_TEXT];

	port_parse_state(read_text(f->port, "state", text), p->state,
			 sizeof(p->state));
	port_parse_state(read_text(f->port, "phys_state", text), p->phys_state,
			 sizeof(p->phys_state));
	read_text(f->port, "link_layer", text);
	STR_COPY(p->link_layer, text);
	p->rate_Gb_s = port_parse_rate(read_text(f->port, "rate", text),
				       p->width, sizeof(p->width));
	read_text(f->port, "gid_attrs/ndevs/0", text);
	STR_COPY(p->netdev, strchr(text, '/') == NULL ? text : "");
	if (strcmp(p->link_layer, "Ethernet") == 0) {
		read_gids(f, p);
	}
	read_device(f, p);
	read_counters(f, p);
}

static size_t list_hca(struct reader *f, const char *hca, struct port *ports,
		       size_t max)
{
	char numbers[PORTS_MAX][64], folder[PATH_MAX];
	size_t n;

	snprintf(folder, sizeof(folder), "%.3000s/ports", f->hca);
	n = sysfile_list(folder, numbers, PORTS_MAX);
	n = n < max ? n : max;
	for (size_t i = 0; i < n; i++) {
		struct port *p = &ports[i];

		memset(p, 0, sizeof(*p));
		STR_COPY(p->hca, hca);
		p->number = (int)strtol(numbers[i], NULL, 10);
		if (n == 1) {
			STR_COPY(p->name, hca);
		} else {
			snprintf(p->name, sizeof(p->name), "%.63s:%d", hca,
				 p->number);
		}
		snprintf(f->port, sizeof(f->port), "%.2000s/ports/%.16s",
			 f->hca, numbers[i]);
		read_port(f, p);
	}
	return n;
}

size_t port_list(const char *root, struct port *ports, size_t max)
{
	char hcas[HCAS_MAX][64], folder[PATH_MAX];
	struct reader f;
	size_t n_hcas, n = 0;

	STR_COPY(f.root, root);
	snprintf(folder, sizeof(folder), "%.1000s/sys/class/infiniband", root);
	n_hcas = sysfile_list(folder, hcas, HCAS_MAX);
	for (size_t i = 0; i < n_hcas; i++) {
		snprintf(f.hca, sizeof(f.hca), "%.1900s/%s", folder, hcas[i]);
		n += list_hca(&f, hcas[i], ports + n, max - n);
	}
	return n;
}

double port_line_GB_s(const struct port *p)
{
	/* fmin() takes the other one when one is not known */
	return p->software ? NAN :
			     fmin(p->rate_Gb_s, pcie_Gb_s(&p->link)) / 8;
}

bool port_matches(const char *filter, const char *name)
{
	bool except = *filter == '^', exact, found = false;
	const char *at = filter + except;

	if (*filter == '\0') {
		return true;
	}
	exact = *at == '=';
	at += exact;
	while (*at != '\0' && !found) {
		size_t n = strcspn(at, ",");

		found = n > 0 && strncmp(at, name, n) == 0 &&
			(!exact || name[n] == '\0');
		at += n;
		at += *at == ',';
	}
	return found != except;
}
