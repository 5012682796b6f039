/**
 * Pages, scripts and styles, embedded in the controller's binary.
 * Thread: any; all of it is constant.
 */
#ifndef OFFHOOK_WEB_ASSETS_H
#define OFFHOOK_WEB_ASSETS_H

#include <stdbool.h>

struct web_asset {
	const char *name; /* "report.js" */
	const char *content_type;
	const char *data;
	const char *end; /* one behind the last byte */
};

/** Find a file. @return false: there is none of this name; ret_asset unchanged */
bool web_asset_find(const char *name, struct web_asset *ret_asset);

#endif
