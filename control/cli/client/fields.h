/**
 * NAME=VALUE arguments: fields of records, and what --set overrides at the start
 * of a run.
 * Thread: main.
 */
#ifndef OFFHOOK_CONTROL_CLI_CLIENT_FIELDS_H
#define OFFHOOK_CONTROL_CLI_CLIENT_FIELDS_H

#include <jansson.h>

/**
 * Add arguments NAME=VALUE. VALUE is text, or @FILE: the content of a file, of a
 * password its first line.
 * @param fields  object of texts
 * @return 0; CLI_EXIT_USAGE, the complaint was printed
 */
int fields_read(json_t *fields, char *const *given, int count);

/**
 * Check that every name has the form of an override: step.STEP.ACTION.PARAMETER,
 * condition.ROLE.CONDITION_TYPE, or one of the known names. Whether the test has
 * them is known to the controller only.
 * @param known  NULL-terminated
 * @return 0; CLI_EXIT_USAGE, the complaint was printed
 */
int fields_check_paths(json_t *fields, const char *const *known);

#endif
