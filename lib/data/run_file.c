/* SPDX-License-Identifier: BSD-3-Clause */
/* run.json and verdict.json as structs; lines of DIR/absent. */

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/limit.h"
#include "lib/data/json.h"
#include "lib/data/rundir.h"
#include "lib/data/schema.h"

/* ---- run.json ------------------------------------------------------------ */

#define GPUS_MOST   64	/* of a node */
#define MINUTES_MOST 1000000	/* of a job, nearly two years */
#define CELLS_MOST  (INT64_C(1) << 40)
#define PASSES_MOST 16
#define RUN(member, type, to) \
	FIELD(run_file, member, #member, type, 0, to, "", \
	      .optional = FIELD_OMITTED)
#define RUN_IN(part, member, type, to) \
	RUN_AS(part, member, #member, type, 0, to)
#define RUN_AS(part, member, key, type, from, to) \
	FIELD(run_file, part.member, key, type, from, to, "", \
	      .optional = FIELD_OMITTED)
/* written as it is, also 0 and "" */
#define RUN_ANY(part, member, type, to) \
	FIELD(run_file, part.member, #member, type, 0, to, "")
#define RUN_PART(part) \
	{ .name = #part, .kind = FIELD_STRUCT, .places = part##_fields, \
	  .size = sizeof(struct run_file), FIELD_GIVEN(run_file, part.given), \
	  .optional = FIELD_OMITTED }

static const struct field error_fields[] = {
	RUN_ANY(error, text, LINK, 0), RUN_ANY(error, hint, LINK, 0),
	FIELD(run_file, error.exit, "exit", INT, CODE_USAGE, CODE_PARTIAL, ""),
	RUN_ANY(error, absent, BOOL, 0), { 0 }
};

static const struct field planned_fields[] = {
	RUN_IN(planned, kind, LINK, 0), RUN_IN(planned, op, LINK, 0),
	FIELD(run_file, planned.rails_apart, "rails_apart", BOOL, 0, 0, "",
	      .optional = FIELD_OMITTED,
	      FIELD_GIVEN(run_file, planned.passes)),
	RUN_IN(planned, rails_by, LINK, 0),
	RUN_IN(planned, cross, BOOL, 0), RUN_IN(planned, by_rail, BOOL, 0),
	RUN_AS(planned, cells, "cells", INT, 1, CELLS_MOST),
	RUN_AS(planned, passes, "passes", INT, 1, PASSES_MOST),
	RUN_IN(planned, pairs, ARRAY, 0), RUN_IN(planned, groups, ARRAY, 0),
	RUN_IN(planned, rungs, ARRAY, 0), RUN_IN(planned, fabrics, ARRAY, 0),
	RUN_IN(planned, hca, LINK, 0), RUN_IN(planned, sample, OBJECT, 0),
	RUN_AS(planned, n_groups, "groups", INT, 1, INT32_MAX),
	RUN_AS(planned, n_nodes, "nodes", INT, 1, INT32_MAX),
	RUN_AS(planned, seed, "seed", INT, 1, INT64_MAX),
	RUN_AS(planned, probes_per_s, "probes_per_s", INT, 1, INT64_MAX),
	{ 0 }
};

static const struct field measuring_fields[] = {
	RUN_ANY(measuring, since_utc, LINK, 0),
	RUN_ANY(measuring, after_B, INT, INT64_MAX), { 0 }
};

static const struct field follow_up_fields[] = {
	RUN_ANY(follow_up, rounds, INT, INT32_MAX),
	RUN_ANY(follow_up, tests, INT, CELLS_MOST), { 0 }
};

static const struct field contrast_fields[] = {
	RUN_IN(contrast, kind, LINK, 0), RUN_IN(contrast, pass, LINK, 0),
	{ 0 }
};

static const struct field bisect_fields[] = {
	RUN_IN(bisect, kind, LINK, 0), RUN_ANY(bisect, tests, INT, INT32_MAX),
	RUN_AS(bisect, size_B, "size_B", INT, 1, INT64_MAX),
	RUN_IN(bisect, parts, ARRAY, 0),
	RUN_AS(bisect, repeats, "repeats", INT, 1, INT64_MAX),
	RUN_ANY(bisect, says, LINK, 0), { 0 }
};

static const struct field typed_fields[] = {
	RUN_IN(typed, reference, LINK, 0), RUN_IN(typed, exclude, LINK, 0),
	{ 0 }
};

static const struct field whole_fields[] = {
	RUN_IN(whole, argv, ARRAY, 0), RUN_IN(whole, options, OBJECT, 0),
	{ 0 }
};

static const struct field retest_fields[] = {
	RUN_IN(retest, dir, LINK, 0), RUN_IN(retest, parts, ARRAY, 0), { 0 }
};

static const struct field jobs_fields[] = {
	RUN_IN(jobs, id, LINK, 0), RUN_IN(jobs, kind, LINK, 0),
	RUN_AS(jobs, lanes, "lanes", INT, 1, INT32_MAX),
	RUN_AS(jobs, gpus, "gpus", INT, -1, GPUS_MOST),
	RUN_IN(jobs, minutes, INT, MINUTES_MOST),
	RUN_IN(jobs, nodes, ARRAY, 0), RUN_IN(jobs, parts, ARRAY, 0), { 0 }
};

static const struct field run_fields[] = {
	{ .name = "schema", .kind = FIELD_FORMAT, .min = 1 },
	RUN(probe, LINK, 0), RUN(argv, ARRAY, 0), RUN(version, LINK, 0),
	RUN(nonce, LINK, 0), RUN(id, LINK, 0), RUN(options, OBJECT, 0),
	FIELD(run_file, drill, "drill", BOOL, 0, 0, "",
	      .optional = FIELD_OMITTED, FIELD_GIVEN(run_file, probe)),
	RUN(launcher, LINK, 0), RUN(started_utc, LINK, 0),
	RUN(shell, ARRAY, 0), RUN_PART(whole), RUN(expect, ARRAY, 0),
	RUN(drill_text, LINK, 0), RUN_PART(retest), RUN(ended_utc, LINK, 0),
	FIELD(run_file, stop_reason, "stop_reason", LINK, 0, 0, "",
	      .optional = FIELD_KEPT),
	RUN(job_end, LINK, 0),
	RUN(transport, LINK, 0), RUN(schedule, LINK, 0),
	RUN(nodes, ARRAY, 0), RUN(environment, OBJECT, 0),
	RUN(settings, OBJECT, 0), RUN(notes, ARRAY, 0),
	RUN(dropped, ARRAY, 0), RUN(sizes, ARRAY, 0),
	RUN(resumes, ARRAY, 0), RUN(imported, ARRAY, 0),
	RUN(means, ARRAY, 0),
	RUN_PART(measuring), RUN_PART(follow_up), RUN_PART(error),
	RUN_PART(planned), RUN_PART(contrast),
	{ .name = "options", .kind = FIELD_STRUCT, .places = typed_fields },
	RUN_PART(bisect), RUN_PART(jobs), { 0 }
};

json_t *run_file_json(const struct run_file *f)
{
	return schema_json(run_fields, f);
}

json_t *run_part_json(const char *name, const struct run_file *f)
{
	const struct field *part = run_fields;

	while (part->kind != FIELD_STRUCT || strcmp(part->name, name) != 0) {
		part++;
	}
	return schema_json(part->places, f);
}

struct run_file run_file(const json_t *json)
{
	struct run_file f = { .planned.passes = 1, .measuring.after_B = -1 };

	schema_look(run_fields, &f, json);
	f.complete = f.ended_utc[0] && !f.stop_reason[0] && !f.error.given;
	return f;
}

/* ---- verdict.json -------------------------------------------------------- */

#define ENTRY(member, type, to) ENTRY_AS(member, #member, type, 0, to)
#define ENTRY_AS(member, key, type, from, to) \
	FIELD(run_entry, member, key, type, from, to, "", \
	      .optional = FIELD_OMITTED)

static const struct field entry_fields[] = {
	/* of a finding */
	ENTRY_AS(act, "do", LINK, 0, 0), ENTRY_AS(others, "or", ARRAY, 0, 0),
	ENTRY_AS(score, "score", REAL, -INFINITY, INFINITY),
	ENTRY(kind, LINK, 0), ENTRY(rank, INT, INT32_MAX),
	ENTRY(node, LINK, 0), ENTRY(gpu, INT, INT32_MAX),
	ENTRY(peer_node, LINK, 0),
	ENTRY(index, INT, INT32_MAX), ENTRY(peer_index, INT, INT32_MAX),
	ENTRY(name, LINK, 0), ENTRY(names, LINK, 0), ENTRY(peer_name, LINK, 0),
	ENTRY(direction, LINK, 0), ENTRY(uplinks, BOOL, 0),
	ENTRY(members, ARRAY, 0), ENTRY(peer_members, ARRAY, 0),
	ENTRY(severity, LINK, 0), ENTRY(code, LINK, 0), ENTRY(says, LINK, 0),
	ENTRY_AS(cells, "cells", INT, 1, INT64_MAX),
	ENTRY_AS(explained, "explained", INT, 1, INT64_MAX),
	ENTRY_AS(judged, "judged", INT, 1, INT64_MAX),
	ENTRY(drain, BOOL, 0), ENTRY(evidence, ARRAY, 0),
	/* of a part of a retest */
	ENTRY(nic, LINK, 0), ENTRY(pairs, ARRAY, 0),
	ENTRY(first_rank, INT, INT32_MAX),
	ENTRY_AS(gpus, "gpus", INT, 1, GPUS_MOST),
	ENTRY_AS(peer_gpus, "peer_gpus", INT, 1, GPUS_MOST),
	/* of a rank */
	ENTRY(detail, LINK, 0), ENTRY(source, LINK, 0),
	/* of a node */
	ENTRY(nic_of, ARRAY, 0), ENTRY(nic_used, ARRAY, 0),
	ENTRY(nic_names, ARRAY, 0), ENTRY(ends, ARRAY, 0),
	ENTRY(here, BOOL, 0), ENTRY(missing, BOOL, 0),
	ENTRY_AS(nics, "nics", INT, 1, GPUS_MOST), ENTRY(parts, ARRAY, 0),
	/* of --resume */
	ENTRY(utc, LINK, 0), ENTRY(argv, ARRAY, 0), ENTRY(version, LINK, 0),
	FIELD(run_entry, stopped, "stopped", LINK, 0, 0, "",
	      .optional = FIELD_KEPT), { 0 }
};

json_t *run_entry_json(const struct run_entry *r)
{
	return schema_json(entry_fields, r);
}

struct run_entry run_entry_of(const json_t *json)
{
	struct run_entry r = { RUN_ENTRY_NONE };

	schema_look(entry_fields, &r, json);
	r.fail = strcmp(r.severity, "fail") == 0;
	return r;
}

struct run_entry run_entry(const json_t *list, size_t i)
{
	return run_entry_of(json_array_get(list, i));
}

static const struct field verdict_fields[] = {
	FIELD(verdict_file, status, "status", LINK, 0, 0, ""),
	FIELD(verdict_file, reason, "reason", LINK, 0, 0, ""),
	FIELD(verdict_file, unwritten, "unwritten", LINK, 0, 0, ""),
	FIELD(verdict_file, cells, "cells", OBJECT, 0, 0, ""),
	FIELD(verdict_file, findings, "findings", ARRAY, 0, 0, ""),
	FIELD(verdict_file, retest, "retest", ARRAY, 0, 0, ""), { 0 }
};

struct verdict_file verdict_file(const json_t *json)
{
	struct verdict_file v = { .cells = NULL };

	schema_look(verdict_fields, &v, json);
	return v;
}

json_t *run_node_json(const char *name, int first_rank, int gpus, int nics)
{
	/* not by entry_fields, which leave out a 0: of a node it is known */
	return json_pack("{s:s, s:i, s:i, s:i}", "name", name, "first_rank",
			 first_rank, "gpus", gpus, "nics", nics);
}

/* ---- the error ----------------------------------------------------------- */

json_t *run_error_json(const struct err *why, int exit_code)
{
	char full[sizeof(why->text) + 64];
	const char *text = limit_code(why->code) ?
				   err_str(why, full, sizeof(full)) : why->text;

	return run_part_json("error", &(struct run_file){ .error = {
		.text = text, .hint = why->hint, .exit = exit_code,
		.absent = why->code == ENODEV } });
}

int run_check_new(const json_t *run, const char *dir, struct err *e)
{
	if (run_file(run).planned.cells == 0) {
		return 0;
	}
	err_set(e, 0, "the run in '%s' was started before and was "
		"interrupted%s",
		dir, getenv("SLURM_RESTART_COUNT") != NULL ?
		", and Slurm has restarted its job" : "");
	return err_hint(e, "its rows are kept; start a new run, or continue "
			   "it with --resume");
}

int run_error_note(const char *dir, const struct err *why, int exit_code)
{
	json_t *run = rundir_check_own(dir, NULL) == 0 ?
			      rundir_read_json(dir, RUN_JSON, NULL) : NULL;
	int rc = -1;

	if (run && json_object_set_new(run, "error",
				       run_error_json(why, exit_code)) == 0) {
		rc = rundir_write_json(dir, RUN_JSON, run, NULL);
	}
	json_decref(run);
	return rc;
}

/* ---- version ------------------------------------------------------------ */

const char *version_own(void)
{
	return GPUCHECK_VERSION;
}

int version_check(const char *whose, const char *version, struct err *e)
{
	if (strcmp(version, version_own()) == 0) {
		return 0;
	}
	err_set(e, EPROTONOSUPPORT, "%s is gpucheck %.40s, not %s", whose,
		version[0] ? version : "of an older version", version_own());
	return err_hint(e, "a run needs one gpucheck on all nodes: replace the "
			   "copy there, or use one that all nodes share");
}

int version_check_run(const json_t *run, struct err *e)
{
	const struct run_file f = run_file(run);
	const size_t n = json_array_size(f.resumes);
	const char *version = n > 0 ? run_entry(f.resumes, n - 1).version :
				      f.version;

	return version[0] ? version_check("the front that started this run",
					  version, e) : 0;
}

/* ---- absent -------------------------------------------------------------- */

void run_absent_tell(int fd, const struct run_entry *n)
{
	json_t *json = run_entry_json(n);
	char *line = json ? json_dumps(json, JSON_COMPACT) : NULL;

	if (line) {
		dprintf(fd, "%s\n", line);
	}
	free(line);
	json_decref(json);
}

int run_absent_note(const char *dir, const struct run_entry *n, struct err *e)
{
	int fd = rundir_open_fd(dir, RUN_ABSENT, O_WRONLY | O_CREAT | O_APPEND,
				e);

	if (fd < 0) {
		return -1;
	}
	run_absent_tell(fd, n);
	close(fd);
	return 0;
}
