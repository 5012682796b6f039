/**
 * One attempt to deliver a callback over HTTP: address check, request with
 * header fields and signature, evaluation of the answer.
 * Thread: the sender's.
 */
#ifndef OFFHOOK_SERVER_CALLBACK_TRANSFER_H
#define OFFHOOK_SERVER_CALLBACK_TRANSFER_H

#include "control/server/callback/address.h"
#include "control/server/store/store_callback.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct controller_conf;

struct transfer {
	/* constant, borrowed */
	const struct controller_conf *conf;
	const struct netlist *allow;

	CURL *easy; /* NULL: free; its CURLINFO_PRIVATE is the transfer */
	struct curl_slist *headers;
	struct callback_claim claim;
	int64_t started_ns;
	char address[CALLBACK_ADDRESS_BYTES];
	bool allowed; /* an address was allowed */
	bool refused; /* an address was refused */
	char response[CALLBACK_RESPONSE_BYTES];
	size_t response_len;
	size_t answer_len;
	char error[CURL_ERROR_SIZE];
};

/** Prepare the request of its claim.
 * @param body  copied @return 0; -ENOMEM */
int transfer_prepare(struct transfer *t, const char *body);

struct transfer_outcome {
	char error[CALLBACK_ERROR_BYTES]; /* "": delivered */
	long status;                      /* HTTP; 0: none */
	bool final;                       /* a further attempt would not help */
};

/** Evaluate the end of a transfer. @param code  result from libcurl */
void transfer_ended(struct transfer *t, CURLcode code,
		    struct transfer_outcome *ret);

/** Release its resources; it may be used again. */
void transfer_release(struct transfer *t);

#endif
