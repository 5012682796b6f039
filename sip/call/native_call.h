/**
 * The native user agent's functions in its table of operations (ua_ops.h):
 * calls. Each does what call.h says of the function of that name.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_CALL_NATIVE_CALL_H
#define OFFHOOK_SIP_CALL_NATIVE_CALL_H

#include "sip/call.h"

int native_call_adopt(struct sip_call *call, sip_call_h *handler, void *arg);
int64_t native_call_came_ns(const struct sip_call *call);
int native_call_ring(struct sip_call *call);
const struct sip_call *native_call_replaced(const struct sip_call *call);
int native_call_progress(struct sip_call *call, uint16_t code,
			 const struct media_local *media);
int native_call_redirect(struct sip_call *call, uint16_t code,
			 const char *contacts);
int native_call_answer(struct sip_call *call, const struct media_local *media);
int native_call_reject(struct sip_call *call, uint16_t code,
		       const char *reason);
void native_call_hangup(struct sip_call *call);
int native_call_hold(struct sip_call *call);
int native_call_resume(struct sip_call *call);
int native_call_relocate(struct sip_call *call,
			 const struct media_local *media);
int native_call_reinvite(struct sip_call *call);
int native_call_update(struct sip_call *call);
int native_call_request(struct sip_call *call, const char *method,
			const char *type, const char *body);
int native_call_transfer(struct sip_call *call, const char *uri, bool silent);
int native_call_transfer_attended(struct sip_call *call,
				  const struct sip_call *other);
int native_call_refer_progress(struct sip_call *call, uint16_t code,
			       const char *reason);
int native_call_digit(struct sip_call *call, char digit);
int native_call_mute(struct sip_call *call, bool mute);
int native_call_play(struct sip_call *call, const char *path, int64_t ns);
const char *native_call_id(const struct sip_call *call);
const char *native_call_peer(const struct sip_call *call);
struct sip_call *native_call_free(struct sip_call *call);

#endif
