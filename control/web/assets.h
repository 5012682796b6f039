/**
 * Pages, scripts and styles, embedded in the controller's binary.
 * Thread: any; all of it is constant.
 */
#ifndef OFFHOOK_WEB_ASSETS_H
#define OFFHOOK_WEB_ASSETS_H

struct web_asset {
	const char *name; /* "report.js" */
	const char *content_type;
	const char *data;
	const char *end; /* one behind the last byte */
};

/** @return the asset, constant; NULL: there is none of this name */
const struct web_asset *web_asset_find(const char *name);

#endif
