/**
 * Replaces names, numbers, hosts and addresses: the same original always gets
 * the same replacement.
 * Thread: one owner; pure.
 */
#ifndef OFFHOOK_CONTROL_CLI_IMPORT_ANONYMISE_H
#define OFFHOOK_CONTROL_CLI_IMPORT_ANONYMISE_H

#include <stdbool.h>
#include <stddef.h>

#include "control/cli/import/dialogs.h"

#define ANONYMISE_MAX 1024 /* originals; more become "x" */

enum anonymise_kind {
	ANONYMISE_USER, /* or a number */
	ANONYMISE_NAME, /* display name */
	ANONYMISE_HOST, /* or an address */
	ANONYMISE_WORD, /* of a free text */
};

struct anonymise;

/** @param call  borrowed: a replacement is no text that occurs in its messages;
 *               NULL: nothing is replaced
 * @return 0; -ENOMEM */
int anonymise_new(struct anonymise **ret, const struct dialogs_call *call);
struct anonymise *anonymise_free(struct anonymise *a);

/** Whether texts are replaced. */
bool anonymise_is_on(const struct anonymise *a);

/** @return the replacement, or the original; valid until anonymise_free() */
const char *anonymise_text(struct anonymise *a, enum anonymise_kind kind,
			   const char *original);

/** Replace digits that were dialled: as many others; * and # stay. */
void anonymise_digits(struct anonymise *a, char *digits);

/** Replace every word of a header value or another free text; URI schemes and
 * parameter names of SIP stay, so that it can be parsed as before.
 * @param ret  cut if it does not fit */
void anonymise_free_text(struct anonymise *a, const char *original,
			 char ret[static SIP_TEXT_BYTES]);

#endif
