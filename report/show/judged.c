/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/judged.h"
#include "report/draw/draw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"

struct judged {
	const struct judged_kind *kind;
	void *state;
};

/** The first stands for every probe that has none of its own. */
static const struct judged_kind *const kinds[] = {
	&judged_pairs, &judged_memlock, &judged_group,
	&judged_ping, &judged_ladder, &judged_info, NULL
};

static bool takes(const struct judged_kind *k, const char *probe)
{
	return k->takes ? k->takes(probe) : strcmp(k->probe, probe) == 0;
}

static const struct judged_kind *kind_of(const char *dir)
{
	json_t *run = rundir_read_json(dir, RUN_JSON, NULL);
	char probe[32] = "";
	int i = 0;

	json_opt_text(run, "probe", probe, sizeof(probe), NULL);
	json_decref(run);
	while (kinds[i] && !takes(kinds[i], probe)) {
		i++;
	}
	return kinds[i] ? kinds[i] : kinds[0];
}

int judged_make(const char *dir, struct judged **j, struct err *e)
{
	return judged_make_against(dir, NULL, j, e);
}

int judged_make_against(const char *dir, const char *reference,
			struct judged **j, struct err *e)
{
	struct judged *made = calloc(1, sizeof(*made));
	int rc;

	if (!made) {
		return err_set(e, ENOMEM, "cannot judge the run");
	}
	made->kind = kind_of(dir);
	if (!reference) {
		rc = made->kind->make(dir, &made->state, e);
	} else if (made->kind->make_against) {
		rc = made->kind->make_against(dir, reference, &made->state, e);
	} else {
		rc = err_set(e, 0, "a run of pairs or limits has no "
			     "reference");
	}
	if (rc < 0) {
		free(made);
		return -1;
	}
	*j = made;
	return rc;
}

void judged_free(struct judged *j)
{
	if (j) {
		j->kind->free(j->state);
		free(j);
	}
}

int judged_exit(const struct judged *j)
{
	return j->kind->code(j->state);
}

size_t judged_rows(const struct judged *j)
{
	return j->kind->rows(j->state);
}

int judged_words(const struct judged *j, int width, bool color,
		 enum term_style style, struct str *out)
{
	if (width == 0 && !j->kind->tables) {
		width = JUDGED_FILE_WIDTH;
	}
	return j->kind->words(j->state, width, color, style, out);
}

void judged_details(const struct judged *j, int width, struct str *out)
{
	if (j->kind->details) {
		j->kind->details(j->state, width, out);
	}
}

const char *judged_csv(const struct judged *j)
{
	return j->kind->csv ? j->kind->csv : RUN_RESULTS;
}

int judged_json(const struct judged *j, const char *dir, FILE *out,
		struct err *e)
{
	return j->kind->json(j->state, dir, out, e);
}
