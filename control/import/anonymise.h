/**
 * Replaces names, numbers, hosts and addresses: the same original always gets
 * the same replacement.
 * Thread: one owner. Looks at the clock where it has a time to end at.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_ANONYMISE_H
#define OFFHOOK_CONTROL_IMPORT_ANONYMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/import/dialogs.h"

#define ANONYMISE_MAX 8192 /* originals; more become "x" */

enum anonymise_kind {
	ANONYMISE_USER, /* or a number */
	ANONYMISE_NAME, /* display name */
	ANONYMISE_HOST, /* or an address */
	ANONYMISE_WORD, /* of a free text */
};

struct anonymise;

/** Nothing is replaced before anonymise_use().
 * @param end_ns  monotonic time from which on everything becomes "x"; 0: none
 * @return 0; -ENOMEM */
int anonymise_new(struct anonymise **ret, int64_t end_ns);
struct anonymise *anonymise_free(struct anonymise *a);

/** Let no replacement contain a user, name or host of this call; before the
 * first replacement. */
void anonymise_learn(struct anonymise *a, const struct dialogs_call *call);
/** Replace from now on, by nothing that occurs in the messages of this call.
 * @param call  borrowed until the next one */
void anonymise_use(struct anonymise *a, const struct dialogs_call *call);

/** Whether texts are replaced. */
bool anonymise_is_on(const struct anonymise *a);

/** Whether something became "x" as the time was over. */
bool anonymise_is_late(const struct anonymise *a);

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
