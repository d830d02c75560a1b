/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of --help, of help topics and for shell completion. */
#include "cli/front/help.h"

#include <string.h>

#include "cli/front/options.h"
#include "lib/base/str.h"
#include "lib/data/record_rows.h"
#include "report/base/wrap.h"
#include "report/symptoms/symptom.h"

/* ---- command ------------------------------------------------------------- */

/** Other ways to type a command. */
static const struct {
	const char *name;
	const char *means;
} aliases[] = {
	{ .name = "-h", .means = "help" },
	{ .name = "--help", .means = "help" },
	{ 0 }
};

const struct command *command_find(const struct command *const *all,
				   const char *name)
{
	for (size_t i = 0; aliases[i].name; i++) {
		if (strcmp(aliases[i].name, name) == 0) {
			name = aliases[i].means;
		}
	}
	for (; *all; all++) {
		if (strcmp((*all)->name, name) == 0) {
			return *all;
		}
	}
	return NULL;
}

const struct spec_option *option_find(unsigned takes, const char *name)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		if (spec_is_called(o, name) && (o->commands & takes)) {
			return o;
		}
	}
	return NULL;
}

/* ---- help ---------------------------------------------------------------- */

/** Column in which the explanation of an option starts. */
#define HELP_COLUMN 28
#define HELP_WIDTH  80
/** Largest number of options in -h, itself included. */
#define HELP_BRIEF  20

/** The words of @o that @cmd takes. */
static void add_words(const struct command *cmd, const struct spec_option *o,
		      const char *between, struct str *out)
{
	const char *before = "";

	for (const struct spec_word *w = o->words; w->name; w++) {
		if (spec_word_of(w, cmd->takes)) {
			str_addf(out, "%s%s", before, w->name);
			before = between;
		}
	}
}

/** The first of @texts (may be NULL) that is for @cmd; NULL: none is. */
static const char *text_for(const struct command *cmd,
			    const struct spec_word *texts)
{
	while (texts && texts->name && !spec_word_of(texts, cmd->takes)) {
		texts++;
	}
	return texts ? texts->name : NULL;
}

/** @s: the options with which @cmd starts. */
static void print_option(const struct command *cmd, const struct spec *s,
			 const struct spec_option *o, FILE *out)
{
	const char *value = spec_argh(o), *text = text_for(cmd, o->helps);
	struct str line = STR_INIT, help = STR_INIT;
	const struct wrap w = { .out = &line, .width = HELP_WIDTH };
	struct spec other = *s;
	char set[SPEC_VALUE_MAX];

	if (o->letter) {
		str_addf(&line, "  -%c, --%s", o->letter, o->name);
	} else {
		str_addf(&line, "      --%s", o->name);
	}
	str_add(&line, o->optional_value ? "[=" : spec_has_value(o) ? "=" : "");
	if (value) {
		str_add(&line, value);
	} else if (o->words) {
		add_words(cmd, o, "|", &line);
	}
	str_add(&line, o->optional_value ? "]" : "");
	str_addf(&line, "%s%*s", line.len < HELP_COLUMN ? "" : "\n",
		 HELP_COLUMN - (line.len < HELP_COLUMN ? (int)line.len : 0),
		 "");

	str_add(&help, text ? text : o->help);
	text = text_for(cmd, o->unset);
	spec_text(s, o, set, sizeof(set));
	/* a value that cannot be set means that there is none */
	if (!o->unset && spec_has_value(o) && !o->optional_value &&
	    spec_set(&other, o, set, NULL) == 0) {
		text = set;
	}
	if (text && HELP_COLUMN + help.len < HELP_WIDTH &&
	    HELP_COLUMN + help.len + strlen(". Default: ") + strlen(text) >
		    HELP_WIDTH) {
		str_addch(&help, '.');
		wrap_text(&w, HELP_COLUMN, str_text(&help));
		str_addf(&line, "%*s", HELP_COLUMN, "");
		str_release(&help);
		str_addf(&help, "Default: %s", text);
	} else if (text) {
		str_addf(&help, ". Default: %s", text);
	}
	wrap_text(&w, HELP_COLUMN, str_text(&help));
	fputs(str_text(&line), out);
	str_release(&line);
	str_release(&help);
}

void help_command(const struct command *cmd, bool all, FILE *out)
{
	const char *heading = NULL;
	struct spec s;
	int n = 0, shown = 0;

	spec_init(&s);
	if (cmd->defaults) {
		cmd->defaults(&s);
	}
	fprintf(out, "usage: gpucheck %s%s%s\n%s\n",
		cmd->known_as ? cmd->known_as : cmd->name,
		cmd->usage[0] ? " " : "", cmd->usage, cmd->summary);
	for (const struct spec_option *o = spec_options; o->name; o++) {
		n += options_apply(cmd, o);
	}
	all |= n < HELP_BRIEF;
	for (const struct spec_option *o = spec_options; o->name; o++) {
		heading = o->heading ? o->heading : heading;
		if (!options_apply(cmd, o) ||
		    (!all && !(o->brief & cmd->takes))) {
			continue;
		}
		if (heading) {
			fprintf(out, "\n%s:\n", heading);
			heading = NULL;
		}
		print_option(cmd, &s, o, out);
		shown++;
	}
	fprintf(out, "\n  -h, --help%*sPrint this help", HELP_COLUMN - 12, "");
	if (shown < n) {
		fprintf(out, "; --help=all: with %d more options", n - shown);
	}
	fputs("\n", out);
	if (cmd->examples) {
		fputs("\nExamples:\n", out);
		for (int i = 0; cmd->examples[i]; i++) {
			fprintf(out, "  %s\n", cmd->examples[i]);
		}
	}
	fprintf(out, "\nMore: man gpucheck-%s\n", cmd->name);
}

