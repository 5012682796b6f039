/**
 * Presence documents: PIDF (RFC 3863), as far as a user agent says of itself
 * and hears of others whether somebody is there.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_BODY_PRESENCE_H
#define OFFHOOK_SIP_BODY_PRESENCE_H

#include <stdbool.h>
#include <stddef.h>

#define SIP_PRESENCE_TYPE       "application/pidf+xml"
#define SIP_PRESENCE_NOTE_BYTES 128
#define SIP_ENTITY_BYTES        256

/* A document of ours is never longer. */
#define SIP_PRESENCE_BODY_BYTES 2048

struct sip_presence {
	bool has_basic; /* a tuple said open or closed */
	bool open;      /* any tuple is */
	unsigned tuples;
	char note[SIP_PRESENCE_NOTE_BYTES]; /* the first one; "": none */
	char entity[SIP_ENTITY_BYTES];      /* URI; read only */
};

/**
 * Read a document. Elements of other name spaces are skipped; a document type
 * declaration is refused, since entities of it could be anything.
 * @param text  not terminated, untrusted
 * @return 0; -EBADMSG no XML, or no presence document (ret untouched)
 */
int presence_parse(struct sip_presence *ret, const char *text, size_t len);

/**
 * Write the document of one tuple.
 * @param aor  "sip:user@domain"
 * @return length; -ENAMETOOLONG
 */
int presence_print(char *dst, size_t size, const struct sip_presence *presence,
		   const char *aor);

#endif
