/**
 * A SIPp and its calls, for the files of sip/sipp.
 * process.c  the process, its pipes, its end
 * dialog.c   calls: their state, offer and answer, read from the SIP messages
 */
#ifndef OFFHOOK_SIP_SIPP_INTERNAL_H
#define OFFHOOK_SIP_SIPP_INTERNAL_H

#include <errno.h>
#include <re.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/mono_timer.h"
#include "sip/sdp/sdp.h"
#include "sip/sipp/sipp.h"
#include "sip/ua/ua_ops.h"

#define SIPP_ID_BYTES     256
#define SIPP_CALLS_SIZE   1024 /* buckets */
#define SIPP_FOLDER_BYTES 128

enum sipp_pipe {
	SIPP_PIPE_MESSAGES,
	SIPP_PIPE_STATISTICS,
	SIPP_PIPE_ERRORS,
	SIPP_PIPE_OUTPUT, /* its standard error */
	SIPP_PIPES
};

struct sipp {
	/* constant after sipp_start() */
	sip_message_h *trace_h;
	void *trace_arg;
	void (*call_h)(struct sip_call *call, bool outgoing, void *arg);
	sipp_sentence_h *error_h;
	void (*listens_h)(void *arg);
	void (*ended_h)(const struct sipp_end *end, void *arg);
	void *arg;
	bool tcp;
	struct media_addr local; /* of SIP */

	struct media_addr peer; /* of SIP, as far as it is known */
	struct hash *calls;     /* by Call-ID */
	struct list measured;   /* calls that have an RTP port of their own */
	pid_t pid;              /* 0: none */
	int pid_fd;             /* -1: none */
	int held_fd;            /* of its media ports; -1: none */
	int fds[SIPP_PIPES];    /* -1: closed */
	struct sipp_messages messages;
	struct sipp_statistics statistics;
	struct sipp_errors errors;
	struct sipp_errors output;
	char last[SIPP_SENTENCE_BYTES];
	struct sipp_end end;
	struct mono_timer tmr_listen;
	struct mono_timer tmr_stop;
	struct mono_timer tmr_end;
};

/** One SIP message of the log. */
void sipp_dialog_message(struct sipp *s, bool sent, const char *data,
			 size_t len);
/** Forget all calls: those that were adopted are their owner's to free. */
void sipp_dialog_detach_all(struct sipp *s);
/** The process has ended: close all calls. */
void sipp_dialog_close_all(struct sipp *s);

#endif
