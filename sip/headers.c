#include <string.h>
#include <strings.h>

#include "sip/internal.h"

/* Two of these, or a wrong one, would break the message itself. */
static const char *const reserved[] = {
	"Via",
	"From",
	"To",
	"Call-ID",
	"CSeq",
	"Max-Forwards",
	"Content-Length",
	"Content-Type",
	"Contact",
	"v",
	"f",
	"t",
	"i",
	"l",
	"c",
	"m",
};

bool header_text_valid(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* token of RFC 3261 25.1 */
static bool token_valid(const char *text)
{
	static const char marks[] = "-.!%*_+`'~";

	if (!*text)
		return false;
	for (; *text; text++) {
		char c = *text;

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || strchr(marks, c)))
			return false;
	}
	return true;
}

static bool header_valid(const struct sip_custom_header *header)
{
	if (!header->name || !header->value || !token_valid(header->name) ||
	    !header_text_valid(header->value))
		return false;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		if (strcasecmp(header->name, reserved[i]) == 0)
			return false;
	}
	return true;
}

static void items_destructor(void *arg)
{
	struct header_list *list = arg;

	for (size_t i = 0; i < list->count; i++) {
		mem_deref((void *)(uintptr_t)list->items[i].name);
		mem_deref((void *)(uintptr_t)list->items[i].value);
	}
	mem_deref(list->items);
	list->items = NULL;
	list->count = 0;
}

void headers_release(struct header_list *list)
{
	items_destructor(list);
}

int headers_copy(struct header_list *ret,
		 const struct sip_custom_header *headers, size_t count)
{
	struct header_list list = {.items = NULL};
	char *name, *value;

	for (size_t i = 0; i < count; i++) {
		if (!header_valid(&headers[i]))
			return -EINVAL;
	}
	if (count == 0) {
		*ret = list;
		return 0;
	}
	list.items = mem_zalloc(count * sizeof(list.items[0]), NULL);
	if (!list.items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (str_dup(&name, headers[i].name))
			goto nomem;
		list.items[list.count].name = name;
		if (str_dup(&value, headers[i].value)) {
			mem_deref(name);
			goto nomem;
		}
		list.items[list.count].value = value;
		list.items[list.count++].scope = headers[i].scope;
	}
	*ret = list;
	return 0;
nomem:
	headers_release(&list);
	return -ENOMEM;
}

static bool scope_covers(enum sip_header_scope scope, const char *method)
{
	bool registering = strcmp(method, "REGISTER") == 0;

	switch (scope) {
	case SIP_SCOPE_ANY:
		return true;
	case SIP_SCOPE_REGISTERS:
		return registering;
	case SIP_SCOPE_CALLS:
		return !registering;
	case SIP_SCOPE_INVITES:
		return strcmp(method, "INVITE") == 0;
	case SIP_SCOPE_PRESENCE:
	case SIP_SCOPE_UPDATES:
	case SIP_SCOPE_REFERS:
		break;
	}
	return false;
}

int headers_write(struct mbuf *mb, const struct header_list *list,
		  const char *method)
{
	int err = 0;

	for (size_t i = 0; i < list->count && !err; i++) {
		if (scope_covers(list->items[i].scope, method))
			err = mbuf_printf(mb, "%s: %s\r\n", list->items[i].name,
					  list->items[i].value);
	}
	return neg(err);
}

bool headers_have(const struct header_list *list, const char *name,
		  const char *method)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcasecmp(list->items[i].name, name) == 0 &&
		    scope_covers(list->items[i].scope, method))
			return true;
	}
	return false;
}
