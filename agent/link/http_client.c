/* The client: libcurl's sockets and timer on our loop. */
#include "agent/link/http_client_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* A socket of libcurl's. */
struct watch {
	struct event_loop_fd fd;
	struct http_client *http;
};

static void check_done(struct http_client *http)
{
	CURLMsg *msg;
	int left;

	while ((msg = curl_multi_info_read(http->multi, &left))) {
		struct http_client_call *call = NULL;
		CURLcode code = msg->data.result;

		if (msg->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE,
				  (char **)&call);
		http_client_call_done(call,
				      code); /* msg is gone from here on */
	}
}

static void on_socket_ready(uint32_t events, void *arg)
{
	struct watch *watch = arg;
	struct http_client *http = watch->http;
	int flags = 0, running;

	if (events & EPOLLIN)
		flags |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		flags |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		flags |= CURL_CSELECT_ERR;
	curl_multi_socket_action(http->multi, watch->fd.fd, flags, &running);
	check_done(http);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
		     void *socket_arg)
{
	struct http_client *http = arg;
	struct watch *watch = socket_arg;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch) {
			event_loop_unwatch(http->loop, &watch->fd);
			curl_multi_assign(http->multi, fd, NULL);
			free(watch);
		}
		return 0;
	}
	if (!watch) {
		watch = calloc(1, sizeof(*watch));
		if (!watch)
			return -1;
		watch->http = http;
		watch->fd.fd = fd;
		watch->fd.ready_h = on_socket_ready;
		watch->fd.arg = watch;
		curl_multi_assign(http->multi, fd, watch);
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	return event_loop_watch(http->loop, &watch->fd, events) ? -1 : 0;
}

static void on_timer_due(void *arg)
{
	struct http_client *http = arg;
	int running;

	curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	check_done(http);
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct http_client *http = arg;

	(void)multi;
	if (timeout_ms < 0)
		event_loop_disarm(http->loop, &http->timer);
	else
		event_loop_arm(http->loop, &http->timer, timeout_ms);
	return 0;
}

int http_client_authorize(struct http_client *http, const char *user,
			  const char *secret)
{
	char *userpwd;

	if (asprintf(&userpwd, "%s:%s", user, secret) < 0)
		return -ENOMEM;
	if (http->userpwd)
		explicit_bzero(http->userpwd, strlen(http->userpwd));
	free(http->userpwd);
	http->userpwd = userpwd;
	return 0;
}

static char *copy_base_url(const char *url)
{
	char *copy = strdup(url);
	size_t len = copy ? strlen(copy) : 0;

	while (len > 0 && copy[len - 1] == '/')
		copy[--len] = '\0';
	return copy;
}

int http_client_new(struct http_client **ret, struct event_loop *loop,
		    const struct http_client_params *params)
{
	struct http_client *http;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -EIO;
	http = calloc(1, sizeof(*http));
	if (!http)
		goto fail;
	http->loop = loop;
	http->timer.due_h = on_timer_due;
	http->timer.arg = http;
	http->base_url = copy_base_url(params->base_url);
	http->ca_file = params->ca_file ? strdup(params->ca_file) : NULL;
	http->multi = curl_multi_init();
	http->headers =
		curl_slist_append(NULL, "Content-Type: application/json");
	http->file_headers = curl_slist_append(
		NULL, "Content-Type: application/octet-stream");
	/* the body goes with the first packets: no wait for a 100 */
	if (http->headers)
		curl_slist_append(http->headers, "Expect:");
	if (!http->base_url || (params->ca_file && !http->ca_file) ||
	    !http->multi || !http->headers || !http->file_headers)
		goto fail;
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	*ret = http;
	return 0;
fail:
	http_client_free(http);
	return -ENOMEM;
}

struct http_client *http_client_free(struct http_client *http)
{
	if (http) {
		if (http->multi)
			curl_multi_cleanup(http->multi);
		event_loop_disarm(http->loop, &http->timer);
		curl_slist_free_all(http->headers);
		curl_slist_free_all(http->file_headers);
		if (http->userpwd)
			explicit_bzero(http->userpwd, strlen(http->userpwd));
		free(http->userpwd);
		free(http->base_url);
		free(http->ca_file);
		free(http);
	}
	curl_global_cleanup();
	return NULL;
}
