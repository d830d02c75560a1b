/* SPDX-License-Identifier: BSD-3-Clause */
/* A setting of RDMA: the option, what NCCL was told, or the default. */
#include "probes/ib/device.h"

#if HAVE_VERBS

#include <limits.h>

#include "probes/host/facts.h"
#include "probes/host/nccl_conf.h"

struct verbs_setting verbs_setting_of(const struct verbs_device *d,
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
