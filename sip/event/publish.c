#include "sip/event/publish.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/dialog/dialog.h"
#include "sip/dialog/originator.h"
#include "sip/event/event_dialog.h"
#include "sip/message/digest.h"
#include "sip/message/message.h"
#include "sip/message/text.h"
#include "sip/mono_timer.h"

#define REFRESH_PERCENT 90 /* of what was granted */
#define EXPIRES_MAX_S   86400
#define ETAG_BYTES      256

/* After this many 412 in a row we do not publish anew (RFC 3903 section
 * 4.4): the compositor keeps nothing. */
#define LOST_MAX 3

struct sip_publication {
	const struct originator *origin; /* the account's; referenced */
	struct dialog *dialog; /* Call-ID, tag and CSeq: one for all */
	struct digest *digest;
	struct client_request *req;
	uint32_t challenges; /* of req: see digest_challenge() */
	enum sip_package package;
	struct sip_presence presence;
	struct sip_mwi mwi;
	char etag[ETAG_BYTES]; /* "": the compositor has nothing of ours */
	uint32_t asked_s;
	bool raised;   /* by a 423 */
	unsigned lost; /* 412 answers in a row */
	bool refreshing; /* the request under way is an automatic refresh: no event */
	bool removing;
	struct mono_timer tmr; /* refresh, or the end of the removal */
	sip_publication_h *handler;
	void *arg;
};

static int publish(struct sip_publication *p, bool with_body);

static void destructor(void *arg)
{
	struct sip_publication *p = arg;

	mono_timer_cancel(&p->tmr);
	mem_deref(p->req);
	mem_deref(p->dialog);
	mem_deref(p->digest);
	originator_unref(p->origin);
}

static void tell(struct sip_publication *p, enum sip_publication_event event,
		 const struct sip_msg *msg, const char *reason,
		 uint32_t expires_s)
{
	const struct sip_publication_info info = {
		.mono_ns = msg ? originator_received_ns(p->origin)
			       : clock_mono_ns(),
		.code = msg ? msg->scode : 0,
		.reason = reason,
		.expires_s = expires_s,
	};

	if (p->handler)
		p->handler(p, event, &info, p->arg);
}

static void failed(struct sip_publication *p, const struct sip_msg *msg,
		   const char *reason)
{
	mono_timer_cancel(&p->tmr);
	p->etag[0] = '\0';
	tell(p, p->removing ? SIP_UNPUBLISHED : SIP_PUBLISH_FAIL, msg, reason,
	     0);
}

static void unsent(struct sip_publication *p, int err)
{
	char reason[REASON_BYTES];

	originator_failure(reason, sizeof(reason), p->origin, -err);
	failed(p, NULL, reason);
}

static void refresh_handler(void *arg)
{
	struct sip_publication *p = arg;
	int err;

	mem_ref(p);
	p->refreshing = true;
	p->raised = false;
	p->challenges = 0;
	err = publish(p, false);
	if (err)
		unsent(p, err);
	mem_deref(p);
}

static void published(struct sip_publication *p, const struct sip_msg *msg)
{
	const struct sip_hdr *etag = sip_msg_hdr(msg, SIP_HDR_SIP_ETAG);
	uint32_t expires_s = event_seconds(msg, SIP_HDR_EXPIRES, p->asked_s);
	bool refreshed = p->refreshing;
	char reason[REASON_BYTES];

	msg_line(reason, sizeof(reason), msg);
	if (p->removing) {
		failed(p, msg, reason); /* the publication is removed */
		return;
	}
	/* RFC 3903 section 6, step 6: a 2xx has SIP-ETag and Expires */
	if (!etag || etag->val.l == 0 || etag->val.l >= ETAG_BYTES) {
		failed(p, msg, "the answer has no SIP-ETag that can be used");
		return;
	}
	if (expires_s == 0) {
		failed(p, msg, "the compositor granted no time (Expires: 0)");
		return;
	}
	(void)pl_strcpy(&etag->val, p->etag, sizeof(p->etag));
	p->lost = 0;
	p->refreshing = false;
	mono_timer_start(&p->tmr, (uint64_t)expires_s * 10 * REFRESH_PERCENT,
			 refresh_handler, p);
	if (!refreshed)
		tell(p, SIP_PUBLISHED, msg, reason, expires_s);
}

/* @return 0: the request was sent again; -errno with the reason in dst */
static int again(struct sip_publication *p, const struct sip_msg *msg,
		 bool with_body, char *dst, size_t size)
{
	uint32_t least = event_seconds(msg, SIP_HDR_MIN_EXPIRES, 0);
	int err;

	msg_line(dst, size, msg);
	if (digest_asked(msg)) {
		err = digest_challenge(p->digest, &p->challenges, msg);
		if (err)
			digest_reason(dst, size, err, msg);
		return err ? err : publish(p, with_body);
	}
	if (p->removing)
		return -EACCES;
	/* 412: the compositor does not know our entity tag: publish anew */
	if (msg->scode == 412 && p->etag[0] && p->lost < LOST_MAX) {
		p->lost++;
		p->etag[0] = '\0';
		p->challenges = 0;
		return publish(p, true);
	}
	if (msg->scode != 423 || p->raised || least <= p->asked_s ||
	    least > EXPIRES_MAX_S)
		return -EACCES;
	p->raised = true;
	p->asked_s = least;
	return publish(p, with_body);
}

