/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/nccl/network.h"

#include <string.h>

#include "lib/base/str.h"
#include "probes/nccl/log.h"

/* What keeps NCCL from RDMA, the most telling first: one part that fails lets
 * others say that there is nothing. */
static const char *const reasons[] = {
	"NCCL_IB_DISABLE set by environment to 1",
	"NCCL_NET set by environment to ",
	"NCCL_NET set to ",
	"Failed to open libibverbs",
	"NET/IB : Unable to open device",
	"NET/IB : Unable to query",
	"Call to ibv_",
	"NET/OFI No eligible providers",
	"NET/OFI Failed",
	"libfabric",
	"NET/IB : No IP interface",
	"NET/IB : No device found",
	"Failed to initialize NET plugin",
	"NET/Plugin: Could not find",
	"NET/Plugin : No plugin found",
	NULL
};

/* How telling @line is, 0 the most; all there are when it says nothing. */
static int rank_of(const char *line)
{
	int i = 0;

	while (reasons[i] != NULL && strstr(line, reasons[i]) == NULL) {
		i++;
	}
	return i;
}

/* Behind "host:1:2 [0] NCCL INFO ", NULL where that does not stand. */
static const char *words_of(const char *line)
{
	const char *at = strstr(line, " NCCL ");

	at = at != NULL ? at + strlen(" NCCL ") : NULL;
	return at != NULL && (str_starts(at, "INFO ") ||
			      str_starts(at, "WARN ")) ?
		       at + strlen("INFO ") :
		       NULL;
}

bool nccl_network_find(const char *text, size_t len, struct nccl_network *n)
{
	static const char using[] = "Using network ";
	struct nccl_lines in = { .at = text, .end = text + len };
	int best = (int)(sizeof(reasons) / sizeof(reasons[0])) - 1;

	memset(n, 0, sizeof(*n));
	while (nccl_lines_next(&in)) {
		const char *words = words_of(in.line);

		if (words == NULL) {
			continue;
		}
		if (str_starts(words, using)) {
			STR_COPY(n->name, words + strlen(using));
		} else if (rank_of(words) < best) {
			best = rank_of(words);
			STR_COPY(n->why, words);
		}
	}
	if (strcmp(n->name, "Socket") != 0) {
		n->why[0] = '\0';
	}
	return n->name[0] != '\0';
}
