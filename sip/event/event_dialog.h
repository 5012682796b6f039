/**
 * What both sides of a subscription share: its dialog, found by Call-ID, and
 * the requests sent within it.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_SIP_EVENT_EVENT_DIALOG_H
#define OFFHOOK_SIP_EVENT_EVENT_DIALOG_H

#include <re.h>

#include "sip/dialog/dialog.h"
#include "sip/events.h"

struct event_table;
struct event_user;

/** First member of a subscription and of a watcher. */
struct event_dialog {
	struct le he; /* in user->table */
	struct event_user *user;
	const struct originator *origin; /* of user; referenced */
	struct dialog *dialog;
	struct digest *digest;
	struct client_request *req; /* under way, or NULL */
	uint32_t challenges;        /* of req: see digest_challenge() */
	enum sip_package package;
	bool notifier; /* we are */
	bool refers;   /* of a REFER, of no package */
};

/** Set the dialog: requests find it by its Call-ID from now on.
 * @param dialog  taken over
 * @return 0; -ENOMEM */
int event_dialog_init(struct event_dialog *d, struct event_user *user,
		      struct dialog *dialog);
/** The same with the dialog that a request of the peer begins. @return 0; -errno */
int event_dialog_accept(struct event_dialog *d, struct event_user *user,
			const struct sip_msg *msg);
/** Release its members, from the destructor of its owner. */
void event_dialog_release(struct event_dialog *d);
/** The event dialog of a request, also if it is not established yet.
 * @return borrowed; NULL: none */
struct event_dialog *event_dialog_find(const struct event_table *table,
				       const struct sip_msg *msg);

/** Send a request within it; one under way is dropped. @return 0; -errno */
int event_dialog_send(struct event_dialog *d,
		      const struct dialog_request_params *request);

/**
 * Check a SUBSCRIBE of the peer within it: Call-ID, tags and CSeq.
 * @param over  the subscription has ended
 * @return false: the request was refused
 */
bool event_dialog_refreshed(struct event_dialog *d, const struct sip_msg *msg,
			    bool over);

/** Event header. @param ret_id  its id parameter, or NULL
 * @return 0; -ENOENT there is none; -EPROTONOSUPPORT another package */
int event_read(enum sip_package *ret, struct pl *ret_id,
	       const struct sip_msg *msg);

/** Content-Type of a package's bodies. */
const char *event_type(enum sip_package package);

#define EVENT_BODY_BYTES SIP_PRESENCE_BODY_BYTES

/** The body of a package: presence, or mwi (the account's, where it names
 * none). @return length; -ENAMETOOLONG */
int event_body(char *dst, size_t size, enum sip_package package,
	       const struct sip_presence *presence, const struct sip_mwi *mwi,
	       const char *aor);

/** Seconds in a header field. @param otherwise  its value without the field */
uint32_t event_seconds(const struct sip_msg *msg, enum sip_hdrid id,
		       uint32_t otherwise);

#endif
