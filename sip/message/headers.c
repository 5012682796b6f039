#include "sip/message/headers.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "sip/error.h"

struct header_list {
	struct sip_custom_header *items;
	size_t count;
};

/* Fields that identify transactions and dialogs, or frame the body. */
static const char *const reserved[] = {
	"Via",
	"To",
	"Call-ID",
	"CSeq",
	"Content-Length",
	"Content-Type",
	"Route",
	"Record-Route",
	"Authorization",
	"Proxy-Authorization",
};

/* RFC 3261 7.3.3 and the registry of header fields */
static const struct {
	char compact[2];
	const char *name;
} compacts[] = {
	{"v", "Via"},
	{"f", "From"},
	{"t", "To"},
	{"i", "Call-ID"},
	{"l", "Content-Length"},
	{"c", "Content-Type"},
	{"m", "Contact"},
	{"e", "Content-Encoding"},
	{"k", "Supported"},
	{"s", "Subject"},
	{"o", "Event"},
	{"u", "Allow-Events"},
	{"r", "Refer-To"},
	{"b", "Referred-By"},
	{"x", "Session-Expires"},
};

static const char *long_name(const char *name)
{
	for (size_t i = 0; i < sizeof(compacts) / sizeof(compacts[0]); i++) {
		if (strcasecmp(name, compacts[i].compact) == 0)
			return compacts[i].name;
	}
	return name;
}

static bool name_same(const char *a, const char *b)
{
	return strcasecmp(long_name(a), long_name(b)) == 0;
}

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
		if (name_same(header->name, reserved[i]))
			return false;
	}
	/* From is written by the sender, which appends our tag. */
	return !name_same(header->name, "From") ||
	       !strstr(header->value, ";tag=");
}

static void list_destructor(void *arg)
{
	struct header_list *list = arg;

	for (size_t i = 0; i < list->count; i++) {
		mem_deref((void *)(uintptr_t)list->items[i].name);
		mem_deref((void *)(uintptr_t)list->items[i].value);
	}
	mem_deref(list->items);
}

static int item_copy(struct header_list *list,
		     const struct sip_custom_header *header)
{
	struct sip_custom_header *item = &list->items[list->count];
	char *name, *value;

	if (str_dup(&name, header->name))
		return -ENOMEM;
	if (str_dup(&value, header->value)) {
		mem_deref(name);
		return -ENOMEM;
	}
	*item = (struct sip_custom_header){
		.name = name, .value = value, .scope = header->scope};
	list->count++;
	return 0;
}

int headers_new(struct header_list **ret,
		const struct sip_custom_header *headers, size_t count)
{
	struct header_list *list;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		if (!header_valid(&headers[i]))
			return -EINVAL;
	}
	list = mem_zalloc(sizeof(*list), list_destructor);
	if (!list)
		return -ENOMEM;
	if (count) {
		list->items = mem_zalloc(count * sizeof(list->items[0]), NULL);
		err = list->items ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < count; i++)
		err = item_copy(list, &headers[i]);
	if (err) {
		mem_deref(list);
		return err;
	}
	*ret = list;
	return 0;
}

unsigned headers_scopes(const char *method, bool in_dialog, const char *lines)
{
	bool notify = strcmp(method, "NOTIFY") == 0;
	bool refer = notify && lines && strstr(lines, "Event: refer");
	unsigned scopes = 1u << SIP_SCOPE_ANY;

	if (strcmp(method, "REGISTER") == 0)
		return scopes | 1u << SIP_SCOPE_REGISTERS;
	scopes |= 1u << SIP_SCOPE_NOT_REGISTERS;
	if (strcmp(method, "SUBSCRIBE") == 0 ||
	    strcmp(method, "PUBLISH") == 0 || (notify && !refer))
		return scopes | 1u << SIP_SCOPE_PRESENCE;
	if (strcmp(method, "INVITE") == 0)
		scopes |= 1u << SIP_SCOPE_INVITES | 1u << SIP_SCOPE_CALLS;
	else if (strcmp(method, "UPDATE") == 0)
		scopes |= 1u << SIP_SCOPE_UPDATES;
	else if (strcmp(method, "REFER") == 0)
		scopes |= 1u << SIP_SCOPE_REFERS;
	if (in_dialog || strcmp(method, "CANCEL") == 0)
		scopes |= 1u << SIP_SCOPE_CALLS;
	return scopes;
}

static bool covers(unsigned scopes, const struct sip_custom_header *header)
{
	return scopes & (1u << header->scope);
}

int headers_write(struct mbuf *mb, const struct header_list *list,
		  unsigned scopes)
{
	int err = 0;

	for (size_t i = 0; i < list->count && !err; i++) {
		if (covers(scopes, &list->items[i]) &&
		    !name_same(list->items[i].name, "From"))
			err = mbuf_printf(mb, "%s: %s\r\n", list->items[i].name,
					  list->items[i].value);
	}
	return neg(err);
}

const char *headers_find(const struct header_list *list, unsigned scopes,
			 const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (covers(scopes, &list->items[i]) &&
		    name_same(list->items[i].name, name))
			return list->items[i].value;
	}
	return NULL;
}

int headers_write_own(struct mbuf *mb, const struct header_list *list,
		      unsigned scopes, const char *lines)
{
	int err = 0;

	while (lines && *lines && !err) {
		const char *end = strstr(lines, "\r\n");
		size_t len = end ? (size_t)(end - lines) + 2 : strlen(lines);
		size_t name_len = strcspn(lines, ": \r\n");
		char name[64];

		if (name_len >= sizeof(name))
			return -EINVAL;
		memcpy(name, lines, name_len);
		name[name_len] = '\0';
		if (!headers_find(list, scopes, name))
			err = mbuf_write_mem(mb, (const uint8_t *)lines, len);
		lines += len;
	}
	return neg(err);
}
