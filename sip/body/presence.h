/**
 * Presence documents (PIDF, RFC 3863): open or closed, and a note.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_BODY_PRESENCE_H
#define OFFHOOK_SIP_BODY_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>

#define SIP_PRESENCE_TYPE       "application/pidf+xml"
#define SIP_PRESENCE_NOTE_BYTES 128
#define SIP_ENTITY_BYTES        256

/* Room for any document that presence_print() writes. */
#define SIP_PRESENCE_BODY_BYTES 2048

struct sip_presence {
	bool has_basic; /* a tuple has open or closed */
	bool open;      /* at least one tuple is open */
	unsigned tuples;
	char note[SIP_PRESENCE_NOTE_BYTES]; /* the first one; "": none */
	char entity[SIP_ENTITY_BYTES];      /* URI; set by presence_parse() */
};

/**
 * Parse a document. Elements of other name spaces are skipped. A document type
 * declaration is refused, as it could define entities.
 * @param text  not terminated, untrusted
 * @return 0; -EBADMSG malformed, or no presence document (ret untouched)
 */
int presence_parse(struct sip_presence *ret, const char *text, size_t len);

/**
 * Write a document with one tuple.
 * @param aor  "sip:user@domain"
 * @return length; -ENAMETOOLONG
 */
int presence_print(char *dst, size_t size, const struct sip_presence *presence,
		   const char *aor);

#endif