void help_overview(const struct command *const *all, FILE *out)
{
	static const char *const groups[][10] = {
		{ "Test", "all", "p2p", "ib", "ping", "gpu", "collective",
		  "info", NULL },
		{ "Diagnose", "memlock", "hang", "explain", "node", "import",
		  NULL },
		{ "Runs", "plan", "status", "report", "diff", "history",
		  "watch", "bundle", NULL },
		{ "Set-up", "version", "help", NULL },
	};

	fputs("usage: gpucheck COMMAND [OPTION...]\n"
	      "Find the GPU, NIC, link or node of a cluster that is broken.\n"
	      "\n  gpucheck all -N 4 -- --partition=gpu   four Slurm nodes\n"
	      "  gpucheck p2p --local                   the GPUs of this "
	      "machine\n\n", out);
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		fprintf(out, "%s:\n", groups[g][0]);
		for (size_t i = 1; groups[g][i]; i++) {
			fprintf(out, "  %-12s%s\n", groups[g][i],
				command_find(all, groups[g][i])->summary);
		}
	}
	fputs("\n\"gpucheck COMMAND -h\" lists the options of a command.\n"
	      "\"gpucheck help csv\" and \"gpucheck help units\" explain the "
	      "results.\n"
	      "Exit code: 0 healthy, 1 fault found, 2 usage, 3 could not "
	      "measure, 4 partial.\n", out);
}

void help_csv(FILE *out)
{
	static const struct {
		const char *name;
		const struct schema *schema;
	} tables[] = {
		{ .name = "results.csv", .schema = &schema_p2p },
		{ .name = "memlock: results.csv", .schema = &schema_memlock },
		{ .name = "gpu: results.csv", .schema = &schema_gpu },
		{ .name = "hang: results.csv", .schema = &schema_hang },
		{ .name = "allreduce: results.csv",
		  .schema = &schema_collective },
		{ .name = "ping: results.csv", .schema = &schema_ping },
		{ .name = "info: results.csv", .schema = &schema_info },
		{ .name = "all: results.csv", .schema = &schema_step },
		{ .name = "facts.csv", .schema = &schema_facts },
		{ .name = "events.csv", .schema = &schema_events },
		{ .name = "diagnose.csv", .schema = &schema_diagnose },
		{ .name = "history: history-UID.csv",
		  .schema = &schema_history },
		{ 0 }
	};

	for (int i = 0; tables[i].name; i++) {
		fprintf(out, "%s%s\n", i ? "\n" : "", tables[i].name);
		for (const struct column *c = tables[i].schema->columns;
		     c->name; c++) {
			fprintf(out, "  %-15s%s\n", c->name, c->help);
		}
	}
	fputs("\nAn empty field was not measured; it is never written as 0.\n"
	      "A text that begins with = + - or @ has an apostrophe in front, "
	      "so that no\nspreadsheet takes it for a formula; gpucheck takes "
	      "it off again. A number has\nnone. Control characters "
	      "are replaced by '?'.\n", out);
}

void help_units(FILE *out)
{
	fputs("Sizes      bytes; K M G T are powers of 1024: -b 64M is "
	      "67,108,864 bytes\n"
	      "Bandwidth  GB/s = 10^9 bytes per second, in one direction\n"
	      "Latency    us, half of the round trip of 8 bytes\n"
	      "Durations  a number and us, ms, s, m or h: --test-timeout=500ms\n"
	      "Times      UTC, RFC 3339\n", out);
}

void help_list_options(const struct command *cmd, FILE *out)
{
	for (const struct spec_option *o = spec_options; o->name; o++) {
		bool value = spec_has_value(o) && !o->optional_value;
		struct str words = STR_INIT;

		if (!options_apply(cmd, o)) {
			continue;
		}
		if (o->words) {
			add_words(cmd, o, " ", &words);
		} else if (spec_argh(o)) {
			/* "auto|LIST" of argh as "auto <LIST>" */
			const char *argh = spec_argh(o);

			while (*argh) {
				const size_t len = strcspn(argh, "|");
				bool word =
					strcspn(argh,
						"ABCDEFGHIJKLMNOPQRSTUVWXYZ") >=
					len;

				str_add(&words, words.len ? " " : "");
				str_add(&words, word ? "" : "<");
				str_addmem(&words, argh, len);
				str_add(&words, word ? "" : ">");
				argh += len + (argh[len] == '|');
			}
		}
		fprintf(out, "--%s%s%s%s\n", o->name, value ? "=" : "",
			words.len ? "\t" : "", str_text(&words));
		if (o->letter) {
			fprintf(out, "-%c%s%s\n", o->letter,
				words.len ? "\t" : "", str_text(&words));
		}
		str_release(&words);
	}
	fputs("--help\n-h\n", out);
}

void help_list_codes(FILE *out)
{
	const struct symptoms *all = symptoms_builtin();

	for (size_t i = 0; i < all->n; i++) {
		const struct symptom *x = &all->list[i];

		if (x->effect == EFFECT_MARK || x->effect == EFFECT_UNKNOWN ||
		    strchr(x->code, ' ')) {
			continue;
		}
		fprintf(out, "%s\n", x->code);
		for (const char *c = str_text(&x->alias); *c; c++) {
			fputc(*c == ' ' ? '\n' : *c, out);
		}
		fputs(x->alias.len ? "\n" : "", out);
	}
}
