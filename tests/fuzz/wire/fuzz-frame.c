/* A channel reads whatever the process at the other end writes. */
#include "control/wire/batch.h"
#include "control/wire/frame.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is passed on as text is exactly the array that was parsed. */
static void check_items(const struct wire_channel *c, const json_t *message)
{
	size_t len, items_len;
	const char *text = wire_channel_text(c, &len);
	const char *items =
		wire_batch_items(text, len, message, "events", &items_len);
	json_t *array;

	if (!items)
		return;
	array = json_loadb(items, items_len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_equal(array, json_object_get(message, "events")))
		abort();
	json_decref(array);
}

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
		check_items(c, message);
		json_decref(message);
	}
	wire_channel_free(c);
	return 0;
}
