/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/self/self.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/host/gpu_list.h"

/** More are a misreading. */
#define WORDS_MAX 256

struct list {
	struct self_name *gpus;
	size_t n;
	int wanted;		/* named, here or not */
	bool odd;		/* a word that is no whole GPU: of MIG, or
				 * nonsense */
};

static void take_index(struct list *l, int64_t index)
{
	size_t i = 0;

	while (i < l->n && l->gpus[i].index != index) {
		i++;
	}
	l->wanted++;
	if (i < l->n) {
		l->gpus[i].taken = true;
	}
}

static void take_uuid(struct list *l, const char *word)
{
	l->wanted++;
	for (size_t i = 0; i < l->n; i++) {
		if (l->gpus[i].uuid[0] && str_starts(l->gpus[i].uuid, word)) {
			l->gpus[i].taken = true;
			return;
		}
	}
}

/** "3", "0-3" or "GPU-4fd2". */
static void take_word(struct list *l, char *word)
{
	char *dash = strchr(word, '-');
	int64_t first, last;

	if (str_starts(word, "GPU-") && word[4]) {
		take_uuid(l, word);
		return;
	}
	if (dash) {
		*dash++ = '\0';
	}
	if (units_parse_int(word, 0, GPU_LIST_MAX, &first, NULL) < 0 ||
	    units_parse_int(dash ? dash : word, 0, GPU_LIST_MAX, &last,
			    NULL) < 0 || last < first) {
		l->odd = true;
		return;
	}
	for (; first <= last; first++) {
		take_index(l, first);
	}
}

static void take_list(struct list *l, const char *text)
{
	for (int words = 0; *text && words < WORDS_MAX; words++) {
		size_t n;
		char word[64];

		text += strspn(text, ", \t");
		n = strcspn(text, ", \t");
		if (n > 0) {
			snprintf(word, sizeof(word), "%.*s", (int)n, text);
			take_word(l, word);
		}
		text += n;
	}
}

void self_share_find(const char *visible, const char *job_gpus, bool in_job,
		     struct self_name *gpus, size_t n,
		     struct self_share *share)
{
	struct list l = { .gpus = gpus, .n = n };
	const char *text = visible ? visible : job_gpus;

	*share = (struct self_share){
		.all = !text && !in_job,
		.source = visible ? CUDA_VISIBLE :
			  job_gpus ? "SLURM_JOB_GPUS" :
			  in_job ? "SLURM_JOB_ID" : NULL,
	};
	for (size_t i = 0; i < n; i++) {
		gpus[i].taken = share->all;
	}
	if (!text) {
		return;
	}
	take_list(&l, text);
	share->wanted = l.odd ? 0 : l.wanted;
}
