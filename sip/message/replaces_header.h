/**
 * The Replaces header field (RFC 3891 section 6.1).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_MESSAGE_REPLACES_HEADER_H
#define OFFHOOK_SIP_MESSAGE_REPLACES_HEADER_H

#include <re.h>

/** The value of a Replaces header field (RFC 3891 section 3). The texts point into
 * the text that was read. */
struct replaces_header {
	struct pl callid;
	struct pl to_tag; /* our tag of the dialog to be replaced */
	struct pl from_tag;
	bool early_only;
};

/** Parse a value. @param value  Call-ID, then to-tag, from-tag and early-only in any
 * order @return 0; -EBADMSG (*ret untouched) */
int replaces_header_read(struct replaces_header *ret, const struct pl *value);
/**
 * Find the Replaces header in the headers part of a URI, as of a Refer-To.
 * @param ret  its value, unescaped, the caller's; untouched if there is none
 * @return 0; -EBADMSG; -ENOMEM
 */
int replaces_header_of_uri(char **ret, const struct uri *uri);

#endif
