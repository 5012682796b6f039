#include "agent/link/upload.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/wire/event.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* At most four syncs a second and lease. */
#define SYNC_MS   250
#define REQUEST_S 60
/* Long enough for an artifact of 64 MiB over 1 Mbit/s. */
#define ARTIFACT_S 600
/* Ranges of one 409 that are kept; the next 409 names the rest. */
#define MISSING_MAX 64
/* After so many 409 the controller is considered broken. */
#define FINISH_TRIES_MAX 20
/* Delay of the next try when there was no memory, or a file could not be read. */
#define RETRY_MS 5000
/* Tries to read from a disk that fails, one after another: a minute. A lease is renewed
 * until its results are delivered, so there must be an end. */
#define READ_TRIES_MAX 12

struct range {
	uint64_t from;
	uint64_t to;
};

struct upload {
	struct upload_params params;
	struct http_client_call *call;
	struct http_client_call *file_call;
	char file[WIRE_ARTIFACT_NAME_BYTES]; /* sent with it */
	struct event_loop_timer sync;
	uint64_t limit;   /* durable: may be sent */
	uint64_t next;    /* lowest that was never sent */
	uint64_t sending; /* 0: nothing, or the finish */
	bool substituted; /* a flaw is sent instead of a refused upload */
	struct range missing[MISSING_MAX];
	size_t missing_count;
	unsigned finish_tries;
	unsigned read_tries; /* that failed since something was read */
	int failure;         /* -errno that was logged last; 0: sent since */
	bool ended;
};

static void pump(struct upload *u);

static void end(struct upload *u, enum upload_end how)
{
	if (u->ended)
		return;
	u->ended = true;
	http_client_cancel(&u->call);
	http_client_cancel(&u->file_call);
	event_loop_disarm(u->params.loop, &u->sync);
	u->params.end_h(how, u->params.arg);
}

/* ---- answers ---- */

/* @return true: the answer ends the upload, as the lease is gone */
static bool ended_by(struct upload *u, const struct http_client_answer *answer)
{
	switch (answer->status) {
	case 401:
		end(u, UPLOAD_UNAUTHORIZED);
		return true;
	case 403:
	case 404:
	case 410:
		log_warning("lease %s: the controller takes no more results "
			    "(%s)",
			    u->params.lease_id, answer->text);
		end(u, UPLOAD_GONE);
		return true;
	default:
		return false;
	}
}

static bool is_success(const struct http_client_answer *answer)
{
	return answer->status >= 200 && answer->status < 300;
}

static void obey(struct upload *u, const struct http_client_answer *answer)
{
	const char *command =
		json_string_value(json_object_get(answer->body, "command"));

	if (command)
		u->params.command_h(command, u->params.arg);
}

/* The controller has the number that was sent: go to the next one. */
static void advance_first(struct upload *u)
{
	struct range *first = &u->missing[0];

	u->substituted = false;
	if (u->missing_count > 0) {
		if (first->from++ < first->to)
			return;
		u->missing_count--;
		memmove(first, first + 1, u->missing_count * sizeof(*first));
		return;
	}
	u->next = u->sending + 1;
	spool_release(u->params.spool, u->sending);
}

static void on_uploaded(const struct http_client_answer *answer, void *arg)
{
	struct upload *u = arg;

	if (ended_by(u, answer))
		return;
	if (is_success(answer)) {
		advance_first(u);
		obey(u, answer);
	} else if (u->substituted) {
		log_error("lease %s: upload %ju and the flaw in its place were "
			  "refused (%s)",
			  u->params.lease_id, (uintmax_t)u->sending,
			  answer->text);
		advance_first(u);
	} else {
		log_error("lease %s: upload %ju was refused (%s)",
			  u->params.lease_id, (uintmax_t)u->sending,
			  answer->text);
		u->substituted = true;
	}
	pump(u);
}

static void take_missing(struct upload *u, json_t *missing)
{
	uint64_t last = spool_last_seq(u->params.spool);
	json_t *pair;
	size_t i;

	u->missing_count = 0;
	json_array_foreach(missing, i, pair)
	{
		json_int_t from = json_integer_value(json_array_get(pair, 0));
		json_int_t to = json_integer_value(json_array_get(pair, 1));

		if (from < 1 || to < from || (uint64_t)from > last ||
		    u->missing_count == MISSING_MAX)
			continue;
		if ((uint64_t)to > last)
			to = (json_int_t)last;
		u->missing[u->missing_count].from = (uint64_t)from;
		u->missing[u->missing_count++].to = (uint64_t)to;
	}
}

