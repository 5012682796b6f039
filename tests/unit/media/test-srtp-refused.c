/*
 * A libsrtp2 that lacks a crypto suite, as when it was built without a cipher
 * library: the engine is not created, and the reason names the suite and the
 * remedy.
 */
#include "media/media.h"

#include <srtp2/srtp.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

srtp_err_status_t __real_srtp_create(srtp_t *session,
				     const srtp_policy_t *policy);
srtp_err_status_t __wrap_srtp_create(srtp_t *session,
				     const srtp_policy_t *policy);

static bool refuses;

srtp_err_status_t __wrap_srtp_create(srtp_t *session,
				     const srtp_policy_t *policy)
{
	if (refuses && policy &&
	    policy->rtp.cipher_key_len == SRTP_AES_GCM_256_KEY_LEN_WSALT)
		return srtp_err_status_fail;
	return __real_srtp_create(session, policy);
}

static int engine_new(struct media_engine **ret,
		      enum media_srtp_library library, char *reason)
{
	const struct media_engine_params params = {
		.port_min = 20000,
		.port_max = 20099,
		.sessions_max = 1,
		.srtp_library = library,
		.reason = reason,
	};

	return media_engine_new(ret, &params);
}

static void test_suite_refused(void **state)
{
	char reason[MEDIA_REASON_BYTES] = "";
	struct media_engine *e = NULL;

	(void)state;
	refuses = true;
	assert_int_equal(engine_new(&e, MEDIA_SRTP_LIBRARY_LIBSRTP2, reason),
			 -ENOTSUP);
	assert_null(e);
	assert_non_null(strstr(reason, "AEAD_AES_256_GCM"));
	assert_non_null(strstr(reason, "set srtp_library = builtin"));
	assert_int_equal(engine_new(&e, MEDIA_SRTP_LIBRARY_LIBSRTP2, NULL),
			 -ENOTSUP);
	/* the built-in implementation does not depend on it */
	assert_int_equal(engine_new(&e, MEDIA_SRTP_LIBRARY_BUILTIN, reason), 0);
	media_engine_free(e);
	refuses = false;
	assert_int_equal(engine_new(&e, MEDIA_SRTP_LIBRARY_LIBSRTP2, reason),
			 0);
	media_engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suite_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
