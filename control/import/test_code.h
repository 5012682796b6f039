/**
 * Makes a test as code of a captured call: the records of one YAML file, and
 * what could not be carried over.
 * Thread: any. Looks at the clock where the options have a time to end at.
 */
#ifndef OFFHOOK_CONTROL_IMPORT_TEST_CODE_H
#define OFFHOOK_CONTROL_IMPORT_TEST_CODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/import/dialogs.h"

struct test_code_options {
	bool anonymise;
	bool expect_failure;    /* pass if the call fails as captured */
	const char *target;     /* SIP URI; NULL: that of the capture */
	const char *agent_pool; /* name */
	const char *name;       /* of the test; NULL: made from both users */
	int64_t end_ns; /* monotonic time at which it is given up; 0: none */
};

/**
 * Make the records.
 * @param d      has the registrations of the capture
 * @param ret    new reference: the document
 * @param notes  new reference: sentences, one for each thing left out
 * @return 0; -ENOMEM; -EBADMSG the INVITE cannot be read; -EINVAL
 *         options->target is no SIP URI; -ETIME after options->end_ns
 */
int test_code_make(const struct dialogs *d, const struct dialogs_call *call,
		   const struct test_code_options *options, json_t **ret,
		   json_t **notes);

/**
 * The same of all calls of a capture, in one document. A call that cannot be
 * read is noted; the notes begin with the number of their call.
 * @return as of test_code_make(); -EBADMSG no call can be read
 */
int test_code_make_all(struct dialogs *d,
		       const struct test_code_options *options, json_t **ret,
		       json_t **notes);

#endif
