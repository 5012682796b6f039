/**
 * The version that the programs print.
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_VERSION_H
#define OFFHOOK_BASE_VERSION_H

/**
 * Print name and version to standard output, and the commit if the build knew it:
 * "offhook 0.1.0 (commit 0123456789ab)".
 * @param program  borrowed, not NULL
 */
void version_print(const char *program);

#endif
