/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PROBES_IB_DEVICE_H
#define PROBES_IB_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "lib/base/err.h"
#include "lib/spec/spec.h"
#include "probes/dl/verbs.h"
#include "probes/host/port.h"
#include "probes/ib/gid.h"
#include "probes/ib/words.h"

/** A number that the user decides, or else what NCCL's jobs have. */
struct verbs_setting {
	int value;
	bool given;		/* not the default */
	const char *source;	/* option, NCCL_IB_TC, a file, default */
};

/** One HCA port, open, and how its queue pairs are to be set up. */
struct verbs_device {
	const struct verbs *v;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	char name[PORT_NAME];	/* mlx5_0:1 as rows have it */
	char hca[64];		/* mlx5_0 */
	uint8_t port;
	bool ethernet;		/* RoCE; else InfiniBand */
	uint16_t lid;
	int mtu_B;
	int read_depth, read_ask;	/* reads answered, asked at a time */
	int max_wr, max_cqe;
	struct gid_entry gids[GID_OFFERS];	/* the best first */
	size_t n_gids;
	struct verbs_setting gid_index, traffic_class, service_level,
		pkey_index, relaxed, qps;
	int qp_timeout, qp_retries;
	bool limited;		/* locked memory has a limit below infinity */
	json_t *conf;		/* nccl_conf_read() */
};

/**
 * Open port @name ("mlx5_0" or "mlx5_0:2"), choose its address and check that
 * it can work.  Returns 0, or -1 with @e and *@code; close it then too.
 */
int verbs_device_open(struct verbs_device *d, const char *name,
		      const struct spec *spec, const char **code,
		      struct err *e);
void verbs_device_close(struct verbs_device *d);

/** The option, else what NCCL's jobs have by @name, else 0. */
struct verbs_setting verbs_setting_of(const struct verbs_device *d,
				      int64_t option, const char *name);
/** Add @s to @facts as @fact of the port, from where it is. */
void verbs_setting_fact(const struct verbs_device *d, json_t *facts,
			const char *fact, const struct verbs_setting *s);

/* gid_table.c */

/** Fill in d->gids, of which a pair takes one, and d->gid_index.  0, or -1 with
 *  @e and *@code: there is none that the settings allow. */
int verbs_choose_gid(struct verbs_device *d, const struct spec *spec,
		     const char **code, struct err *e);
/** Add the chosen GID, its index and, where known, its RoCE version to
 *  @facts. */
void verbs_gid_facts(const struct verbs_device *d, json_t *facts);

/** What was chosen, as facts of scope d->name. */
void verbs_device_facts(const struct verbs_device *d, json_t *facts);

/** Is the port still ACTIVE?  Its state in words. */
bool verbs_port_active(const struct verbs_device *d, const char **state);

/** Fill in @e and *@code for a row: @call failed with @err.  Returns -1. */
int verbs_call_fault(const struct verbs_device *d, enum verbs_call call,
		     int err, const char **code, struct err *e);

#endif