static void on_finished(const struct http_client_answer *answer, void *arg)
{
	struct upload *u = arg;

	if (ended_by(u, answer))
		return;
	if (is_success(answer)) {
		end(u, UPLOAD_ACCEPTED);
		return;
	}
	if (answer->status == 409)
		take_missing(u, json_object_get(answer->body, "missing"));
	if (answer->status != 409 || u->missing_count == 0 ||
	    ++u->finish_tries >= FINISH_TRIES_MAX) {
		log_error("lease %s: the finish was refused (%s)",
			  u->params.lease_id, answer->text);
		end(u, UPLOAD_REFUSED);
		return;
	}
	log_info("lease %s: the controller misses uploads from %ju on",
		 u->params.lease_id, (uintmax_t)u->missing[0].from);
	pump(u);
}

static void on_file_sent(const struct http_client_answer *answer, void *arg)
{
	struct upload *u = arg;

	if (ended_by(u, answer))
		return;
	if (!is_success(answer)) {
		log_warning("lease %s: artifact %s was refused (%s)",
			    u->params.lease_id, u->file, answer->text);
		u->params.lost_h(u->file, answer->text, u->params.arg);
	}
	artifacts_drop(u->params.artifacts, u->file);
	pump(u);
}

/* ---- requests ---- */

/** @param text  instead of body, taken over */
static int request(struct upload *u, const char *what, const json_t *body,
		   char *text, http_answer_h *handler)
{
	char path[128];
	struct http_client_request request = {.method = "POST",
					      .path = path,
					      .body = body,
					      .body_text = text,
					      .timeout_s = REQUEST_S,
					      .answer_h = handler,
					      .arg = u};

	str_print(path, sizeof(path), "/leases/%s/%s", u->params.lease_id,
		  what);
	return http_client_send(&u->call, u->params.http, &request);
}

/* The flaw event that takes the number of a refused upload, so that the sequence
 * has no hole. */
static char *substitute(void)
{
	struct wire_time when = {.wall_us = clock_wall_ns() / NS_PER_US,
				 .mono_ns = clock_mono_ns()};

	json_t *items = json_pack(
		"[o]", wire_event_flaw(when, "upload_lost", 1,
				       "an upload was unreadable in the "
				       "agent's spool or refused by the "
				       "controller"));
	char *text = items ? json_dumps(items, JSON_COMPACT) : NULL;

	json_decref(items);
	return text;
}

/* @return {"seq":SEQ,MEMBER:ITEMS}, to free(); NULL: out of memory */
static char *upload_text(uint64_t seq, const char *member, const char *items)
{
	char *text;

	if (asprintf(&text, "{\"seq\":%ju,\"%s\":%s}", (uintmax_t)seq, member,
		     items) < 0)
		return NULL;
	return text;
}

/* Whether to try again what cannot be read now. A shortage passes, and what is not there
 * does not come back. */
static bool may_pass(struct upload *u, int err)
{
	switch (err) {
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
		return true;
	case -ENOENT:
	case -EBADMSG:
		return false;
	default:
		if (u->read_tries >= READ_TRIES_MAX)
			return false;
		u->read_tries++;
		return true;
	}
}

/* Send an upload of the spool, or the flaw in its place.
 * @return 0; -errno: try again */
static int send_upload(struct upload *u, uint64_t seq)
{
	static const struct {
		const char *what;
		const char *member;
	} kinds[] = {
		[RECORD_STATS] = {"stats", "series"},
		[RECORD_EVENTS] = {"events", "events"},
		[RECORD_SIP] = {"sip", "messages"},
	};
	struct record record = {.kind = RECORD_EVENTS};
	char *body;
	int err = u->substituted ? -EBADMSG
				 : spool_read(u->params.spool, seq, &record);

	if (err && !u->substituted && may_pass(u, err))
		return err;
	if (err) {
		if (!u->substituted)
			log_error("lease %s: upload %ju cannot be read from "
				  "the spool: %s",
				  u->params.lease_id, (uintmax_t)seq,
				  strerror(-err));
		u->substituted = true;
		record.kind = RECORD_EVENTS;
		record.text = substitute();
	} else {
		u->read_tries = 0;
	}
	body = record.text ? upload_text(seq, kinds[record.kind].member,
					 record.text)
			   : NULL;
	free(record.text);
	if (!body)
		return -ENOMEM;
	u->sending = seq;
	return request(u, kinds[record.kind].what, NULL, body, on_uploaded);
}