static void answered(struct sip_publication *p, int err,
		     const struct sip_msg *msg, bool with_body)
{
	char reason[REASON_BYTES];

	if (err)
		originator_failure(reason, sizeof(reason), p->origin, err);
	else if (msg->scode < 300) {
		published(p, msg);
		return;
	} else if (again(p, msg, with_body, reason, sizeof(reason)) == 0) {
		return;
	}
	p->refreshing = false;
	failed(p, err ? NULL : msg, reason);
}

static void full_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_publication *p = arg;

	if (!err && msg->scode < 200)
		return;
	mem_ref(p);
	answered(p, err, msg, true);
	mem_deref(p);
}

static void bare_handler(int err, const struct sip_msg *msg, void *arg)
{
	struct sip_publication *p = arg;

	if (!err && msg->scode < 200)
		return;
	mem_ref(p);
	answered(p, err, msg, false);
	mem_deref(p);
}

static int publish(struct sip_publication *p, bool with_body)
{
	char lines[ETAG_BYTES + 128];
	char body[EVENT_BODY_BYTES];
	struct dialog_request_params request = {
		.method = "PUBLISH",
		.headers = lines,
		.resph = with_body ? full_handler : bare_handler,
		.arg = p,
	};

	if (with_body) {
		int n = event_body(body, sizeof(body), p->package, &p->presence,
				   &p->mwi, originator_aor(p->origin));

		if (n < 0)
			return n;
		request.type = event_type(p->package);
		request.body = body;
	}
	str_print(lines, sizeof(lines), "Event: %s\r\nExpires: %u\r\n",
		  sip_package_name(p->package), p->removing ? 0 : p->asked_s);
	if (p->etag[0])
		str_print(lines + strlen(lines), sizeof(lines) - strlen(lines),
			  "SIP-If-Match: %s\r\n", p->etag);
	p->req = mem_deref(p->req);
	return dialog_send(&p->req, p->origin, p->dialog, p->digest, &request);
}

static void state_take(struct sip_publication *p,
		       const struct sip_event_state *state)
{
	if (state->presence)
		p->presence = *state->presence;
	else
		p->mwi = *state->mwi;
}

int publication_new(struct sip_publication **ret,
		    const struct originator *origin,
		    const struct sip_event_state *state, uint32_t expires_s,
		    sip_publication_h *handler, void *arg)
{
	struct sip_publication *p;
	int err;

	if (expires_s == 0 || expires_s > EXPIRES_MAX_S ||
	    !state->presence == !state->mwi)
		return -EINVAL;
	p = mem_zalloc(sizeof(*p), destructor);
	if (!p)
		return -ENOMEM;
	p->origin = originator_ref(origin);
	p->package = state->presence ? SIP_PACKAGE_PRESENCE : SIP_PACKAGE_MWI;
	state_take(p, state);
	p->asked_s = expires_s;
	p->handler = handler;
	p->arg = arg;
	err = dialog_new(&p->dialog, origin, originator_aor(origin),
			 originator_aor(origin));
	if (!err)
		err = originator_digest(&p->digest, p->origin);
	if (!err)
		err = publish(p, true);
	if (err) {
		mem_deref(p);
		return err;
	}
	*ret = p;
	return 0;
}

int sip_publication_modify(struct sip_publication *p,
			   const struct sip_event_state *state)
{
	if (!state->presence == !state->mwi ||
	    (p->package == SIP_PACKAGE_PRESENCE) != (state->presence != NULL))
		return -EINVAL;
	if (p->removing || (p->req && !p->refreshing))
		return -EBUSY;
	state_take(p, state);
	p->refreshing = false;
	p->raised = false;
	p->lost = 0;
	mono_timer_cancel(&p->tmr);
	p->challenges = 0;
	return publish(p, true);
}

static void removed_handler(void *arg)
{
	struct sip_publication *p = arg;
	char reason[REASON_BYTES];

	mem_ref(p);
	p->req = mem_deref(p->req);
	if (p->etag[0])
		str_print(reason, sizeof(reason),
			  "no answer from %s within %u s",
			  originator_target(p->origin),
			  DIALOG_END_WAIT_MS / 1000);
	else
		str_print(reason, sizeof(reason),
			  "there was no publication to remove");
	failed(p, NULL, reason);
	mem_deref(p);
}

void sip_unpublish(struct sip_publication *p)
{
	if (p->removing)
		return;
	p->removing = true;
	p->refreshing = false;
	p->req = mem_deref(p->req);
	p->challenges = 0;
	if (p->etag[0] && publish(p, false))
		p->etag[0] = '\0';
	mono_timer_start(&p->tmr, p->etag[0] ? DIALOG_END_WAIT_MS : 0,
			 removed_handler, p);
}

struct sip_publication *sip_publication_free(struct sip_publication *p)
{
	if (!p)
		return NULL;
	p->handler = NULL;
	mono_timer_cancel(&p->tmr);
	p->req = mem_deref(p->req);
	return mem_deref(p);
}
