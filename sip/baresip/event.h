/**
 * Messages of baresip's ctrl_tcp, in JSON: events and answers to commands.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_BARESIP_EVENT_H
#define OFFHOOK_SIP_BARESIP_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#define BARESIP_WORD_BYTES 64
#define BARESIP_ID_BYTES   256
#define BARESIP_TEXT_BYTES 256

enum baresip_event {
	BARESIP_ANSWER, /* to a command */
	BARESIP_REGISTER_FAIL,
	BARESIP_CALL_INCOMING,
	BARESIP_CALL_CLOSED,
	BARESIP_CALL_TRANSFER_FAILED,
	BARESIP_CALL_MENC,
	BARESIP_CALL_DTMF_START,
	BARESIP_AUDIO_ERROR,
	BARESIP_OTHER, /* another event, ignored */
};

struct baresip_message {
	enum baresip_event event;
	bool ok;                        /* of an answer */
	bool outgoing;                  /* an event of a call that it placed */
	char token[BARESIP_WORD_BYTES]; /* of the command; "": none */
	char id[BARESIP_ID_BYTES];      /* Call-ID; "": none */
	char text[BARESIP_TEXT_BYTES];  /* param or data, cut; "": none */
};

/** Parse a message.
 * @return 0; -EBADMSG no JSON object, or neither event nor answer */
int baresip_message_parse(struct baresip_message *ret, const char *json,
			  size_t len);

struct buf;

/** Append a command as a netstring. @param params  NULL: none
 *  @return 0; -EINVAL a text is not UTF-8; -ENOMEM; -EMSGSIZE */
int baresip_command_write(struct buf *b, const char *command,
			  const char *params, const char *token);

#endif
