/**
 * How a captured call was set up and ended, from its messages.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_CALL_SUMMARY_H
#define OFFHOOK_CONTROL_IMPORT_CALL_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "control/import/dialogs.h"

/** How a call was set up and ended. */
struct call_summary {
	struct sip_name from;
	struct sip_name to; /* of the first request URI */
	int64_t invite_ns;
	int64_t ringing_ns;     /* 0: no 18x */
	int64_t established_ns; /* 0: never */
	int64_t end_ns;         /* BYE or CANCEL, else the last packet */
	unsigned code;          /* final response; 0: none */
	bool ended;             /* BYE or CANCEL was seen */
	bool by_caller;         /* it was the caller's */
	bool challenged;        /* the caller sent credentials */
	const struct dialogs_message *first;  /* the first INVITE */
	const struct dialogs_message *invite; /* the last initial one */
	const struct dialogs_message *final;  /* NULL: none */
};

/** @return 0; -EBADMSG the INVITE cannot be read */
int call_summary_make(const struct dialogs_call *call,
		      struct call_summary *ret);

#endif
