/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a run that goes on: the first ones, but for a few. */
#include "cli/run/resume.h"

#include <string.h>

#include "cli/front/ahead.h"
#include "lib/base/str.h"

/** "--seed=2", "--bidi" */
static void name_option(const struct spec *s, const struct spec_option *o,
			char *buf, size_t size)
{
	char value[PATH_MAX];

	spec_text(s, o, value, sizeof(value));
	if (o->type == SPEC_FLAG || !value[0]) {
		snprintf(buf, size, "--%s", o->name);
	} else {
		snprintf(buf, size, "--%s=%.100s", o->name, value);
	}
}

int resume_refuse(const struct session *s, const struct spec *stored,
		  const struct spec_option *o, const char *word, struct err *e)
{
	char typed[160], then[160];

	name_option(&s->spec, o, typed, sizeof(typed));
	name_option(stored, o, then, sizeof(then));
	if (spec_is_default(stored, o)) {
		err_set(e, 0, "%s does not go with --%s: the run was "
			"started without --%s", typed, word, o->name);
	} else {
		err_set(e, 0, "%s does not go with --%s: the run has %s",
			typed, word, then);
	}
	return err_hint(e, "leave it out to %s the run, or leave out --%s for "
			"a new one", strcmp(word, "resume") == 0 ? "continue" :
			word, word);
}

/** --faults again: the same drill, whatever its file is called now. */
static int check_drill(const struct session *s, const char *drill,
		       struct err *e)
{
	struct str text = STR_INIT;
	int rc = ahead_read_drill(s->spec.faults, &text, e);

	if (rc == 0 && strcmp(str_text(&text), drill) != 0) {
		err_set(e, 0, "--faults=%.100s does not go with --resume: the "
			"run has %s drill", s->spec.faults,
			drill[0] ? "another" : "no");
		rc = err_hint(e, "leave it out to continue the run");
	}
	str_release(&text);
	return rc;
}

static int check_typed(const struct session *s, const struct spec *stored,
		       const struct spec_option *o, const char *drill,
		       struct err *e)
{
	if (strcmp(o->name, "faults") == 0) {
		return check_drill(s, drill, e);
	}
	return spec_same(&s->spec, stored, o) ? 0 : 
			resume_refuse(s, stored, o, "resume", e);
}

int resume_options(struct session *s, const struct spec *stored,
		   const char *drill, struct err *e)
{
	struct spec now = *stored;

	for (const struct spec_option *o = spec_options; o->name; o++) {
		const bool typed = s->typed[o - spec_options];

		if (o->resumed == SPEC_COMMANDS ||
		    (o->resumed == SPEC_LIMITS && typed)) {
			spec_take(&now, &s->spec, o);
		} else if (typed &&
			   check_typed(s, stored, o, drill, e) < 0) {
			return -1;
		}
	}
	s->spec = now;
	return spec_check(&s->spec, e);
}

void resume_kept_options(const struct spec *stored, struct spec *now)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (o->resumed == SPEC_COMMANDS) {
			spec_take(now, stored, o);
		}
	}
}
