/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data/rundir.h"
#include "lib/base/input.h"
#include "lib/data/switches.h"
#include "report/model/expected.h"

static int is_ini(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && str_ends(entry->d_name, ".ini");
}

static int add_file(const char *dir, const char *name, struct str *text,
		    struct err *e)
{
	char *own = rundir_read_text(dir, name, EXPECTED_MAX_BYTES, NULL, e);
	struct expected x = { 0 };
	struct err why = { 0 };
	int rc = -1;

	if (own && expected_parse(own, &x, &why) < 0) {
		err_set(e, why.code, "%s/%s: %s", dir, name, why.text);
		err_hint(e, "gpucheck(1), section FILES, lists the keys");
	} else if (own) {
		str_addf(text, "; %s/%s\n%s\n", dir, name, own);
		rc = text->len < EXPECTED_MAX_BYTES ? 0 :
		     err_set(e, E2BIG, "more than %d bytes in '%s'",
			     EXPECTED_MAX_BYTES, dir);
	}
	expected_release(&x);
	free(own);
	return rc;
}

int site_expected(struct str *text, struct err *e)
{
	const char *dir = getenv(SITE_EXPECTED_ENV);
	struct dirent **list;
	int n, rc = 0;

	if (!dir || !dir[0]) {
		dir = SITE_EXPECTED_D;
	}
	n = scandir(dir, &list, is_ini, alphasort);
	if (n < 0) {
		return errno == ENOENT ? 0 : err_set(e, errno, "cannot read "
						     "'%s'", dir);
	}
	for (int i = 0; i < n; i++) {
		if (rc == 0) {
			rc = add_file(dir, list[i]->d_name, text, e);
		}
		free(list[i]);
	}
	free(list);
	return rc;
}

/* ---- switches ------------------------------------------------------------ */

static int count_link(void *user, const struct switch_link *link)
{
	(void)user;
	(void)link;
	return 0;
}

int site_switches(const char *path, struct str *text, struct err *e)
{
	int why = path[0] ? input_read(path, SWITCHES_MAX_BYTES, text) : 0;

	if (why) {
		return err_set(e, why, "cannot read '%s'", path);
	}
	if (path[0] && switches_parse(str_text(text), text->len, count_link,
				      NULL) <= 0) {
		err_set(e, 0, "no node or HCA is connected to a switch in '%s'",
			path);
		return err_hint(e, "it should be Slurm's topology.conf, or what "
				   "'scontrol show topology' or ibnetdiscover "
				   "prints");
	}
	return 0;
}
