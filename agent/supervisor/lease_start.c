/* From the offer to the engine: the start is asked for, prompts are fetched. */
#include "agent/link/prompt_files.h"
#include "agent/supervisor/lease_internal.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

#define REQUEST_S 30
/* A prompt of 64 MiB over a link of 1 Mbit/s. */
#define PROMPT_S 600

static void fetch_prompts(struct lease *l);

void lease_end_unstarted(struct lease *l, const char *outcome,
			 const char *reason)
{
	http_client_cancel(&l->start);
	l->state = LEASE_FLUSHING;
	lease_finish(l, outcome, reason);
	l->env->idle_h(l, l->env->arg);
}

static void on_prompt(const struct http_client_answer *answer, void *arg)
{
	struct lease *l = arg;
	char reason[256];
	int err = 0;

	if (answer->status == 401) {
		l->env->unauthorized_h(l->env->arg);
		return;
	}
	if (answer->status == 200)
		err = prompt_files_keep(l->env->prompt_cache, l->fetched,
					answer->data ? answer->data : "",
					answer->len);
	if (answer->status == 200 && err == 0) {
		fetch_prompts(l);
		return;
	}
	str_print(reason, sizeof(reason),
		  "role %s: a prompt cannot be fetched from the controller: %s",
		  l->role,
		  err == -EBADMSG ? "what came is not what its hash says"
		  : err           ? strerror(-err)
				  : answer->text);
	lease_end_unstarted(l, "error", reason);
}

/* One after the other; the engine starts when all are there. */
static void fetch_prompts(struct lease *l)
{
	char path[128];
	struct http_client_request request = {.method = "GET",
					      .path = path,
					      .raw_bytes = PROMPT_FILE_BYTES,
					      .timeout_s = PROMPT_S,
					      .answer_h = on_prompt,
					      .arg = l};

	l->fetched = prompt_files_missing(l->spec, l->env->prompt_cache);
	if (!l->fetched) {
		lease_engine_start(l);
		return;
	}
	str_print(path, sizeof(path), "/appimages/%s", l->fetched);
	if (http_client_send(&l->start, l->env->http, &request))
		lease_end_unstarted(l, "error", "out of memory");
}

static void on_started(const struct http_client_answer *answer, void *arg)
{
	struct lease *l = arg;

	if (answer->status == 401) {
		l->env->unauthorized_h(l->env->arg);
		return;
	}
	if (answer->status < 200 || answer->status >= 300) {
		log_warning("run=%s role=%s lease=%s: not ours to start (%s)",
			    l->session_id, l->role, l->id, answer->text);
		lease_drop(l);
		l->env->idle_h(l, l->env->arg);
		return;
	}
	log_info("run=%s role=%s lease=%s: started", l->session_id, l->role,
		 l->id);
	lease_renewal_begin(l, answer->sent_ns);
	l->state = LEASE_FETCHING;
	fetch_prompts(l);
}

int lease_start(struct lease *l)
{
	char path[128];
	json_t *body = json_object();
	struct http_client_request request = {.method = "POST",
					      .path = path,
					      .body = body,
					      .timeout_s = REQUEST_S,
					      .answer_h = on_started,
					      .arg = l};
	int err;

	str_print(path, sizeof(path), "/leases/%s/start", l->id);
	err = body ? http_client_send(&l->start, l->env->http, &request)
		   : -ENOMEM;
	json_decref(body);
	return err;
}
