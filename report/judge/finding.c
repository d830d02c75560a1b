/* SPDX-License-Identifier: BSD-3-Clause */
/* Make and change findings. */
#include "report/judge/verdict.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"

/** Alternatives that one sentence can hold. */
#define SAYS_MAX_OR 2

/** A sentence with more names than that is not read. */
#define NAMES_MAX 8

void finding_release(struct finding *f)
{
	free(f->or_parts);
	free(f->evidence);
	free(f->members);
	free(f->probes);
}

struct finding *finding_add(struct verdict *v, struct part p, const char *code)
{
	struct finding new = {
		.part = p, .lost = NAN, .score = NAN, .src = -1, .dst = -1,
	}, *f;

	STR_COPY(new.code, code);
	f = grow_add(&v->findings, &v->n, &new, sizeof(new));
	if (!f) {
		v->failed = true;
		f = &v->lost;
		finding_release(f);
		*f = new;
	}
	return f;
}

void finding_remove(struct verdict *v, size_t i)
{
	finding_release(&v->findings[i]);
	v->n--;
	memmove(&v->findings[i], &v->findings[i + 1],
		(v->n - i) * sizeof(*v->findings));
}

__attribute__((format(printf, 3, 0)))
static void set_text(char *buf, size_t size, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	str_copy(buf, size, text);
}

void finding_say(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(f->says, sizeof(f->says), fmt, ap);
	va_end(ap);
}

void finding_more(struct finding *f, const char *fmt, ...)
{
	size_t n = strlen(f->says);
	va_list ap;

	va_start(ap, fmt);
	set_text(f->says + n, sizeof(f->says) - n, fmt, ap);
	va_end(ap);
}

void finding_more_or(const struct run *run, struct finding *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_or; i++) {
		const struct part *p = &f->or_parts[i];

		/* the same place in one direction is not another part */
		if (!part_same_place(p, &f->part) && n++ < SAYS_MAX_OR) {
			finding_more(f, n > 1 ? " or %s" : "; could also be %s",
				     PART_NAME(run, p));
		}
	}
	if (n > SAYS_MAX_OR) {
		finding_more(f, " or one of %zu more", n - SAYS_MAX_OR);
	}
}

void finding_add_evidence(struct finding *f, const char *fmt, ...)
{
	char line[sizeof(*f->evidence)];
	va_list ap;

	va_start(ap, fmt);
	set_text(line, sizeof(line), fmt, ap);
	va_end(ap);
	f->failed |= !grow_add(&f->evidence, &f->n_evidence, line,
			       sizeof(line));
}

void finding_add_or(struct finding *f, const struct part *p)
{
	f->failed |= !grow_add(&f->or_parts, &f->n_or, p, sizeof(*p));
}

void finding_set_act(struct finding *f, const char *text)
{
	size_t len = strlen(text);

	while (len >= sizeof(f->act)) {	/* never half a command */
		len--;
		while (len > 0 && text[len] != '\n') {
			len--;
		}
	}
	memcpy(f->act, text, len);
	f->act[len] = '\0';
	str_harmless(f->act, STR_LINES);
}

void finding_set_example(const struct run *run, struct finding *f, size_t at)
{
	f->src = run_src(run, at);
	f->dst = run_dst(run, at);
}

void finding_list_name(struct str *out, int *n, const char *name)
{
	if (*n < NAMES_MAX) {
		str_addf(out, "%s%s", *n > 0 ? ", " : "", name);
	} else if (*n == NAMES_MAX) {
		str_add(out, ", ...");
	}
	++*n;
}

void finding_add_member(struct finding *f, int node)
{
	for (size_t i = f->n_members; i > 0; i--) {
		if (f->members[i - 1] == node) {
			return;
		}
	}
	f->failed |= !grow_add(&f->members, &f->n_members, &node,
			       sizeof(node));
}

void finding_add_probe(struct finding *f, const char *probe)
{
	char name[sizeof(*f->probes)];

	STR_COPY(name, probe);
	for (size_t i = 0; i < f->n_probes; i++) {
		if (strcmp(f->probes[i], name) == 0) {
			return;
		}
	}
	f->failed |= !grow_add(&f->probes, &f->n_probes, name, sizeof(name));
}

struct finding *verdict_find(const struct verdict *v, const struct part *p,
			     const char *code)
{
	verdict_foreach(v, f) {
		if ((!code || strcmp(f->code, code) == 0) &&
		    (!p || part_same_place(&f->part, p))) {
			return f;
		}
	}
	return NULL;
}

size_t verdict_measured(const struct verdict *v)
{
	size_t n = 0;

	for (unsigned c = 0; c < CELL_CLASSES; c++) {
		n += run_measured(c) ? v->cells[c] : 0;
	}
	return n;
}
