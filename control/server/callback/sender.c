#include "control/server/callback/callback.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/callback/address.h"
#include "control/server/callback/transfer.h"
#include "control/server/request/controller.h"
#include "control/server/store/store.h"
#include "control/server/store/store_callback.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Concurrent transfers; a receiver that does not answer occupies one of them.
 */
#define TRANSFERS_MAX 16

#define BACKOFF_MAX_MS 600000

struct callback_sender {
	/* constant after start */
	const struct controller_conf *conf;
	struct netlist allow;
	struct store *store;
	CURLM *multi;
	pthread_t thread;

	atomic_bool stop; /* relaxed: a wake-up follows */
	struct transfer transfers[TRANSFERS_MAX]; /* thread */
};

/* Full jitter: a random delay from 0 to a bound that doubles per attempt. */
static int64_t backoff_ms(const struct controller_conf *conf, int64_t number)
{
	int64_t bound = INT64_C(1000) * conf->callback_retry_s;

	for (int64_t i = 1; i < number && bound < BACKOFF_MAX_MS; i++)
		bound *= 2;
	if (bound > BACKOFF_MAX_MS)
		bound = BACKOFF_MAX_MS;
	return (int64_t)randombytes_uniform((uint32_t)bound + 1);
}

static void finish(struct callback_sender *s, struct transfer *t,
		   const char *error, long status, bool final)
{
	int64_t now = store_now_ms();
	struct callback_result r = {
		.ended_at = now,
		.duration_ms = (clock_mono_ns() - t->started_ns) / NS_PER_MS,
		.http_status = status,
		.final = final,
		.next_at = now + backoff_ms(s->conf, t->claim.number),
	};
	int err;

	(void)str_copy(r.address, sizeof(r.address), t->address);
	str_print(r.error, sizeof(r.error), "%s", error);
	(void)str_copy(r.response, sizeof(r.response), t->response);
	err = store_callback_end(s->store, &t->claim, &r);
	if (err)
		log_error("callback=%lld: the result of try %lld could not be "
			  "kept: %s",
			  (long long)t->claim.id, (long long)t->claim.number,
			  strerror(-err));
	if (error[0])
		log_warning("callback=%lld: try %lld failed: %s",
			    (long long)t->claim.id, (long long)t->claim.number,
			    error);
	else
		log_info("callback=%lld: delivered with try %lld",
			 (long long)t->claim.id, (long long)t->claim.number);
	transfer_release(t);
}

static struct transfer *free_transfer(struct callback_sender *s)
{
	for (size_t i = 0; i < TRANSFERS_MAX; i++)
		if (!s->transfers[i].easy)
			return &s->transfers[i];
	return NULL;
}

static void begin(struct callback_sender *s, struct transfer *t)
{
	const char *body =
		json_string_value(json_object_get(t->claim.request, "body"));

	t->started_ns = clock_mono_ns();
	if (!body) {
		finish(s, t,
		       "it cannot be read: the key file is another one than "
		       "when it was written",
		       0, true);
		return;
	}
	if (transfer_prepare(t, body) ||
	    curl_multi_add_handle(s->multi, t->easy))
		finish(s, t, "out of memory", 0, false);
}

static void claim_due(struct callback_sender *s)
{
	int64_t held_ms = INT64_C(1000) * (s->conf->callback_timeout_s + 5);
	struct transfer *t;
	int err = 1;

	while (err > 0 && (t = free_transfer(s))) {
		int64_t now = store_now_ms();

		err = store_callback_claim(s->store, now, now + held_ms,
					   &t->claim);
		if (err > 0)
			begin(s, t);
	}
	if (err < 0)
		log_error("callbacks could not be read: %s", strerror(-err));
}

static void collect(struct callback_sender *s)
{
	struct transfer *t;
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(s->multi, &left))) {
		CURLcode code = msg->data.result;
		struct transfer_outcome outcome;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &t);
		curl_multi_remove_handle(s->multi, t->easy);
		transfer_ended(t, code, &outcome);
		finish(s, t, outcome.error, outcome.status, outcome.final);
	}
}

static void *sender_thread(void *arg)
{
	struct callback_sender *s = arg;
	int running;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		claim_due(s);
		curl_multi_perform(s->multi, &running);
		collect(s);
		curl_multi_poll(s->multi, NULL, 0, 500, NULL);
	}
	for (size_t i = 0; i < TRANSFERS_MAX; i++) {
		struct transfer *t = &s->transfers[i];

		if (!t->easy)
			continue;
		curl_multi_remove_handle(s->multi, t->easy);
		finish(s, t, "the controller was stopped during this try", 0,
		       false);
	}
	return NULL;
}

int callback_sender_start(struct callback_sender **ret,
			  struct controller *controller)
{
	struct callback_sender *s;
	int err = -ENOMEM;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (!s)
		goto out;
	s->conf = controller->conf;
	for (size_t i = 0; i < TRANSFERS_MAX; i++) {
		s->transfers[i].conf = s->conf;
		s->transfers[i].allow = &s->allow;
	}
	s->multi = curl_multi_init();
	if (!s->multi)
		goto out;
	err = netlist_parse(&s->allow, s->conf->callback_allow);
	if (!err)
		err = store_new(&s->store, controller->database);
	if (!err)
		err = -pthread_create(&s->thread, NULL, sender_thread, s);
out:
	if (err) {
		if (s) {
			store_free(s->store);
			curl_multi_cleanup(s->multi);
		}
		free(s);
		curl_global_cleanup();
		return err;
	}
	*ret = s;
	return 0;
}

struct callback_sender *callback_sender_stop(struct callback_sender *s)
{
	if (!s)
		return NULL;
	atomic_store_explicit(&s->stop, true, memory_order_relaxed);
	curl_multi_wakeup(s->multi);
	pthread_join(s->thread, NULL);
	curl_multi_cleanup(s->multi);
	store_free(s->store);
	free(s);
	curl_global_cleanup();
	return NULL;
}

void callback_sender_poke(struct callback_sender *s)
{
	if (s)
		curl_multi_wakeup(s->multi);
}
