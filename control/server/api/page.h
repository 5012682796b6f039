/**
 * One page of a listing: `start`, `count` (docs/reference/api.md).
 */
#ifndef OFFHOOK_SERVER_API_PAGE_H
#define OFFHOOK_SERVER_API_PAGE_H

#include "control/server/request/request.h"
#include "control/server/store/record.h"

#define PAGE_COUNT 100 /* unless the configured limit is lower */

/** Read start and count. @return true; false: rep is a 422 */
bool page_read(const struct request *req, struct page *ret, struct reply *rep);

/** Likewise; without count the largest page. */
bool page_read_all(const struct request *req, struct page *ret,
		   struct reply *rep);

/**
 * Answer a listing with its Link header (RFC 8288).
 * @param rows  taken over
 */
void page_reply(struct request *req, struct reply *rep, const char *member,
		json_t *rows, const struct page *page, int64_t total);

/** Add the Link header alone, unless it is longer than REPLY_HEADER_BYTES. */
void page_links(struct request *req, struct reply *rep, const struct page *page,
		int64_t total);

#endif
