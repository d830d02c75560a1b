/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/html_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "report/judge/caption.h"
#include "report/judge/next.h"
#include "report/model/part.h"
#include "report/show/show.h"
#include "report/base/html_text.h"
#include "report/model/run_read.h"

/** What is more is in verdict.json. */
#define MAX_FINDINGS	  200
#define MAX_PICTURE	  (16 << 20)
/** Columns of a table that stands there as it is. */
#define PAGE_WIDTH	  120
#define HTML_MAX_FACTS	  5000
#define HTML_MAX_EVENTS	  1000

/** data/html/ as text, part of the program. */
__asm__(".section .rodata\n"
	"page_css:\n"
	".incbin \"data/html/page.css\"\n"
	".byte 0\n"
	"page_js:\n"
	".incbin \"data/html/page.js\"\n"
	".byte 0\n"
	".previous\n");
extern const char page_css[], page_js[];

/** That nothing but this script runs, and nothing is fetched: whatever text
 *  came into the page. */
static void add_policy(struct str *out)
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)page_js,
			   strlen(page_js));
	str_add(out, "<meta http-equiv=\"Content-Security-Policy\" content=\""
		"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
		"script-src 'sha256-");
	html_base64(out, hash, sizeof(hash));
	str_add(out, "'; base-uri 'none'; form-action 'none'\">");
}

/** From the top to the heading, with the word of the verdict as a badge. */
static void add_top(const struct run *run, const char *status, struct str *out)
{
	str_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head>"
		"<meta charset=\"utf-8\">");
	add_policy(out);
	str_addf(out, "<meta name=\"viewport\" "
		 "content=\"width=device-width\"><title>gpucheck: %s</title>"
		 "<style>", status);
	str_add(out, page_css);
	str_add(out, "</style></head><body>\n");
	str_add(out, "<h1>gpucheck ");
	html_text(out, run->probe);
	str_addf(out, " <span class=\"badge %s\">%s</span></h1>\n", status,
		 status);
}

/** What a reader must know: a drill, a model, damaged rows. */
static void add_notes(const struct run *run, struct str *out)
{
	char text[CAPTION_SIZE];

	for (int i = 0; caption_note(run, i, text, sizeof(text)); i++) {
		html_element(out, run->drill && i == 0 ? "p class=\"drill\"" :
				  "p class=\"note\"", text);
	}
}

static void add_finding(const struct run *run, const struct finding *f,
			struct str *out)
{
	const char *severity = f->fail ? "fail" : "warn";
	char name[PART_NAME_SIZE];

	str_addf(out, "<div class=\"finding\"><p><span class=\"badge %s\">%s"
		 "</span> ", severity, severity);
	html_text(out, f->says);
	str_addch(out, ' ');
	html_element(out, "code", f->code);
	str_add(out, "</p>\n");
	html_element(out, "pre", f->act);
	str_add(out, "<ul>");
	html_element(out, "li", show_score(f, name, sizeof(name)));
	for (size_t i = 0; i < f->n_evidence; i++) {
		html_element(out, "li", f->evidence[i]);
	}
	for (size_t i = 0; i < f->n_or; i++) {
		str_add(out, "<li>could also be ");
		html_text(out, part_name(run, &f->or_parts[i], name,
					 sizeof(name)));
		str_add(out, "</li>");
	}
	str_add(out, "</ul></div>\n");
}

static void add_findings(const struct run *run, const struct verdict *v,
			 struct str *out)
{
	struct str next = STR_INIT;

	html_element(out, "h2", "Findings");
	if (v->n == 0) {
		html_element(out, "p", "None.");
	}
	for (size_t i = 0; i < v->n && i < MAX_FINDINGS; i++) {
		add_finding(run, &v->findings[i], out);
	}
	if (v->n > MAX_FINDINGS) {
		str_addf(out, "<p>%zu more are in verdict.json.</p>\n",
			 v->n - MAX_FINDINGS);
	}
	next_words(run, v, &next);
	if (next.len > 0) {
		html_element(out, "pre", str_text(&next));
	}
	str_release(&next);
}

bool html_picture(const char *dir, const char *name, const char *alt,
		  struct str *out)
{
	size_t n = 0;
	char *data = rundir_read_text(dir, name, MAX_PICTURE, &n, NULL);

	if (n > 0) {
		str_add(out, "<p><img style=\"width:100%;max-width:1000px\" "
			"alt=\"");
		html_text(out, alt);
		str_add(out, "\" src=\"data:image/svg+xml;base64,");
		html_base64(out, data, n);
		str_add(out, "\"></p>\n");
	}
	free(data);
	return n > 0;
}

static void add_row(const char *tag, const char *const cells[],
		    struct str *out)
{
	str_add(out, "<tr>");
	for (; *cells; cells++) {
		html_element(out, tag, *cells);
	}
	str_add(out, "</tr>\n");
}

