/**
 * The SSRCs of an SRTP context: roll-over counter, SRTCP index and replay window
 * of each. Arithmetic only, no keys.
 * Source: RFC 3711 3.2.1, 3.3.1, 3.3.2
 * Thread: the context's.
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SRTP_SOURCE_H
#define OFFHOOK_MEDIA_SECURITY_SRTP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SSRCs for each context; a further one replaces the one whose last packet is
 * the oldest. */
#define SRTP_SOURCES_MAX 8
/* Size of the replay window in packets (RFC 3711 3.3.2: at least 64). Large, so
 * that late packets are measured and not taken for replays. */
#define SRTP_WINDOW       1024
#define SRTP_WINDOW_WORDS (SRTP_WINDOW / 64)

/* Which packets up to the highest index were received. */
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
	uint64_t touched; /* srtp_sources.uses at the last packet */
	uint64_t index;   /* highest: roll-over counter << 16 | sequence no. */
	bool has_index;
	struct srtp_window rtp;
	struct srtp_window rtcp;
	uint32_t rtcp_sent; /* index of the last SRTCP packet sent */
};

struct srtp_sources {
	uint64_t uses; /* packets of all sources */
	struct srtp_source at[SRTP_SOURCES_MAX];
};

/** @return the source; NULL: there is none with this SSRC */
struct srtp_source *srtp_source_find(struct srtp_sources *list, uint32_t ssrc);

/** The place that srtp_source_take() gives to the next source: a free one, or
 * that of the source whose last packet is the oldest one. */
struct srtp_source *srtp_source_place(struct srtp_sources *list);

/** Add a source that srtp_source_find() did not find: when an authentic packet
 * was received, or before one is sent. */
struct srtp_source *srtp_source_take(struct srtp_sources *list, uint32_t ssrc);

/** Copy the sources of an older key with their indexes; the replay windows are
 * empty. */
void srtp_sources_continue(struct srtp_sources *list,
			   const struct srtp_sources *before);

/** Estimate the index of a packet from its sequence number (RFC 3711 3.3.1).
 * @param s  NULL: a new source, roll-over counter 0 */
uint64_t srtp_source_index(const struct srtp_source *s, uint16_t seq);

/** Was the packet received before, or is it older than the window? */
bool srtp_window_seen(const struct srtp_window *w, uint64_t index);

/** Mark an index as received; srtp_window_seen() was false. */
void srtp_window_add(struct srtp_window *w, uint64_t index);

#endif
