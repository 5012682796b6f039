/**
 * Parsers of what a running SIPp 3.6 writes: its message log (-trace_msg), its
 * statistics (-trace_stat) and its error log (-trace_err). All take the text in pieces
 * as it is written and keep a bounded part of it.
 * Thread: one owner.
 */
#ifndef OFFHOOK_SIP_SIPP_LOGS_H
#define OFFHOOK_SIP_SIPP_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SIPP_MESSAGE_MAX    65536 /* bytes; longer messages are left out */
#define SIPP_LINE_MAX       16384 /* of the statistics; longer ones are left out */
#define SIPP_SENTENCE_BYTES 256 /* with its terminator; longer ones are cut */

/* ---- messages ---- */

/** A SIP message. @param data  not terminated */
typedef void(sipp_message_h)(bool sent, bool tcp, const char *data, size_t len,
			     void *arg);

struct sipp_messages {
	struct buf data;
	uint64_t left_out; /* messages that were too long */
	sipp_message_h *message_h;
	void *arg;
};

/** Set up an empty parser. */
void sipp_messages_init(struct sipp_messages *m, sipp_message_h *message_h,
			void *arg);
/** Wipe and free its buffer. */
void sipp_messages_release(struct sipp_messages *m);
/** Parse more of the log; calls the handler. @return 0; -ENOMEM */
int sipp_messages_feed(struct sipp_messages *m, const char *data, size_t len);

/* ---- statistics ---- */

/* Cumulative counters: X(member, name of the column without "(C)"). */
/* clang-format off */
#define SIPP_COUNTERS(X) \
	X(incoming, "IncomingCall") \
	X(outgoing, "OutgoingCall") \
	X(successful, "SuccessfulCall") \
	X(failed, "FailedCall") \
	X(cannot_send, "FailedCannotSendMessage") \
	X(max_retransmissions, "FailedMaxUDPRetrans") \
	X(tcp_connect, "FailedTcpConnect") \
	X(tcp_closed, "FailedTcpClosed") \
	X(unexpected_message, "FailedUnexpectedMessage") \
	X(call_rejected, "FailedCallRejected") \
	X(command_not_sent, "FailedCmdNotSent") \
	X(regexp_no_match, "FailedRegexpDoesntMatch") \
	X(regexp_match, "FailedRegexpShouldntMatch") \
	X(header_not_found, "FailedRegexpHdrNotFound") \
	X(congestion, "FailedOutboundCongestion") \
	X(receive_timeout, "FailedTimeoutOnRecv") \
	X(send_timeout, "FailedTimeoutOnSend") \
	X(test_no_match, "FailedTestDoesntMatch") \
	X(test_match, "FailedTestShouldntMatch") \
	X(strcmp_no_match, "FailedStrcmpDoesntMatch") \
	X(strcmp_match, "FailedStrcmpShouldntMatch") \
	X(out_of_call, "OutOfCallMsgs") \
	X(dead_call, "DeadCallMsgs") \
	X(retransmissions, "Retransmissions") \
	X(warnings, "Warnings")
/* clang-format on */

#define SIPP_COUNTER_MEMBER(member, name) uint64_t member;
struct sipp_counters {
	SIPP_COUNTERS(SIPP_COUNTER_MEMBER)
};
#undef SIPP_COUNTER_MEMBER

#define SIPP_COUNTER_COUNT              \
	(sizeof(struct sipp_counters) / \
	 sizeof(uint64_t)) /* members are alike */

struct sipp_statistics {
	struct buf line;
	bool overlong; /* the rest of the line is left out */
	size_t columns[SIPP_COUNTER_COUNT]; /* + 1; 0: the file has none */
	bool known;                         /* a line of figures was read */
	struct sipp_counters counters;
};

void sipp_statistics_init(struct sipp_statistics *s);
void sipp_statistics_release(struct sipp_statistics *s);
/** Take the figures of every whole line. @return 0; -ENOMEM */
int sipp_statistics_feed(struct sipp_statistics *s, const char *data,
			 size_t len);
/** A counter by its place in SIPP_COUNTERS. @param ret_name  its column */
uint64_t sipp_counter(const struct sipp_counters *c, size_t i,
		      const char **ret_name);

/* ---- errors ---- */

/** A sentence of the error log, without its time stamp. @param text  terminated */
typedef void(sipp_sentence_h)(const char *text, void *arg);

struct sipp_errors {
	struct buf line;
	bool overlong;
	sipp_sentence_h *sentence_h;
	void *arg;
};

void sipp_errors_init(struct sipp_errors *e, sipp_sentence_h *sentence_h,
		      void *arg);
void sipp_errors_release(struct sipp_errors *e);
/** Report the sentence of every entry; what follows it (the message that was
 * received) is left out, as it is in the SIP trace. @return 0; -ENOMEM */
int sipp_errors_feed(struct sipp_errors *e, const char *data, size_t len);

/* ---- the scenario ---- */

/**
 * Find what would run a shell command of the host, `<exec command="...">`: any
 * attribute `command` behind an <exec.
 * @return the number of its line, from 1; 0: there is none
 */
size_t sipp_scenario_command(const char *xml, size_t len);

#endif
