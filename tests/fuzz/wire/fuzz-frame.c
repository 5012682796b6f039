/* A channel reads whatever the process on the other end writes. */
#include "control/wire/frame.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_channel *c;
	json_t *message;
	int fds[2];
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds))
		return 0;
	if (wire_channel_new(&c, fds[0]))
		abort();
	n = write(fds[1], data, size);
	close(fds[1]);
	while (n > 0 && wire_channel_receive(c, &message) == 1) {
		if (!json_is_object(message))
			abort();
		json_decref(message);
	}
	wire_channel_free(c);
	return 0;
}
