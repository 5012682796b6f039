/**
 * Messages between supervisor (or the command line) and an engine process: a
 * stream socket, one compact JSON object per line, at most WIRE_FRAME_BYTES.
 * Thread: one owner per channel.
 */
#ifndef OFFHOOK_WIRE_FRAME_H
#define OFFHOOK_WIRE_FRAME_H

#include <jansson.h>
#include <stddef.h>

#define WIRE_FRAME_BYTES (4u << 20)

struct wire_channel;

/** Make a channel. @param fd  taken over, made non-blocking
 * @return 0; -ENOMEM; -errno */
int wire_channel_new(struct wire_channel **ret, int fd);
struct wire_channel *wire_channel_free(struct wire_channel *c);
int wire_channel_fd(const struct wire_channel *c);

/**
 * Queue a message and write as much as the socket takes.
 * @param message  borrowed
 * @return 0; -EMSGSIZE; -ENOBUFS the queue (64 MiB) is full; -ENOMEM; -EPIPE
 */
int wire_channel_send(struct wire_channel *c, json_t *message);

/**
 * Send a message that is already JSON text, as wire_channel_send(). In the queue it
 * leaves room for a frame: results, which can be sent again later, never fill the queue
 * for the messages of wire_channel_send().
 * @param text  borrowed; one object in compact form, without a line end
 * @param len   bytes
 * @return 0; -EMSGSIZE; -ENOBUFS texts fill the queue (60 MiB); -ENOMEM; -EPIPE
 */
int wire_channel_send_text(struct wire_channel *c, const char *text,
			   size_t len);

/** Write queued messages as far as the socket takes them. @return bytes still
 * queued; -EPIPE */
int wire_channel_flush(struct wire_channel *c);

/**
 * Read one message if a complete one has arrived.
 * @return 1 and *ret a new reference; 0 none yet; -EPIPE the other side is
 *         gone; -EBADMSG not JSON; -EMSGSIZE
 */
int wire_channel_receive(struct wire_channel *c, json_t **ret);

/**
 * Get the text of the message that wire_channel_receive() returned last, as
 * received, without its line end.
 * @param ret_len  bytes
 * @return valid until the next wire_channel_receive(), not terminated
 */
const char *wire_channel_text(const struct wire_channel *c, size_t *ret_len);

#endif
