/* SPDX-License-Identifier: BSD-3-Clause */
#include "probes/memlock/prove.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where there is no user "nobody". */
#define NOBODY_ID 65534

/* Is it gone? */
static bool drop_ipc_lock(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (syscall(SYS_capget, &head, data) < 0) {
		return false;
	}
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	data[0].permitted &= ~(1u << CAP_IPC_LOCK);
	data[0].inheritable &= ~(1u << CAP_IPC_LOCK);
	syscall(SYS_capset, &head, data);
	return syscall(SYS_capget, &head, data) == 0 &&
	       !(data[0].effective & 1u << CAP_IPC_LOCK);
}

static bool become_nobody(void)
{
	const struct passwd *p = getpwnam("nobody");
	uid_t uid = p != NULL ? p->pw_uid : NOBODY_ID;
	gid_t gid = p != NULL ? p->pw_gid : NOBODY_ID;

	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0;
}

int memlock_drop_privileges(struct err *e)
{
	bool dropped;

	if (geteuid() == 0) {
		become_nobody();	/* or at least: */
	}
	dropped = drop_ipc_lock();
	/* a change of user hides /proc/self from the process itself */
	prctl(PR_SET_DUMPABLE, 1);
	return dropped ? 0 :
			 err_set(e, EPERM, "CAP_IPC_LOCK cannot be dropped; it "
					   "exempts this process from the "
					   "limit");
}
