/**
 * The listening socket.
 */
#ifndef OFFHOOK_SERVER_HTTP_LISTEN_H
#define OFFHOOK_SERVER_HTTP_LISTEN_H

#define LISTEN_ADDRESS_BYTES 96

/**
 * Bind and listen.
 * @param listen   "address:port", "[address]:port" or ":port" (all
 *                 addresses); port 0: any free one
 * @param scheme   of `address`: "http" or "https"
 * @param ret_fd   non-blocking; the caller closes it
 * @param address  "http://address:port" with the port as bound
 * @return 0; -EINVAL; -errno; the reason is in the log
 */
int listen_open(const char *listen, const char *scheme, int *ret_fd,
		char address[LISTEN_ADDRESS_BYTES]);

#endif
