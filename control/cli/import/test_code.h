/**
 * Makes a test as code of a captured call: the records of one YAML file, and
 * what could not be carried over.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_CLI_IMPORT_TEST_CODE_H
#define OFFHOOK_CONTROL_CLI_IMPORT_TEST_CODE_H

#include <jansson.h>
#include <stdbool.h>

#include "control/cli/import/dialogs.h"

struct test_code_options {
	bool anonymise;
	bool expect_failure;    /* pass if the call fails as captured */
	const char *target;     /* SIP URI; NULL: that of the capture */
	const char *agent_pool; /* name */
	const char *name;       /* of the test; NULL: made from both users */
};

/** How a call was set up and ended. */
struct test_code_summary {
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
int test_code_summarise(const struct dialogs_call *call,
			struct test_code_summary *ret);

/**
 * Make the records.
 * @param d      has the registrations of the capture
 * @param ret    new reference: the document
 * @param notes  new reference: sentences, one for each thing left out
 * @return 0; -ENOMEM; -EBADMSG the INVITE cannot be read; -EINVAL
 *         options->target is no SIP URI
 */
int test_code_make(const struct dialogs *d, const struct dialogs_call *call,
		   const struct test_code_options *options, json_t **ret,
		   json_t **notes);

#endif
