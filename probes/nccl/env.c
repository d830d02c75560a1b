/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/nccl/env.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/input.h"
#include "probes/host/nccl_conf.h"

/* ---- file ---------------------------------------------------------------- */

/* Every NCCL has it, and whatever takes its place. */
#define NAME "ncclCommInitRank"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

int nccl_file_check_stream(FILE *f, const char *path, struct err *e)
{
	char buf[65536];
	size_t len = fread(buf, 1, sizeof(buf), f), n = len, keep;
	Elf64_Ehdr head = { 0 };

	memcpy(&head, buf, len < sizeof(head) ? len : sizeof(head));
	if (!ferror(f) &&
	    (len < sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	     head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_type != ET_DYN ||
	     head.e_machine != MACHINE)) {
		return err_set(e, 0, "'%s' is not a shared library for this "
				     "architecture", path);
	}
	while (n > 0 && !memmem(buf, len, NAME, strlen(NAME))) {
		/* a name may lie across the end of what was read */
		keep = len < strlen(NAME) ? len : strlen(NAME) - 1;
		memmove(buf, buf + len - keep, keep);
		n = fread(buf + keep, 1, sizeof(buf) - keep, f);
		len = keep + n;
	}
	if (ferror(f)) {
		return err_set(e, errno, "cannot read '%s'", path);
	}
	return n > 0 ? 0 :
		       err_set(e, 0,
			       "'%s' has no " NAME ": it is not NCCL, "
			       "nor a replacement for it",
			       path);
}

int nccl_file_check(const char *path, struct err *e)
{
	FILE *f = input_open("file", path, 0, e);
	int rc;

	if (!f) {
		return -1;
	}
	rc = nccl_file_check_stream(f, path, e);
	fclose(f);
	return rc;
}

/* ---- shm ----------------------------------------------------------------- */

int nccl_shm_unlink(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t size = 0;
	int unlinked = 0;

	while (f != NULL && getline(&line, &size, f) > 0) {
		char *path = strstr(line, "/dev/shm/nccl-");

		if (path != NULL) {
			path[strcspn(path, " \n")] = '\0';
			unlinked += unlink(path) == 0;
		}
	}
	free(line);
	if (f != NULL) {
		fclose(f);
	}
	return unlinked;
}

/* ---- env ----------------------------------------------------------------- */

const struct nccl_setting nccl_settings[] = {
	{ .name = "NCCL_PXN_DISABLE", .value = "1", .where = NCCL_FOR_OWN_NICS,
	  .why = "a test measures the NICs of its own two GPUs" },
	{ .name = "NCCL_IB_TIMEOUT", .value = "15", .where = NCCL_FOR_HASTE,
	  .why = "gives up a dead path after about 1 s, not 30 s" },
	{ .name = "NCCL_IB_MQP_RETRY_CNT", .value = "1",
	  .where = NCCL_FOR_HASTE,
	  .why = "RoCE: avoids repeated address lookups of 20 s" },
	{ .name = "NCCL_SOCKET_RETRY_CNT", .value = "6",
	  .where = NCCL_FOR_HASTE,
	  .why = "gives up refused connections after about 2 s, not 60 s" },
	{ .name = NCCL_FAILOVER, .value = "1", .where = NCCL_FOR_FAILOVER,
	  .why = "repeats failed tests as jobs with port failover run" },
	{ .name = NCCL_FAILOVER, .value = "0", .where = NCCL_FOR_EACH_PORT,
	  .always = true,
	  .why = "a port that fails is not hidden by another one" },
	{ .name = "NCCL_P2P_DISABLE", .value = "1", .where = NCCL_FOR_NET_ONLY,
	  .why = "use the network within a node too" },
	{ .name = "NCCL_SHM_DISABLE", .value = "1", .where = NCCL_FOR_NET_ONLY,
	  .why = "use the network within a node too" },
	{ .name = "NCCL_RAS_ENABLE", .value = "0",
	  .why = "avoids port 28028, which other jobs use too" },
	{ .name = "NCCL_DEBUG", .value = "INFO", .where = NCCL_FOR_OWN_LOG,
	  .why = "shows the path of a pair, and NCCL's messages of a failed "
		 "one" },
	{ .name = "NCCL_DEBUG_SUBSYS", .value = "INIT,ENV,NET,TUNING",
	  .where = NCCL_FOR_CHOICES,
	  .why = "shows what NCCL uses, which may differ from what was "
		 "requested" },
	{ .name = "NCCL_DEBUG_SUBSYS", .value = "INIT,ENV,NET",
	  .where = NCCL_FOR_OWN_LOG, .why = "limits NCCL's log to what is "
					    "needed" },
	{ .name = "NCCL_DEBUG", .value = "WARN",
	  .why = "WARN is enough to explain a failed pair" },
	{ .name = "NCCL_COMM_ID", .value = NULL,
	  .why = "it would give all pairs the same address to meet at" },
	{ .name = "NCCL_NET", .value = "Socket", .where = NCCL_FOR_PRETEND,
	  .why = "pretend nodes share one host, whatever NICs it has" },
	{ .name = "NCCL_SOCKET_IFNAME", .value = "lo",
	  .where = NCCL_FOR_PRETEND,
	  .why = "the only interface that always exists" },
	{ .name = "NCCL_MULTI_RANK_GPU_ENABLE", .value = "1",
	  .where = NCCL_FOR_PRETEND,
	  .why = "ranks may outnumber GPUs (NCCL 2.30 and later)" },
	{ 0 }
};

