/**
 * What an SRTP context keeps of each source: the index of its packets and
 * which of them have been seen. Arithmetic only, no keys.
 * Source: RFC 3711 3.2.1, 3.3.1, 3.3.2
 * Thread: the context's.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SRTP_SOURCE_H
#define OFFHOOK_MEDIA_SECURITY_SRTP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sources a context keeps apart; a further one takes the place of the one that
 * was authenticated longest ago. */
#define SRTP_SOURCES_MAX 8
/* Packets the replay window reaches back (RFC 3711 3.3.2: 64 at least). Wide,
 * as the measurement wants to see late packets. */
#define SRTP_WINDOW       1024
#define SRTP_WINDOW_WORDS (SRTP_WINDOW / 64)

/* Bits of the packets at and behind the highest index. */
struct srtp_window {
	bool any;
	uint64_t highest;
	uint64_t seen[SRTP_WINDOW_WORDS]; /* by index modulo SRTP_WINDOW */
};

struct srtp_source {
	bool used;
	bool continued; /* no packet with this key yet, the index is that of
			 * the key before: the peer may begin again with 0 */
	uint32_t ssrc;
	uint64_t touched; /* uses of the last authentic packet */
	uint64_t index;   /* roll-over counter and sequence number, highest */
	bool has_index;
	struct srtp_window rtp;
	struct srtp_window rtcp;
	uint32_t rtcp_sent; /* index of the last SRTCP packet sent */
};

struct srtp_sources {
	uint64_t uses;
	struct srtp_source at[SRTP_SOURCES_MAX];
};

/** @return NULL: it has no place */
struct srtp_source *srtp_source_find(struct srtp_sources *list, uint32_t ssrc);

/** The place that srtp_source_take() gives to the next source: a free one, or
 * that of the source whose last packet is the oldest one. */
struct srtp_source *srtp_source_place(struct srtp_sources *list);

/** Give a place to a source that has none: an authentic packet of it came, or
 * one is sent. */
struct srtp_source *srtp_source_take(struct srtp_sources *list, uint32_t ssrc);

/** All sources go on where those of an older key were, their replay windows
 * empty. */
void srtp_sources_continue(struct srtp_sources *list,
			   const struct srtp_sources *before);

/** The index most likely meant by a sequence number (RFC 3711 3.3.1).
 * @param s  NULL: a source of which nothing is known */
uint64_t srtp_source_index(const struct srtp_source *s, uint16_t seq);

/** Seen before, or older than the window. */
bool srtp_window_seen(const struct srtp_window *w, uint64_t index);

/** Note an index that was not seen. */
void srtp_window_add(struct srtp_window *w, uint64_t index);

#endif
