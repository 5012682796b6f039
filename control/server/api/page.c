#include "control/server/api/page.h"

#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/request/fields.h"
#include "control/server/request/query.h"

#include <stdio.h>
#include <string.h>

static bool read_number(const struct request *req, const char *name,
			uint64_t max, int64_t *value, struct reply *rep)
{
	const char *text = query_get(req, name);
	uint64_t number;

	if (!text)
		return true;
	if (str_to_u64(text, max, &number)) {
		field_error(rep, name, "must be a whole number from 0 to %llu",
			    (unsigned long long)max);
		return false;
	}
	*value = (int64_t)number;
	return true;
}

bool page_read(const struct request *req, struct page *ret, struct reply *rep)
{
	uint32_t max = request_conf(req)->page_limit;

	ret->start = 0;
	ret->count = max < PAGE_COUNT ? max : PAGE_COUNT;
	return read_number(req, "start", INT32_MAX, &ret->start, rep) &&
	       read_number(req, "count", max, &ret->count, rep);
}

bool page_read_all(const struct request *req, struct page *ret,
		   struct reply *rep)
{
	if (!page_read(req, ret, rep))
		return false;
	if (!query_get(req, "count"))
		ret->count = request_conf(req)->page_limit;
	return true;
}

/* The query without start and count, each pair with a leading '&'.
 * @return false: it does not fit; a link with a part of it would select more */
static bool other_query(const struct request *req, char *dst, size_t size)
{
	json_t *pair;
	size_t i;

	dst[0] = '\0';
	json_array_foreach(request_query(req), i, pair)
	{
		const char *name = json_string_value(json_array_get(pair, 0));
		const char *value = json_string_value(json_array_get(pair, 1));
		size_t used = strlen(dst);

		if (strcmp(name, "start") == 0 || strcmp(name, "count") == 0)
			continue;
		if (used + 3 * (strlen(name) + strlen(value)) + 3 >= size)
			return false;
		memcpy(dst + used, "&", 2);
		query_escape(dst, size, name);
		memcpy(dst + strlen(dst), "=", 2);
		query_escape(dst, size, value);
	}
	return true;
}

static bool add_link(char *links, size_t size, const struct request *req,
		     const char *query, int64_t start, int64_t count,
		     const char *rel)
{
	size_t used = strlen(links);

	return str_print(links + used, size - used,
			 "%s</api/v2%s?start=%lld&count=%lld%s>; rel=\"%s\"",
			 used ? ", " : "", request_path(req), (long long)start,
			 (long long)count, query, rel) >= 0;
}

void page_links(struct request *req, struct reply *rep, const struct page *page,
		int64_t total)
{
	char links[REPLY_HEADER_BYTES] = "", query[REPLY_HEADER_BYTES / 2];
	int64_t previous = page->start - page->count;
	bool fits = other_query(req, query, sizeof(query));

	if (fits && page->count > 0 && page->start + page->count < total)
		fits = add_link(links, sizeof(links), req, query,
				page->start + page->count, page->count, "next");
	if (fits && page->count > 0 && page->start > 0)
		fits = add_link(links, sizeof(links), req, query,
				previous > 0 ? previous : 0, page->count,
				"prev");
	if (fits && links[0])
		reply_header(rep, "Link", "%s", links);
}

void page_reply(struct request *req, struct reply *rep, const char *member,
		json_t *rows, const struct page *page, int64_t total)
{
	reply_json(rep, 200,
		   json_pack("{s:o, s:I, s:I, s:I}", member, rows, "total",
			     (json_int_t)total, "start",
			     (json_int_t)page->start, "count",
			     (json_int_t)page->count));
	page_links(req, rep, page, total);
}
