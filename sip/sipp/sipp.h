/**
 * Debian's SIPp as a client: one process that runs a scenario of the user. What it does
 * is read from what it writes (-trace_msg, -trace_stat, -trace_err), each into a pipe, so
 * that no file grows and nothing is read late. Every dialog that begins with an INVITE is a
 * call of sip/call.h that cannot be driven: the scenario drives it. Its RTP is measured by
 * a tap (media.h) at the address of SIP_CALL_LOCAL_SDP.
 *
 * sipp 3.6.1 sends the RTP of all its calls from one port: of calls that are up at the same
 * time only the first is measured, the others have no client_rtp.
 * Docs: docs/reference/sipp.md
 * Thread: loop; handlers are called from the loop, never within these functions.
 */
#ifndef OFFHOOK_SIP_SIPP_SIPP_H
#define OFFHOOK_SIP_SIPP_SIPP_H

#include "sip/sipp/logs.h"
#include "sip/trace.h"
#include "sip/ua.h"

#define SIPP_PROGRAM "/usr/bin/sipp"
/* After SIPP_STOP_MS without new calls a SIPp that was told to end is killed. */
#define SIPP_STOP_MS 2000

struct sipp;

/** How a SIPp ended. */
struct sipp_end {
	int status;       /* of exit(); -1: it was killed */
	int signal;       /* that killed it, or 0 */
	bool stopped;     /* sipp_stop() asked for it */
	const char *last; /* sentence that it wrote last; "" */
	bool known;       /* the counters were read */
	struct sipp_counters counters;
	uint64_t unmeasured; /* calls that shared the RTP port of another one */
	uint64_t left_out;   /* messages that could not be read */
};

struct sipp_params {
	const char *folder;   /* its working directory: the files of the test */
	const char *scenario; /* a file in it */
	const char *remote;   /* "host:port"; NULL: none */
	const char *const *words; /* further words of its command line */
	size_t word_count;
	const char *bind_addr; /* literal */
	uint16_t port;         /* of SIP; 0: any */
	uint16_t rtp_min;
	uint16_t rtp_max;
	bool tcp;
	sip_message_h *trace_h; /* may be NULL */
	void *trace_arg;
	/** A call has begun: sip_call_adopt() it, or it is not reported. */
	void (*call_h)(struct sip_call *call, bool outgoing, void *arg);
	sipp_sentence_h *error_h; /* of -trace_err */
	/** It has bound its SIP port, so it can be called; not if it ends before.
	 * NULL: nobody waits for that */
	void (*listens_h)(void *arg);
	/** Its process has ended, after SIP_CALL_CLOSED of its calls. */
	void (*ended_h)(const struct sipp_end *end, void *arg);
	void *arg;
	char *reason; /* SIP_REASON_BYTES; written on failure */
};

/**
 * Check whether SIPp is installed.
 * Thread: any.
 * @param reason  SIP_REASON_BYTES; written on failure: cause and remedy
 * @return 0; -ENOENT
 */
int sipp_usable(char *reason);

/** Start a process. @param params  borrowed for the call
 * @return 0; -ENOENT; -EADDRINUSE no port is free; -ENOMEM; -errno */
int sipp_start(struct sipp **ret, const struct sipp_params *params);
/** Let it place and take no more calls; it ends after those that are up, within
 * SIPP_STOP_MS. */
void sipp_stop(struct sipp *s);
/** Kill the process and free it; its calls are closed without a report.
 * @return NULL */
struct sipp *sipp_free(struct sipp *s);

#endif
