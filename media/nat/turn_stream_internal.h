/**
 * Inside of TURN over a stream: shared by turn_stream.c (the thread, the life
 * of connections) and turn_stream_carry.c (what they carry).
 */
#ifndef OFFHOOK_MEDIA_NAT_TURN_STREAM_INTERNAL_H
#define OFFHOOK_MEDIA_NAT_TURN_STREAM_INTERNAL_H

#include "media/nat/turn_stream.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define NAME_BYTES 256

/* Ends of a pair: the thread's, and that of those who send and receive. */
enum {
	OURS,
	THREADS,
};

struct turn_stream {
	/* constant after turn_stream_open() */
	struct turn_streams *all;
	int pair[2];
	int tcp;
	char name[NAME_BYTES];

	_Atomic(const char *) reason; /* thread; static text */

	/* under the lock of all */
	struct turn_stream *next;
	bool closing; /* loop */

	/* thread */
	SSL *ssl; /* NULL: TCP alone */
	bool connected;
	bool writing; /* epoll tells when there is room */
	uint8_t *out;
	size_t out_bytes;
	uint8_t *in;
	size_t in_bytes;
};

struct turn_streams {
	pthread_t thread;
	bool started;
	int epoll_fd;
	int wake_fd;
	SSL_CTX *verifying;
	SSL_CTX *trusting;
	_Atomic bool quit;
	/* neither the RX nor the TX thread takes it */
	pthread_mutex_t lock;
	struct turn_stream *list;
	size_t count;
};

/** Take the datagrams that wait; each is a whole frame. Thread: relay's. */
void turn_stream_send(struct turn_stream *s);

/** The connection to the server is ready for something.
 * @param events  of epoll. Thread: relay's */
void turn_stream_event(struct turn_stream *s, unsigned events);

#endif
