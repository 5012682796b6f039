/*
 * The thread, the kernel and the connection of turn_stream.c for fuzz-turn.c: functions
 * of libc are replaced (--wrap in meson.build), and the thread runs only where it is said
 * here. Each byte that turn_stream.c writes or passes on is checked.
 */
#ifndef TESTS_FUZZ_MEDIA_TURN_HOST_H
#define TESTS_FUZZ_MEDIA_TURN_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Begin an input: transactions have the same numbers for each. */
void host_begin(void);

/** Begin to connect to the server. @param refused  it takes no connection */
void host_open(bool refused);
/** Close the connection, and check that nothing is left of it. */
void host_close(void);
/** @return why the connection was lost; NULL: it is still there */
const char *host_reason(void);

/** We send a datagram to the server.
 * @param later  the thread does not run before the next event */
void host_datagram(const uint8_t *data, size_t bytes, bool later);
/** The server takes so many bytes, and no more until the next call. */
void host_take(size_t bytes);

/** The server sends bytes. */
void host_send(const uint8_t *data, size_t bytes);
/** So many of them arrive. @param drop  nobody reads what is passed on */
void host_arrive(size_t bytes, bool drop);
/** The connection breaks: reading and writing give this error; 0: it is closed. */
void host_break(int error);

/** The next frame that was passed on. @return its size; 0: there is none */
size_t host_frame(const uint8_t **ret);

#endif