static int send_finish(struct upload *u)
{
	const char *text = spool_finish(u->params.spool);
	json_t *body = json_loads(text, 0, NULL);
	int err = -ENOMEM;

	if (body && json_object_set_new(body, "last_seq",
					json_integer((json_int_t)spool_last_seq(
						u->params.spool))) == 0)
		err = request(u, "finish", body, NULL, on_finished);
	json_decref(body);
	return err;
}

static int send_file(struct upload *u)
{
	char path[128 + WIRE_ARTIFACT_NAME_BYTES], file[PATH_MAX];
	struct http_client_request request = {.method = "PUT",
					      .path = path,
					      .file = file,
					      .timeout_s = ARTIFACT_S,
					      .answer_h = on_file_sent,
					      .arg = u};

	str_print(path, sizeof(path), "/leases/%s/artifacts/%s",
		  u->params.lease_id, u->file);
	if (str_print(file, sizeof(file), "%s/%s",
		      artifacts_dir(u->params.artifacts), u->file) < 0)
		return -ENAMETOOLONG;
	return http_client_send(&u->file_call, u->params.http, &request);
}

/* Send the next artifact. @return 1: one is under way; 0: there is none left; -errno: try
 * again */
static int pump_files(struct upload *u)
{
	while (!u->file_call) {
		int found = artifacts_next(u->params.artifacts, u->file);
		int err = found == 1 ? send_file(u) : found;

		if (err && may_pass(u, err))
			return err;
		if (found < 0)
			log_error("lease %s: artifacts cannot be found: %s",
				  u->params.lease_id, strerror(-err));
		if (found != 1)
			return 0;
		if (err) {
			log_error("lease %s: artifact %s: %s",
				  u->params.lease_id, u->file, strerror(-err));
			u->params.lost_h(u->file, strerror(-err),
					 u->params.arg);
			artifacts_drop(u->params.artifacts, u->file);
		} else {
			u->read_tries = 0;
		}
	}
	return 1;
}

/* Try again later. The same failure is logged once. */
static void retry(struct upload *u, int err)
{
	if (err != u->failure)
		log_error("lease %s: no upload: %s; trying every %d s",
			  u->params.lease_id, strerror(-err), RETRY_MS / 1000);
	u->failure = err;
	if (!u->sync.armed) /* what was reported meanwhile is not held up */
		event_loop_arm(u->params.loop, &u->sync, RETRY_MS);
}

static void pump(struct upload *u)
{
	int files, err = 0;

	if (u->ended)
		return;
	files = pump_files(u);
	if (u->call)
		err = 0;
	else if (u->missing_count > 0)
		err = send_upload(u, u->missing[0].from);
	else if (u->next <= u->limit)
		err = send_upload(u, u->next);
	else if (files == 0 && spool_finish(u->params.spool) &&
		 u->next > spool_last_seq(u->params.spool))
		err = send_finish(u);
	if (err == 0 && files < 0)
		err = files;
	if (err)
		retry(u, err);
	else
		u->failure = 0;
}

static void on_sync(void *arg)
{
	struct upload *u = arg;
	uint64_t last = spool_last_seq(u->params.spool);
	int err = 0;

	if (spool_synced_seq(u->params.spool) < last)
		err = spool_sync(u->params.spool);
	if (err) /* upload it all the same: it may be lost at a crash */
		log_error("lease %s: the spool cannot be synced: %s",
			  u->params.lease_id, strerror(-err));
	u->limit = last;
	pump(u);
}

void upload_poke(struct upload *u)
{
	if (!u->sync.armed && !u->ended)
		event_loop_arm(u->params.loop, &u->sync, SYNC_MS);
}

void upload_flush(struct upload *u)
{
	if (!u->ended)
		event_loop_arm(u->params.loop, &u->sync, 0);
}

int upload_new(struct upload **ret, const struct upload_params *params)
{
	struct upload *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->params = *params;
	u->sync.due_h = on_sync;
	u->sync.arg = u;
	u->next = spool_first_seq(params->spool);
	*ret = u;
	return 0;
}

struct upload *upload_free(struct upload *u)
{
	if (u) {
		http_client_cancel(&u->call);
		http_client_cancel(&u->file_call);
		event_loop_disarm(u->params.loop, &u->sync);
		free(u);
	}
	return NULL;
}