void html_header_row(const char *const names[], struct str *out)
{
	str_add(out, "<table>");
	add_row("th", names, out);
}

void html_row(const char *const cells[], struct str *out)
{
	add_row("td", cells, out);
}

const char *html_int(int64_t value, char buf[UNITS_REAL_SIZE])
{
	snprintf(buf, UNITS_REAL_SIZE, "%lld", (long long)value);
	return value == RECORD_NONE ? "" : buf;
}

const char *html_real(double value, int digits, char buf[UNITS_REAL_SIZE])
{
	return isfinite(value) ? units_real_text(value, digits, buf) : "";
}

static void add_facts(const struct run *run, struct str *out)
{
	static const char *const names[] = {
		"node", "scope", "fact", "value", "unit", "source", NULL
	};

	str_addf(out, "<details><summary>Facts (%zu)</summary>\n",
		 run->n_facts + run->facts_spare + run->facts_cut);
	html_header_row(names, out);
	for (size_t i = 0; i < run->n_facts && i < HTML_MAX_FACTS; i++) {
		const struct fact_row *f = &run->facts[i];

		html_row((const char *const[]){ f->node, f->scope, f->fact,
						f->value, f->unit, f->source,
						NULL }, out);
	}
	str_add(out, "</table></details>\n");
}

static void add_events(const struct run *run, struct str *out)
{
	static const char *const names[] = {
		"time", "node", "rank", "event", "detail", NULL
	};
	char rank[UNITS_REAL_SIZE];

	str_addf(out, "<details><summary>Events (%zu)</summary>\n",
		 run->n_events);
	html_header_row(names, out);
	for (size_t i = 0; i < run->n_events && i < HTML_MAX_EVENTS; i++) {
		const struct event_row *ev = &run->events[i];

		html_row((const char *const[]){ ev->utc, ev->node,
						html_int(ev->rank, rank),
						ev->event, ev->detail, NULL },
			 out);
	}
	str_add(out, "</table></details>\n");
}

/** Facts, events and run.json, folded up, and the end of the page. */
static void add_end(const struct run *run, struct str *out)
{
	char *text = json_dumps(run->json, JSON_INDENT(2));

	html_element(out, "h2", "Everything else");
	add_facts(run, out);
	add_events(run, out);
	str_add(out, "<details><summary>run.json</summary>\n");
	html_element(out, "pre", text ? text : "");
	str_add(out, "</details>\n<script>");
	str_add(out, page_js);
	str_add(out, "</script></body></html>\n");
	out->failed |= !text;
	free(text);
}

/** Tables that words have: they are read as they stand. */
static void add_tables(const struct judged *j, struct str *out)
{
	struct str text = STR_INIT;
	const struct wrap w = { .out = &text, .width = PAGE_WIDTH };

	if (j->kind->above) {
		j->kind->above(j, &w);
	}
	if (j->kind->below && j->kind->below(j, 0, TERM_UNICODE, &text) < 0) {
		out->failed = true;
	}
	html_element(out, "pre", str_text(&text));
	str_release(&text);
}

static void add_lines(const struct judged *j, const char *element,
		      bool (*line)(const struct judged *j, int i, char *buf,
				   size_t size), struct str *out)
{
	char text[CAPTION_SIZE];

	for (int i = 0; line && line(j, i, text, sizeof(text)); i++) {
		html_element(out, element, text);
	}
}

int show_html(const struct judged *j, const char *dir, struct err *e)
{
	const json_t *note;
	struct str out = STR_INIT;
	char text[CAPTION_SIZE];
	size_t k;
	int rc;

	add_top(&j->run, caption_status(&j->run, &j->verdict), &out);
	add_lines(j, "p", j->kind->head, &out);
	if (caption_partial(&j->run, &j->verdict, text, sizeof(text))) {
		html_element(&out, "p", text);
	}
	html_element(&out, "pre", caption_command(&j->run, text,
						  sizeof(text)));
	add_notes(&j->run, &out);
	json_array_foreach(json_object_get(j->run.json, "notes"), k, note) {
		html_element(&out, "p class=\"note\"",
			     json_string_value(note) ?
				     json_string_value(note) : "");
	}
	add_lines(j, "p class=\"note\"", j->kind->note, &out);
	add_findings(&j->run, &j->verdict, &out);
	if (j->kind->html) {
		j->kind->html(j, dir, &out);
	} else {
		add_tables(j, &out);
	}
	add_end(&j->run, &out);
	rc = out.failed ? err_set(e, ENOMEM, "cannot write report.html") :
			  rundir_write_text(dir, "report.html", str_text(&out),
					    0666, e);
	str_release(&out);
	return rc;
}
