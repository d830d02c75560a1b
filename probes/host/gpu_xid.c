/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Xids: what the GPU driver reports to the kernel's log when a GPU or what it
 * runs goes wrong, "NVRM: Xid (PCI:0000:1b:00): 79, ...".
 */
#include "probes/host/gpu_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "probes/host/facts.h"
#include "probes/host/kernel_log.h"

bool gpu_xid_parse(const char *line, char bus[32], int *xid)
{
	const char *at = strstr(line, "NVRM: Xid (PCI:");
	char domain_bus[24], after;

	if (at == NULL ||
	    sscanf(at, "NVRM: Xid (PCI:%23[0-9a-fA-F:]): %5d%c", domain_bus,
		   xid, &after) != 3 ||
	    after != ',') {
		return false;
	}
	gpu_list_plain_bus(domain_bus, bus);
	return true;
}

struct xids {
	unsigned count;
	int last;
};

static void count_xid(const struct gpu_list *l, const char *bus, int xid,
		      struct xids *xids)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_starts(l->gpus[i].bus, bus)) {
			xids[i].count++;
			xids[i].last = xid;
		}
	}
}

struct reader {
	const struct gpu_list *gpus;
	struct xids *xids;
};

static void take_line(void *user, int64_t us, const char *text)
{
	struct reader *r = user;
	char bus[32];
	int xid;

	(void)us;
	if (gpu_xid_parse(text, bus, &xid)) {
		count_xid(r->gpus, bus, xid, r->xids);
	}
}

void gpu_xid_facts(const struct gpu_list *l, json_t *facts)
{
	struct xids xids[GPU_LIST_MAX] = { 0 };
	struct reader r = { .gpus = l, .xids = xids };
	char scope[16];

	if (l->n == 0) {
		return;
	}
	if (kernel_log_read("", take_line, &r) < 0) {
		facts_add(facts, "node", "kernel_log", strerror(errno), "",
			  KERNEL_LOG);
		return;
	}
	for (size_t i = 0; i < l->n; i++) {
		snprintf(scope, sizeof(scope), "gpu%d", (int)i);
		facts_addf(facts, scope, "xids", "", KERNEL_LOG, "%u",
			   xids[i].count);
		if (xids[i].count > 0) {
			facts_addf(facts, scope, "xid_last", "",
				   KERNEL_LOG, "%d", xids[i].last);
		}
	}
}
