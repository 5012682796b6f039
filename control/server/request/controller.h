/**
 * The controller's one context: what main() builds and everything else gets.
 * Constant while requests run; the parts guard themselves.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_CONTROLLER_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_CONTROLLER_H

struct callback_sender;
struct controller_conf;
struct database;
struct http;
struct run_engine;
struct secrets;
struct sessions;

struct controller {
	const struct controller_conf *conf;
	struct secrets *secrets;
	struct database *database;
	struct run_engine *run_engine;
	struct sessions *sessions;
	struct callback_sender *callbacks;
	/* Released by main() when it serves, acquired by the threads that wake
	 * parked requests: publishes the server. */
	_Atomic(struct http *) http;
};

#endif
