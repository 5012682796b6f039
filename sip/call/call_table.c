#include "sip/call/call_table.h"

#include <errno.h>

#include "sip/error.h"
#include "sip/sdp/sdp_address.h"

struct call_table {
	struct hash *calls;
	uint32_t count;
	uint32_t calls_max;
	struct sdp_route route; /* to where peers want media */
};

static void table_destructor(void *arg)
{
	struct call_table *table = arg;

	mem_deref(table->calls);
	sdp_route_close(&table->route);
}

int call_table_new(struct call_table **ret, uint32_t size, uint32_t calls_max)
{
	struct call_table *table = mem_zalloc(sizeof(*table), table_destructor);
	int err;

	if (!table)
		return -ENOMEM;
	table->calls_max = calls_max;
	err = neg(hash_alloc(&table->calls, size));
	if (err) {
		mem_deref(table);
		return err;
	}
	*ret = table;
	return 0;
}

bool call_table_is_full(const struct call_table *table)
{
	return table->count >= 2 * table->calls_max + 16;
}

uint32_t call_table_count(const struct call_table *table)
{
	return table->count;
}

void call_table_add(struct call_table *table, struct sip_call *call,
		    struct le *he, const char *callid)
{
	hash_append(table->calls, hash_joaat_str(callid), he, call);
	table->count++;
}

void call_table_remove(struct call_table *table, struct le *he)
{
	if (!he->list)
		return;
	hash_unlink(he);
	table->count--;
}

struct sip_call *call_table_find(const struct call_table *table,
				 const struct pl *callid, list_apply_h *match_h,
				 void *arg)
{
	if (!pl_isset(callid))
		return NULL;
	return list_ledata(
		hash_lookup(table->calls, hash_joaat_pl(callid), match_h, arg));
}

void call_table_apply(const struct call_table *table, list_apply_h *handler,
		      void *arg)
{
	hash_apply(table->calls, handler, arg);
}

struct sdp_route *call_table_route(struct call_table *table)
{
	return &table->route;
}
