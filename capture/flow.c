#include "capture/flow.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_SIZE 64

static bool is_ipv4(const struct address *a)
{
	struct address mapped;

	address_set_ipv4(&mapped, a->bytes + 12);
	return mapped.words[0] == a->words[0] && mapped.words[1] == a->words[1];
}

void address_text(const struct address *a, char text[static ADDRESS_TEXT_BYTES])
{
	if (is_ipv4(a))
		inet_ntop(AF_INET, a->bytes + 12, text, ADDRESS_TEXT_BYTES);
	else
		inet_ntop(AF_INET6, a->bytes, text, ADDRESS_TEXT_BYTES);
}

void address_groups(const struct address *a,
		    char text[static ADDRESS_TEXT_BYTES])
{
	size_t used = 0;

	if (is_ipv4(a)) {
		address_text(a, text);
		return;
	}
	for (size_t i = 0; i < 16; i += 2)
		used += (size_t)snprintf(text + used, ADDRESS_TEXT_BYTES - used,
					 i ? ":%x" : "%x",
					 a->bytes[i] << 8 | a->bytes[i + 1]);
}

void flow_table_init(struct flow_table *t, size_t max)
{
	*t = (struct flow_table){.max = max};
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = (uintptr_t)t;
}

void flow_table_release(struct flow_table *t)
{
	free(t->keys);
	free(t->slots);
	*t = (struct flow_table){0};
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Multiply and fold, as in wyhash; the odd constants are arbitrary. */
static uint64_t hash(const struct flow_table *t, const struct flow_key *key)
{
	const uint64_t *a = key->src.words;
	const uint64_t *b = key->dst.words;

	return fold(fold(a[0] ^ t->seed, a[1] ^ UINT64_C(0x9e3779b97f4a7c15)) ^
			    fold(b[0] ^ t->seed,
				 b[1] ^ UINT64_C(0xbf58476d1ce4e5b9)),
		    flow_key_rest(key) ^ t->seed ^
			    UINT64_C(0x94d049bb133111eb));
}

uint32_t flow_table_find(const struct flow_table *t, const struct flow_key *key)
{
	uint64_t h;
	size_t i;

	if (t->size == 0)
		return FLOW_NONE;
	h = hash(t, key);
	for (i = (size_t)h & (t->size - 1); t->slots[i].index != 0;
	     i = (i + 1) & (t->size - 1)) {
		if (t->slots[i].tag == (uint32_t)(h >> 32) &&
		    flow_key_equal(&t->keys[t->slots[i].index - 1], key))
			return t->slots[i].index - 1;
	}
	return FLOW_NONE;
}

static void place(struct flow_table *t, uint32_t index)
{
	uint64_t h = hash(t, &t->keys[index]);
	size_t i = (size_t)h & (t->size - 1);

	while (t->slots[i].index != 0)
		i = (i + 1) & (t->size - 1);
	t->slots[i].tag = (uint32_t)(h >> 32);
	t->slots[i].index = index + 1;
}

static int grow(struct flow_table *t)
{
	size_t size = t->size ? 2 * t->size : FIRST_SIZE;
	void *slots = calloc(size, sizeof(*t->slots));
	struct flow_key *keys = realloc(t->keys, size / 2 * sizeof(*keys));

	if (keys)
		t->keys = keys;
	if (!slots || !keys) {
		free(slots);
		return -1;
	}
	free(t->slots);
	t->slots = slots;
	t->size = size;
	for (size_t i = 0; i < t->count; i++)
		place(t, (uint32_t)i);
	return 0;
}

uint32_t flow_table_add(struct flow_table *t, const struct flow_key *key)
{
	uint32_t index = (uint32_t)t->count;

	if (t->count >= t->max)
		return FLOW_NONE;
	if (t->count >= t->size / 2 && grow(t))
		return FLOW_NONE;
	t->keys[t->count++] = *key;
	place(t, index);
	return index;
}
