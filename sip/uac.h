/**
 * The INVITE of a call we place, and its ACK (RFC 3261 13.2).
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_UAC_H
#define OFFHOOK_SIP_UAC_H

#include <re.h>

struct buf;
struct media_local;
struct request;
struct sip_account;
struct sip_call;

int call_local_set(struct sip_call *call, const struct media_local *media);
/** @param sdp  our answer to an offer in the 2xx, or NULL */
int uac_ack(struct sip_call *call, uint32_t cseq, const struct buf *sdp);
int uac_invite(struct sip_call *call);
/** It is on the wire. */
void call_sent(struct sip_call *call, int64_t mono_ns);
/** An INVITE, whose method and handlers are set, with the call's headers; its
 * response handler lets go of the call. @return 0; -errno */
int uac_invite_send(struct sip_call *call, struct request *request);
/** Give the INVITE up; how must have been set by call_set_end(). */
void uac_cancel(struct sip_call *call);
void uac_ack_again(struct sip_call *call, const struct sip_msg *msg);
/** "sip:1002@example.net" of "1002", "1002@example.net" or a URI. */
int peer_uri(char **ret, const struct sip_account *account, const char *uri);
int invite_send_handler(enum sip_transp tp, const struct sa *src,
			const struct sa *dst, struct mbuf *mb, void *arg);

#endif
