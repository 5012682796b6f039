/**
 * Which files this process and its children may open from now on, by Landlock.
 *
 * Example:
 *     file_rules_new(&rules);
 *     file_rules_allow(rules, "/etc/hosts", FILE_RULE_READ);
 *     file_rules_enforce(rules);
 *
 * Thread: the first one of the process, before it starts others: a rule holds for the
 * thread that enforces it and for what it starts afterwards.
 */
#ifndef OFFHOOK_AGENT_ENGINE_FILE_RULES_H
#define OFFHOOK_AGENT_ENGINE_FILE_RULES_H

/* What may be done with a file, or with all files of a directory and below. */
enum file_rule {
	FILE_RULE_READ = 1,      /* open files for reading, list directories */
	FILE_RULE_WRITE = 2,     /* create, write and remove regular files */
	FILE_RULE_EXECUTE = 4,   /* start a program; one file */
	FILE_RULE_DEVICE = 8,    /* read, write and ioctl() a device */
	FILE_RULE_FOLDERS = 16,  /* create and remove directories */
	FILE_RULE_UNFOLDER = 32, /* remove empty directories */
};

struct file_rules;

/** The version of Landlock that this kernel has. @return 1 and above; 0: none, or it is
 * not switched on, or refused to this process */
int file_rules_version(void);

/** Begin a set of rules that allows nothing.
 * @return 0; -ENOTSUP: the kernel has no Landlock; another -errno */
int file_rules_new(struct file_rules **ret);

/** Add a rule. Symbolic links are followed now; a file that replaces this one later is
 * not allowed by it.
 * @param path  a file or directory; one that does not exist, or that we must not even
 *              look up, changes nothing
 * @param what  enum file_rule, several of them by |
 * @return 0; -errno */
int file_rules_allow(struct file_rules *rules, const char *path, unsigned what);

/** Refuse everything else to this thread and to all that it starts, for good: EACCES.
 * Besides, they can trace and (version 6 and above) signal only each other. Sets
 * no_new_privs. @return 0; -errno: nothing is refused */
int file_rules_enforce(const struct file_rules *rules);

/** @param rules  or NULL @return NULL */
struct file_rules *file_rules_free(struct file_rules *rules);

#endif
