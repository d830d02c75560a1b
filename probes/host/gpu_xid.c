/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Xids: what the GPU driver reports to the kernel's log when a GPU or what it
 * runs goes wrong, "NVRM: Xid (PCI:0000:1b:00): 79, ...".
 */
#include "probes/host/gpu_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "probes/host/facts.h"

#define LOG	    "/dev/kmsg"
#define RECORD_MAX  8192	/* the kernel's own limit */
#define RECORDS_MAX 200000

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

/* All that the log has now; 0, or -1 with errno. */
static int read_log(const struct gpu_list *l, struct xids *xids)
{
	int fd = open(LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC), xid;
	char record[RECORD_MAX], bus[32];

	if (fd < 0) {
		return -1;
	}
	for (int n = 0; n < RECORDS_MAX; n++) {
		ssize_t len = read(fd, record, sizeof(record) - 1);

		if (len < 0 && errno == EPIPE) {
			continue;	/* overwritten before it was read */
		}
		if (len <= 0) {
			break;
		}
		record[len] = '\0';
		if (gpu_xid_parse(record, bus, &xid)) {
			count_xid(l, bus, xid, xids);
		}
	}
	close(fd);
	return 0;
}

void gpu_xid_facts(const struct gpu_list *l, json_t *facts)
{
	struct xids xids[GPU_LIST_MAX] = { 0 };
	char scope[16];

	if (l->n == 0) {
		return;
	}
	if (read_log(l, xids) < 0) {
		facts_add(facts, "node", "kernel_log", strerror(errno), "",
			  LOG);
		return;
	}
	for (size_t i = 0; i < l->n; i++) {
		snprintf(scope, sizeof(scope), "gpu%d", (int)i);
		facts_addf(facts, scope, "xids", "", LOG, "%u", xids[i].count);
		if (xids[i].count > 0) {
			facts_addf(facts, scope, "xid_last", "", LOG, "%d",
				   xids[i].last);
		}
	}
}
