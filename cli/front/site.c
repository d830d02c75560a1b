/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/front/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/expected.h"

static int is_ini(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 4 &&
	       strcmp(entry->d_name + len - 4, ".ini") == 0;
}

static int add_file(const char *dir, const char *name, struct str *text,
		    struct err *e)
{
	struct expected x = { 0 };
	struct str own = STR_INIT;
	struct err why = { 0 };
	char path[PATH_MAX];
	int rc = -1, no;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= PATH_MAX) {
		return err_set(e, ENAMETOOLONG, "'%s/%s' is too long", dir,
			       name);
	}
	no = str_add_file(&own, open(path, O_RDONLY | O_CLOEXEC),
			  EXPECTED_MAX_BYTES);
	str_addch(&own, '\n');
	if (no) {
		err_set(e, no, "cannot read '%s'", path);
	} else {
		rc = expected_parse(str_text(&own), &x, &why);
		if (rc < 0) {
			err_set(e, why.code, "%s: %s", path, why.text);
			err_hint(e, "gpucheck(1), section FILES, lists the keys");
		}
	}
	if (rc == 0) {
		str_addf(text, "; %s\n%s", path, str_text(&own));
	}
	if (rc == 0 && text->len >= EXPECTED_MAX_BYTES) {
		rc = err_set(e, E2BIG, "more than %d bytes in '%s'",
			     EXPECTED_MAX_BYTES, dir);
	}
	expected_release(&x);
	str_release(&own);
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
