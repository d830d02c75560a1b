/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/engine/net/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/str.h"
#include "lib/base/units.h"
#include "probes/dl/pmi2.h"

/**
 * A value of PMI2 has 1023 bytes and, to old servers, a syntax; a contact with
 * many addresses is longer and has line ends.  So it travels as hexadecimal
 * digits, in pieces.
 */
#define PIECE_BYTES 500
#define MAX_PIECES  16
#define KEY_COUNT   "gpucheck-pieces"
#define KEY_PIECE   "gpucheck-piece-%d"

static const struct pmi2 *pmi2;
static char job_id[PMI2_JOB_ID_SIZE];

static struct {
	pthread_mutex_t lock;	/* of all below */
	int done;		/* as boot_pmi2_result() returns it */
	struct boot_contact contact;
	struct err err;
} exchange = { .lock = PTHREAD_MUTEX_INITIALIZER };

/** The server's socket is this process's alone; workers must not hold it. */
static void keep_from_children(void)
{
	const char *text = getenv("PMI_FD");
	int64_t fd;

	if (text && units_parse_int(text, 0, 1 << 20, &fd, NULL) == 0) {
		fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	}
}

int boot_pmi2_identify(int *rank, int *size, struct err *e)
{
	int spawned, appnum, found_size, found_rank;

	pmi2 = dl_pmi2(e);
	if (!pmi2) {
		return getenv("PMI_FD") ? -1 : 0;
	}
	if (pmi2->PMI2_Init(&spawned, &found_size, &found_rank, &appnum) !=
		    PMI2_SUCCESS ||
	    pmi2->PMI2_Job_GetId(job_id, sizeof(job_id)) != PMI2_SUCCESS ||
	    found_size < 1 || found_rank < 0 || found_rank >= found_size) {
		return 0;
	}
	keep_from_children();
	*rank = found_rank;
	*size = found_size;
	return 1;
}

/** What the function @name has returned. */
static int check(int rc, const char *name, struct err *e)
{
	return rc == PMI2_SUCCESS
		       ? 0
		       : err_set(e, EIO, "PMI2_KVS_%s failed with code %d",
				 name, rc);
}

static int put(const char *key, const char *value, struct err *e)
{
	return check(pmi2->PMI2_KVS_Put(key, value), "Put", e);
}

static int put_contact(const char *text, struct err *e)
{
	char key[32], value[2 * PIECE_BYTES + 1];
	int pieces = 0, rc = 0;

	for (const char *at = text; *at && rc == 0;) {
		size_t n = strnlen(at, PIECE_BYTES);

		hash_hex(at, n, value);
		snprintf(key, sizeof(key), KEY_PIECE, pieces++);
		rc = put(key, value, e);
		at += n;
	}
	snprintf(value, sizeof(value), "%d", pieces);
	return rc == 0 ? put(KEY_COUNT, value, e) : rc;
}

static int get(const char *key, char value[PMI2_VALUE_SIZE], struct err *e)
{
	int length = 0, rc;

	memset(value, 0, PMI2_VALUE_SIZE);
	rc = pmi2->PMI2_KVS_Get(job_id, PMI2_ID_NULL, key, value,
				PMI2_VALUE_SIZE - 1, &length);
	if (rc != PMI2_SUCCESS || length <= 0) {
		return err_set(e, EIO, "PMI2_KVS_Get of '%s' failed with code "
			       "%d", key, rc);
	}
	return 0;
}

static int get_piece(int number, struct str *text, struct err *e)
{
	char key[32], value[PMI2_VALUE_SIZE], bytes[PIECE_BYTES];
	size_t n;

	snprintf(key, sizeof(key), KEY_PIECE, number);
	if (get(key, value, e) < 0) {
		return -1;
	}
	n = strlen(value) / 2;
	if (n > sizeof(bytes) || hash_unhex(value, bytes, n) < 0) {
		return err_set(e, EPROTO, "PMI2 returned invalid data");
	}
	str_addmem(text, bytes, n);
	return 0;
}

static int get_contact(struct boot_contact *c, struct err *e)
{
	struct str text = STR_INIT;
	char value[PMI2_VALUE_SIZE];
	int64_t pieces;
	int rc;

	if (get(KEY_COUNT, value, e) < 0 ||
	    units_parse_int(value, 1, MAX_PIECES, &pieces, e) < 0) {
		return -1;
	}
	rc = 0;
	for (int i = 0; i < pieces && rc == 0; i++) {
		rc = get_piece(i, &text, e);
	}
	if (rc == 0) {
		rc = boot_contact_parse(str_text(&text), text.len, c, e);
	}
	str_release(&text);
	return rc;
}

static int fence(struct err *e)
{
	return check(pmi2->PMI2_KVS_Fence(), "Fence", e);
}

/** @arg: the text of the contact on rank 0, NULL elsewhere. */
static void *fence_thread(void *arg)
{
	struct boot_contact got = { 0 };
	struct err e = {0};
	int rc;

	if (arg) {
		rc = put_contact(arg, &e) < 0 ? -1 : fence(&e);
		explicit_bzero(arg, strlen(arg));
		free(arg);
	} else {
		rc = fence(&e) < 0 ? -1 : get_contact(&got, &e);
	}
	pthread_mutex_lock(&exchange.lock);
	exchange.contact = got;
	exchange.err = e;
	exchange.done = rc < 0 ? -1 : 1;
	pthread_mutex_unlock(&exchange.lock);
	return NULL;
}

int boot_pmi2_exchange(const char *contact, struct err *e)
{
	char *text = contact ? strdup(contact) : NULL;
	pthread_t thread;
	int rc;

	if (contact && !text) {
		return err_set(e, ENOMEM, "cannot write the contact");
	}
	rc = pthread_create(&thread, NULL, fence_thread, text);
	if (rc) {
		free(text);
		return err_set(e, rc, "cannot start a thread for PMI2");
	}
	pthread_detach(thread);
	return 0;
}

int boot_pmi2_result(struct boot_contact *c, struct err *e)
{
	int done;

	pthread_mutex_lock(&exchange.lock);
	done = exchange.done;
	if (done > 0) {
		*c = exchange.contact;
	} else if (done < 0 && e) {
		*e = exchange.err;
	}
	pthread_mutex_unlock(&exchange.lock);
	return done;
}
