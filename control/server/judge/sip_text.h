/**
 * Read the parts of a SIP message that conditions test. The message is not
 * validated: it may be malformed on purpose. Source: RFC 3261 section 7.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_JUDGE_SIP_TEXT_H
#define OFFHOOK_SERVER_JUDGE_SIP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Part of a message's text. */
struct sip_part {
	const char *p;
	size_t len;
};

/** Get the method of a request, or the status code of a response as text. */
struct sip_part sip_method(const char *message);

/**
 * Find a header field by its full or compact name, case-insensitively.
 * @param nth   0 for the first of that name
 * @return true and its value without surrounding blanks (folded lines as they
 *         are); false: there is none
 */
bool sip_header(const char *message, const char *name, unsigned nth,
		struct sip_part *ret);

/** Get the method of CSeq; len 0 without one. */
struct sip_part sip_cseq_method(const char *message);

/** Get the session description: the body or a part of it; len 0: none. */
struct sip_part sip_sdp(const char *message);

/** Copy a header field value with folded lines joined by one space (RFC 3261
 * 7.3.1).
 * @return to be freed; NULL: out of memory */
char *sip_unfolded(struct sip_part value);

bool sip_part_is(struct sip_part part, const char *text);

#endif
