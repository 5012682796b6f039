#include "sip/event/event_table.h"

#include <errno.h>

#include "sip/error.h"

struct event_table {
	struct hash *dialogs;
	uint32_t referrals;
};

static void table_destructor(void *arg)
{
	struct event_table *table = arg;

	mem_deref(table->dialogs);
}

int event_table_new(struct event_table **ret, uint32_t size)
{
	struct event_table *table =
		mem_zalloc(sizeof(*table), table_destructor);
	int err;

	if (!table)
		return -ENOMEM;
	err = neg(hash_alloc(&table->dialogs, size));
	if (err) {
		mem_deref(table);
		return err;
	}
	*ret = table;
	return 0;
}

void event_table_add(struct event_table *table, struct event_dialog *d,
		     struct le *he, const char *callid)
{
	hash_append(table->dialogs, hash_joaat_str(callid), he, d);
}

struct event_dialog *event_table_find(const struct event_table *table,
				      const struct pl *callid,
				      list_apply_h *match_h, void *arg)
{
	return list_ledata(hash_lookup(table->dialogs, hash_joaat_pl(callid),
				       match_h, arg));
}

uint32_t event_table_referrals(const struct event_table *table)
{
	return table->referrals;
}

void event_table_referral_begun(struct event_table *table)
{
	table->referrals++;
}

void event_table_referral_ended(struct event_table *table)
{
	table->referrals--;
}
