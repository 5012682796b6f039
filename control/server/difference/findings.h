/**
 * Differences before they are ranked, and their rank.
 * Thread: the owner of the objects.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_FINDINGS_H
#define OFFHOOK_SERVER_DIFFERENCE_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>

/* Differences that are named; the others are counted. */
#define DIFFERENCE_NAMED_MAX 5

/* Where a difference may be the reason of a failed condition. */
enum difference_scope {
	EXPLAINS_CALLS = 1u << 0,    /* calls are placed, established, end */
	EXPLAINS_REGISTER = 1u << 1, /* registrations succeed */
	EXPLAINS_DELAY = 1u << 2,    /* post-dial delay */
	EXPLAINS_REGISTER_TIME = 1u << 3,
	EXPLAINS_LOSS = 1u << 4,
	EXPLAINS_JITTER = 1u << 5,
	EXPLAINS_RTT = 1u << 6,
	EXPLAINS_MOS = 1u << 7,
	EXPLAINS_RTP = 1u << 8, /* other figures of RTP, states of media */
	EXPLAINS_AUDIO = 1u << 9,
	EXPLAINS_DTMF = 1u << 10,
	EXPLAINS_TEXT = 1u << 11, /* conditions that name it: `words` */
	EXPLAINS_MEDIA = EXPLAINS_LOSS | EXPLAINS_JITTER | EXPLAINS_RTT |
			 EXPLAINS_MOS | EXPLAINS_RTP | EXPLAINS_AUDIO |
			 EXPLAINS_DTMF,
	EXPLAINS_ALL = (1u << 11) - 1,
	EXPLAINS_SIP = 1u << 12, /* any condition on SIP messages */
};

/* In the order of rank, where two explain as many conditions. */
enum difference_kind {
	DIFFERENCE_TESTER,
	DIFFERENCE_CONDITION,
	DIFFERENCE_PARAMETER,
	DIFFERENCE_RESPONSE,
	DIFFERENCE_MESSAGE,
	DIFFERENCE_ORDER,
	DIFFERENCE_CODEC,
	DIFFERENCE_ENCRYPTION,
	DIFFERENCE_MEDIA_ADDRESS,
	DIFFERENCE_SDP,
	DIFFERENCE_HEADER,
	DIFFERENCE_SOFTWARE,
	DIFFERENCE_AGENT,
	DIFFERENCE_RETRANSMISSION,
	DIFFERENCE_TIMING,
	DIFFERENCE_MEDIA,
	DIFFERENCE_KINDS,
};

/** A difference to add; texts are copied. */
struct finding {
	enum difference_kind kind;
	unsigned explains;   /* of enum difference_scope */
	const char *words;   /* with EXPLAINS_TEXT: a text that a condition
			      * contains; NULL: before and after only */
	const char *same_as; /* findings of a kind with the same text are one:
			      * the first is kept */
	const char *role;    /* "" none */
	const char *before;  /* NULL: absent */
	const char *after;   /* NULL: absent */
	int weight;          /* the higher one first among equals of a kind */
	bool single;         /* it rests on one call of several: it is named
			      * only if it explains a condition that failed */
};

/** Add a difference with a sentence. @return 0; -ENOMEM */
int finding_add(json_t *findings, const struct finding *f, const char *sentence,
		...) __attribute__((format(printf, 3, 4)));

/** Rank and cut; leave out what may be chance. @return as difference_of_runs(); findings is released */
json_t *findings_rank(json_t *findings, const json_t *verdicts);

#endif