static void record(json_t *recorded, const char *name, const char *value)
{
	if (recorded != NULL) {
		json_object_set_new(recorded, name,
				    value != NULL ? json_string(value) :
						    json_null());
	}
}

static void set_unless_set(const char *name, const char *value,
			   json_t *recorded)
{
	if (getenv(name) == NULL && setenv(name, value, 0) == 0) {
		record(recorded, name, value);
	}
}

bool nccl_env_apply(const struct nccl_wishes *w, json_t *recorded)
{
	static const char *const of_log[] = { "NCCL_DEBUG", "NCCL_DEBUG_FILE",
					      "NCCL_DEBUG_SUBSYS" };
	const bool applies[] = {
		[NCCL_FOR_ALL] = true,
		[NCCL_FOR_PRETEND] = w->pretend_node != NULL,
		[NCCL_FOR_HASTE] = !w->production_settings,
		[NCCL_FOR_EACH_PORT] = !w->production_settings && !w->failover,
		[NCCL_FOR_FAILOVER] = w->failover,
		[NCCL_FOR_OWN_NICS] = !w->pxn,
		[NCCL_FOR_NET_ONLY] = w->force_net,
		[NCCL_FOR_OWN_LOG] = w->debug_file != NULL,
		[NCCL_FOR_CHOICES] = w->debug_file != NULL && w->says_choices,
	};
	const struct nccl_setting *s;
	const char *ifname;
	char value[104];

	/* what files say about the logs of jobs is not for a log of our own */
	nccl_conf_apply(w->conf);
	for (size_t i = 0; i < sizeof(of_log) / sizeof(of_log[0]); i++) {
		if (w->debug_file != NULL &&
		    nccl_conf_of_file(w->conf, of_log[i])) {
			unsetenv(of_log[i]);
		}
	}
	for (s = nccl_settings; s->name != NULL; s++) {
		if (!applies[s->where]) {
			continue;
		}
		if (s->always && setenv(s->name, s->value, 1) == 0) {
			record(recorded, s->name, s->value);
		} else if (s->value != NULL) {
			set_unless_set(s->name, s->value, recorded);
		} else if (getenv(s->name) != NULL) {
			unsetenv(s->name);
			record(recorded, s->name, NULL);
		}
	}
	if (w->pretend_node != NULL) {
		/* another one on each node: not a setting of the run */
		set_unless_set("NCCL_HOSTID", w->pretend_node, NULL);
	}
	if (w->debug_file != NULL) {
		/* a path inside this process: of no use later */
		set_unless_set("NCCL_DEBUG_FILE", w->debug_file, NULL);
	}
	if (w->ports != NULL && w->ports[0] != '\0') {
		/* exactly these; others on each rank, as above */
		snprintf(value, sizeof(value), "=%s", w->ports);
		set_unless_set("NCCL_IB_HCA", value, NULL);
	}
	/* NCCL takes the first interface that it finds, which may be that of
	 * a network of which other nodes are no part */
	ifname = w->ifname;
	if (ifname == NULL || ifname[0] == '\0' ||
	    getenv("NCCL_SOCKET_IFNAME") != NULL) {
		return false;
	}
	snprintf(value, sizeof(value), "=%s", ifname);	/* this one alone */
	return setenv("NCCL_SOCKET_IFNAME", value, 0) == 0;
}
