/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/talk.h"
#include "cli/run/bundle.h"
#include "cli/run/found.h"
#include "lib/base/exit_code.h"
#include "lib/data/json.h"
#include "report/show/judged.h"

/** What gpucheck says of the run, or why it cannot. */
static void add_words(const struct found *f, struct str *out)
{
	struct judged_ask ask;
	struct err e = { 0 };
	struct judged *j = NULL;
	char why[1024];

	found_ask(f, &ask);
	ask.brief = true;
	if (judged_make(f->dir, NULL, &ask, &j, &e) < 0 ||
	    judged_words(j, JUDGED_FILE_WIDTH, false, TERM_ASCII, out) < 0) {
		str_addf(out, "It cannot be judged: %s\n",
			 err_str(&e, why, sizeof(why)));
	}
	judged_free(j);
}

static void add_readme(const struct bundle *b, const struct found *f,
		       struct str *out)
{
	str_addf(out,
		 "A run of gpucheck %s, \"%s\", which began %s\n\n"
		 "gpucheck measures which GPUs, NICs and links of a cluster "
		 "work. What it found:\n\n",
		 json_member(f->run, "version"), json_member(f->run, "probe"),
		 json_member(f->run, "started_utc"));
	add_words(f, out);
	if (b->parts.len) {
		str_addf(out, "\nThe nodes that it names, and their parts "
			      "(all: facts.csv):\n\n%s", str_text(&b->parts));
	}
	str_addf(out, "\nFiles in this archive:\n\n%s", str_text(&b->in));
	str_addf(out,
		 "\nTables are CSV, their columns are told by \"gpucheck help "
		 "csv\". Of a table with\nmore rows than fit, those of tests "
		 "that failed and of the nodes above are here\nfirst. To see "
		 "tables and pictures:\n\n"
		 "    tar xf FILE.tar && gpucheck report -o shown %s\n",
		 b->name);
	if (b->n_out) {
		str_addf(out, "\nLeft out:\n\n%s", str_text(&b->out));
	}
	str_addf(out,
		 "\nRemoved, \"" REDACT_GONE "\" stands there: %zu values that "
		 "looked like keys, tokens or\npasswords. %s", b->hide.removed,
		 b->hide.names ?
			 "Names of hosts and users are replaced, everywhere "
			 "alike;\naddresses are not.\n" :
			 "Names of hosts and users are as they are.\n");
}

/** A new file of its owner alone; 0, or -1 with @e and no file. */
static int write_new(const char *path, const struct str *data, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t at = 0;
	ssize_t n = 0;
	int why = 0;

	if (fd < 0) {
		err_set(e, errno, "cannot make '%s'", path);
		if (errno == EEXIST) {
			err_hint(e, "name a new file with -o FILE");
		}
		return -1;
	}
	while (at < data->len && !why) {
		n = write(fd, data->data + at, data->len - at);
		at += n > 0 ? (size_t)n : 0;
		why = n < 0 && errno != EINTR ? errno : 0;
	}
	if (!why && fsync(fd) < 0 && errno != EINVAL) {
		why = errno;
	}
	if (close(fd) < 0 && !why) {
		why = errno;	/* where NFS tells of a full disk */
	}
	if (why) {
		unlink(path);
		return err_set(e, why, "cannot write '%s'", path);
	}
	return 0;
}

static int make(const struct session *s, const struct found *f,
		struct bundle *b, struct str *tar, struct err *e)
{
	struct str readme = STR_INIT, hidden = STR_INIT;
	char path[PATH_MAX];
	int rc;

	if (bundle_collect(b, f->dir, s->spec.anonymous, e) < 0) {
		return CODE_UNABLE;
	}
	add_readme(b, f, &readme);
	redact_text(&b->hide, str_text(&readme), readme.len, &hidden);
	rc = readme.failed || hidden.failed ?
		     err_set(e, ENOMEM, "cannot make the archive") :
		     bundle_finish(b, str_text(&hidden), tar, e);
	str_release(&readme);
	str_release(&hidden);
	if (rc < 0) {
		return CODE_UNABLE;
	}
	if (s->spec.out[0]) {
		STR_COPY(path, s->spec.out);
	} else {
		snprintf(path, sizeof(path), "%s.tar", b->name);
	}
	if (write_new(path, tar, e) < 0) {
		return e->code == EEXIST ? CODE_USAGE : CODE_UNABLE;
	}
	talk("wrote %s, %zu bytes; its README says what is in there", path,
	     tar->len);
	return CODE_HEALTHY;
}

static int run_bundle(struct session *s)
{
	struct str tar = STR_INIT;
	struct bundle b = { 0 };
	struct err e = { 0 };
	struct found f;
	int code = found_open(s->args[0], &f, &e);

	if (code == CODE_HEALTHY) {
		code = make(s, &f, &b, &tar, &e);
	}
	bundle_release(&b);
	str_release(&tar);
	found_release(&f);
	return code ? talk_fail(&e, code) : code;
}

static const char *const examples[] = {
	"gpucheck bundle gpucheck-p2p-20260131T091502Z-7f3a12",
	"gpucheck bundle --anonymous -o case.tar /home/alice/DIR",
	NULL
};

const struct command cmd_bundle = {
	.name = "bundle",
	.summary = "Pack a run for a vendor, without secrets.",
	.usage = "[OPTION...] DIR|JOB",
	.examples = examples,
	.takes = SPEC_CMD_BUNDLE,
	.min_args = 1,
	.needs = "a run directory or a job",
	.max_args = 1,
	.run = run_bundle,
};
