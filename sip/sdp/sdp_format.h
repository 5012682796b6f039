/**
 * The formats of an audio line: payload types and their codecs (RFC
 * 4566 sections 5.14 and 6, RFC 3551 section 6). Pure: no libre.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_FORMAT_H
#define OFFHOOK_SIP_SDP_SDP_FORMAT_H

#include "base/buf.h"
#include "base/span.h"
#include "media/params.h"

#define SDP_EVENT_NAME "telephone-event" /* RFC 4733 */

struct sdp;

/** Parse the payload types of the audio line; dynamic ones get their names from
 * a=rtpmap. More than SDP_FORMATS_MAX are ignored. */
void sdp_formats_parse(struct sdp *sdp, struct span s);
/** Parse the value of a=rtpmap, "<pt> <name>/<clock>[/<channels>]". */
void sdp_rtpmap_parse(struct sdp *sdp, struct span s);
/** Parse the value of a=fmtp, "<pt> <parameters>"; a longer one is ignored. */
void sdp_fmtp_parse(struct sdp *sdp, struct span s);
/** After the last line: remove payload types without a name. */
void sdp_formats_named(struct sdp *sdp);

/** Append a=rtpmap, and a=fmtp where there is one. @return 0; -ENOMEM;
 * -EMSGSIZE */
int sdp_format_write(struct buf *b, const struct media_codec *codec);

/** Whether both are the same codec, whatever payload type and parameters. */
bool sdp_format_same(const struct media_codec *a, const struct media_codec *b);

#endif
