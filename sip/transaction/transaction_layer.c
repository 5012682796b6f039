#include "sip/transaction/transaction_layer.h"

#include <errno.h>

#include "sip/error.h"
#include "sip/transaction/transaction_layer_internal.h"
#include "sip/transport/transport.h"

#define ADDRESS_HASH_SIZE 256

static void layer_destructor(void *arg)
{
	struct transaction_layer *layer = arg;

	mem_deref(layer->clients);
	mem_deref(layer->calling);
	mem_deref(layer->servers);
	mem_deref(layer->merges);
	mem_deref(layer->software);
}

int transaction_layer_new(struct transaction_layer **ret,
			  struct transport *transport, const char *software,
			  uint32_t size)
{
	struct transaction_layer *layer =
		mem_zalloc(sizeof(*layer), layer_destructor);
	int err = 0;

	if (!layer)
		return -ENOMEM;
	layer->transport = transport;
	(void)re_snprintf(layer->sent_by, sizeof(layer->sent_by), "%J",
			  transport_laddr(transport));
	if (software)
		err = text_print(&layer->software, "%s", software);
	if (!err)
		err = neg(hash_alloc(&layer->clients, size));
	if (!err)
		err = neg(hash_alloc(&layer->calling, ADDRESS_HASH_SIZE));
	if (!err)
		err = neg(hash_alloc(&layer->servers, size));
	if (!err)
		err = neg(hash_alloc(&layer->merges, size));
	if (err) {
		mem_deref(layer);
		return err;
	}
	*ret = layer;
	return 0;
}

struct transport *transaction_layer_transport(
	const struct transaction_layer *layer)
{
	return layer->transport;
}

const char *transaction_layer_software(const struct transaction_layer *layer)
{
	return layer->software;
}

const char *transaction_layer_failure(const struct transaction_layer *layer)
{
	return layer->failure;
}
