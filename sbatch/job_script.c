/* SPDX-License-Identifier: BSD-3-Clause */
#include "sbatch/job_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/data/rundir.h"
#include "sbatch/slurm_fit.h"

#define DEFAULT_NODES 2

/* The template is a file of its own, so that it can be read and tried. */
__asm__(".section .rodata\n"
	".global job_template\n"
	"job_template:\n"
	".incbin \"sbatch/job.sbatch\"\n"
	".byte 0\n"
	".text\n");

/** The text of job.sbatch, part of the program. */
extern const char job_template[];

/** What a name in the template becomes. */
struct variable {
	const char *name, *value;
	bool last;		/* a line with a value of it ends the script */
};

/** The one whose name stands at @at, NULL when none does. */
static const struct variable *variable_at(const struct variable *v,
					  const char *at)
{
	while (v->name && !str_starts(at, v->name)) {
		v++;
	}
	return v->name ? v : NULL;
}

/** Copy the template; a line with a name whose value is empty is left out. */
static void fill(const struct variable *vars, struct str *out)
{
	struct str line = STR_INIT;
	bool empty = false, last = false;

	for (const char *at = job_template; *at;) {
		const struct variable *v = variable_at(vars, at);

		empty = empty || (v && !*v->value);
		last = last || (v && v->last);
		str_addmem(&line, v ? v->value : at, v ? strlen(v->value) : 1);
		if (*at == '\n') {
			out->failed |= line.failed;
			str_add(out, empty ? "" : str_text(&line));
			if (last && !empty) {
				break;
			}
			str_reset(&line);
			empty = last = false;
		}
		at += v ? strlen(v->name) : 1;
	}
	str_release(&line);
}

/** Minutes of --time for a run of at most @spec's --max-time: it has to boot
 *  before, and TERM comes 60 s before the end, up to 60 s early.  An image may
 *  have to be imported where srun has options of its own; elsewhere a quarter
 *  of an hour more would keep a short run out of short partitions. */
static int64_t job_minutes(const struct spec *spec)
{
	const int64_t minute = 60 * NS_PER_S;
	bool image = *spec->srun_args != '\0' || spec->start_timeout_ns > 0;
	int64_t boot_ns = image ? spec_boot_first_ns(spec, true) :
				  spec_boot_ns(spec);
	int64_t ns = spec->max_time_ns + boot_ns + 2 * minute;

	return (ns + minute - 1) / minute;
}

/**
 * sbatch reads its #SBATCH lines as a shell does, but for backslashes, and
 * then expands %j and the like in the name of the output file.
 */
static void quote_output(const char *dir, struct str *out)
{
	struct str path = STR_INIT;

	for (; *dir; dir++) {
		str_add(&path, *dir == '%' ? "%" : "");
		str_addch(&path, *dir);
	}
	str_addf(&path, "/%s", RUN_JOB_OUT);
	str_add_quoted(out, str_text(&path));
	out->failed = out->failed || path.failed;
	str_release(&path);
}

static bool fits_script(const char *path)
{
	for (; *path; path++) {
		if ((unsigned char)*path < ' ' || *path == '\\') {
			return false;
		}
	}
	return true;
}

int64_t job_script_nodes(const struct spec *s)
{
	return s->nodes	      ? s->nodes :
	       s->nodelist[0] ? spec_nodes_left(s, s->nodelist, NULL) :
				DEFAULT_NODES;
}

/** "" for zero: its line is left out. */
static void number(char *buf, size_t size, int64_t value)
{
	buf[0] = '\0';
	if (value > 0) {
		snprintf(buf, size, "%" PRId64, value);
	}
}

int job_script_write(const struct launch_request *r, struct str *out,
		     struct err *e)
{
	const struct spec *s = r->spec;
	struct str output = STR_INIT, self = STR_INIT, dir = STR_INIT;
	struct str srun_args = STR_INIT, after = STR_INIT;
	struct args words = { 0 };
	char name[64], nodes[24], gpus[24], minutes[24];
	int64_t n_gpus = r->gpus;

	if (!fits_script(r->dir) || !fits_script(r->self)) {
		return err_set(e, EINVAL, "a path with control characters or "
					  "backslashes cannot be used in a "
					  "batch script");
	}
	if (!n_gpus && slurm_fit_ask(r, job_script_nodes(s), &n_gpus, e) < 0) {
		return -1;
	}
	snprintf(name, sizeof(name), "%s%s", r->lane ? "" : "gpucheck-",
		 r->lane ? r->lane : r->probe);
	number(nodes, sizeof(nodes), job_script_nodes(s));
	number(gpus, sizeof(gpus), n_gpus);
	number(minutes, sizeof(minutes),
	       s->max_time_ns ? job_minutes(s) : 0);
	quote_output(r->dir, &output);
	str_add_quoted(&self, r->self);
	str_add_quoted(&dir, r->dir);
	if (r->after) {
		str_add_quoted(&after, r->after);
	}
	args_add_srun(&words, s);
	args_line(&words, &srun_args);
	fill((const struct variable[]){
		{ .name = "@JOB_NAME@", .value = name },
		{ .name = "@NODES@", .value = nodes },
		{ .name = "@GPUS@", .value = gpus },
		{ .name = "@MINUTES@", .value = minutes },
		{ .name = "@OUTPUT@", .value = str_text(&output) },
		{ .name = "@SELF@", .value = str_text(&self) },
		{ .name = "@DIR@", .value = str_text(&dir) },
		{ .name = "@INNER@", .value = r->inner ? r->inner : "",
		  .last = true },
		{ .name = "@SRUN_ARGS@", .value = str_text(&srun_args) },
		{ .name = "@LANE@", .value = r->lane ? "singleton" : "" },
		{ .name = "@AFTER@", .value = str_text(&after) },
		{ 0 }
	}, out);
	out->failed |= output.failed || self.failed || dir.failed ||
		       srun_args.failed || words.failed || after.failed;
	args_release(&words);
	str_release(&srun_args);
	str_release(&after);
	str_release(&output);
	str_release(&self);
	str_release(&dir);
	return out->failed ?
		       err_set(e, ENOMEM, "cannot write the batch script") : 0;
}
