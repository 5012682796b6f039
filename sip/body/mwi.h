/**
 * Message summaries of mailboxes (RFC 3842).
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_BODY_MWI_H
#define OFFHOOK_SIP_BODY_MWI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIP_MWI_TYPE "application/simple-message-summary"

/* Room for any body that mwi_print() writes. */
#define SIP_MWI_BODY_BYTES 1024

/* Message contexts (RFC 3458 section 6.2) */
enum sip_mwi_context {
	SIP_MWI_VOICE,
	SIP_MWI_VIDEO,
	SIP_MWI_FAX,
	SIP_MWI_PAGER,
	SIP_MWI_MULTIMEDIA,
	SIP_MWI_TEXT,
	SIP_MWI_NONE,
	SIP_MWI_CONTEXTS
};

struct sip_mwi_count {
	bool known;
	uint32_t fresh;
	uint32_t old;
	bool has_urgent;
	uint32_t urgent_fresh; /* of the fresh ones */
	uint32_t urgent_old;
};

struct sip_mwi {
	bool waiting;
	char account[256]; /* URI; "": not said */
	struct sip_mwi_count counts[SIP_MWI_CONTEXTS];
};

/**
 * Parse a summary; headers of messages that follow it are skipped.
 * @param text  not terminated, untrusted
 * @return 0; -EBADMSG (ret untouched)
 */
int mwi_parse(struct sip_mwi *ret, const char *text, size_t len);

/** Write a body, terminated. @return length; -ENAMETOOLONG */
int mwi_print(char *dst, size_t size, const struct sip_mwi *mwi);

/** Write one line for a report: "yes, voice-message 2/8 (0/2)"; cut to size. */
void mwi_text(char *dst, size_t size, const struct sip_mwi *mwi);

#endif
