/**
 * Run SRTP tests with both implementations: as NAME_builtin and NAME_libsrtp2.
 */
#ifndef TESTS_UNIT_MEDIA_SRTP_BOTH_H
#define TESTS_UNIT_MEDIA_SRTP_BOTH_H

#include "media/params.h"

/* The initial state of the test, or of its setup, points to one of these. */
static enum media_srtp_library srtp_libraries[MEDIA_SRTP_LIBRARY_COUNT] = {
	MEDIA_SRTP_LIBRARY_BUILTIN, MEDIA_SRTP_LIBRARY_LIBSRTP2};

/* An entry of a list of struct CMUnitTest. */
#define SRTP_TEST(text, test, setup, teardown, library)                     \
	{                                                                   \
		.name = (text), .test_func = (test), .setup_func = (setup), \
		.teardown_func = (teardown),                                \
		.initial_state = &srtp_libraries[library]                   \
	}

/** One entry: with the built-in implementation. */
#define SRTP_ONE(test, setup, teardown) \
	SRTP_TEST(#test, test, setup, teardown, MEDIA_SRTP_LIBRARY_BUILTIN)

/** Two entries: one with each implementation. */
#define SRTP_BOTH(test, setup, teardown)                            \
	SRTP_TEST(#test "_builtin", test, setup, teardown,          \
		  MEDIA_SRTP_LIBRARY_BUILTIN),                      \
		SRTP_TEST(#test "_libsrtp2", test, setup, teardown, \
			  MEDIA_SRTP_LIBRARY_LIBSRTP2)

/** Return the implementation that the running test uses. */
static inline enum media_srtp_library srtp_library_of(void **state)
{
	return *(const enum media_srtp_library *)*state;
}

#endif
