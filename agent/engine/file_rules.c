#include "agent/engine/file_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/landlock.h, which is older than the kernel may be: Debian 12 has version 2. */
#define ACCESS_REFER               (UINT64_C(1) << 13) /* version 2 */
#define ACCESS_TRUNCATE            (UINT64_C(1) << 14) /* version 3 */
#define ACCESS_IOCTL_DEV           (UINT64_C(1) << 15) /* version 5 */
#define SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0)  /* version 6 */
#define SCOPE_SIGNAL               (UINT64_C(1) << 1)

#define ACCESS_VERSION_1 (ACCESS_REFER - 1)
/* The rights that exist for a single file; all others are for directories only. */
#define ACCESS_OF_FILES                                               \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 LANDLOCK_ACCESS_FS_READ_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)

/* struct landlock_ruleset_attr of version 6. An older kernel takes it if what it does
 * not know is 0. */
struct ruleset {
	uint64_t files;
	uint64_t net;
	uint64_t scoped;
};

struct file_rules {
	int fd;
	uint64_t handled;
};

int file_rules_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);

	return version > 0 ? (int)version : 0;
}

int file_rules_new(struct file_rules **ret)
{
	int version = file_rules_version();
	struct ruleset set = {.files = ACCESS_VERSION_1};
	struct file_rules *rules;
	long fd;

	if (version == 0)
		return -ENOTSUP;
	if (version >= 2)
		set.files |= ACCESS_REFER;
	if (version >= 3)
		set.files |= ACCESS_TRUNCATE;
	if (version >= 5)
		set.files |= ACCESS_IOCTL_DEV;
	if (version >= 6)
		set.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	fd = syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0);
	if (fd < 0)
		return -errno;
	rules = malloc(sizeof(*rules));
	if (!rules) {
		close((int)fd);
		return -ENOMEM;
	}
	*rules = (struct file_rules){.fd = (int)fd, .handled = set.files};
	*ret = rules;
	return 0;
}

static uint64_t access_of(unsigned what)
{
	uint64_t access = 0;

	if (what & FILE_RULE_READ)
		access |= LANDLOCK_ACCESS_FS_READ_FILE |
			  LANDLOCK_ACCESS_FS_READ_DIR;
	if (what & FILE_RULE_WRITE)
		access |= LANDLOCK_ACCESS_FS_WRITE_FILE |
			  LANDLOCK_ACCESS_FS_MAKE_REG |
			  LANDLOCK_ACCESS_FS_REMOVE_FILE | ACCESS_TRUNCATE;
	if (what & FILE_RULE_EXECUTE)
		access |= LANDLOCK_ACCESS_FS_EXECUTE |
			  LANDLOCK_ACCESS_FS_READ_FILE;
	if (what & FILE_RULE_DEVICE)
		access |= LANDLOCK_ACCESS_FS_READ_FILE |
			  LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE |
			  ACCESS_IOCTL_DEV;
	if (what & FILE_RULE_FOLDERS)
		access |= LANDLOCK_ACCESS_FS_MAKE_DIR |
			  LANDLOCK_ACCESS_FS_REMOVE_DIR;
	if (what & FILE_RULE_UNFOLDER)
		access |= LANDLOCK_ACCESS_FS_REMOVE_DIR;
	return access;
}

int file_rules_allow(struct file_rules *rules, const char *path, unsigned what)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = access_of(what) & rules->handled,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};
	struct stat st;
	int err = 0;

	if (rule.parent_fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR
			       ? 0
			       : -errno;
	if (fstat(rule.parent_fd, &st))
		err = -errno;
	else if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= ACCESS_OF_FILES;
	if (!err && syscall(SYS_landlock_add_rule, rules->fd,
			    LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
		err = -errno;
	close(rule.parent_fd);
	return err;
}

int file_rules_enforce(const struct file_rules *rules)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_landlock_restrict_self, rules->fd, 0))
		return -errno;
	return 0;
}

struct file_rules *file_rules_free(struct file_rules *rules)
{
	if (!rules)
		return NULL;
	close(rules->fd);
	free(rules);
	return NULL;
}
