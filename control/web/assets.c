#include "control/web/assets.h"

#include <stddef.h>
#include <string.h>

#define HTML   "text/html; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define STYLE  "text/css; charset=utf-8"
#define JSON   "application/json"
#define YAML   "application/yaml" /* RFC 9512 */

/* X(symbol as in meson.build, name below /static, content type) */
#define ASSETS(X)                                 \
	X(report_html, "report.html", HTML)       \
	X(report_js, "report.js", SCRIPT)         \
	X(account_html, "account.html", HTML)     \
	X(account_js, "account.js", SCRIPT)       \
	X(page_js, "page.js", SCRIPT)             \
	X(scenarios_html, "scenarios.html", HTML) \
	X(scenarios_js, "scenarios.js", SCRIPT)   \
	X(callbacks_html, "callbacks.html", HTML) \
	X(callbacks_js, "callbacks.js", SCRIPT)   \
	X(schedules_html, "schedules.html", HTML) \
	X(schedules_js, "schedules.js", SCRIPT)   \
	X(offhook_css, "offhook.css", STYLE)      \
	X(dygraph_js, "dygraph.js", SCRIPT)       \
	X(dygraph_css, "dygraph.css", STYLE)      \
	X(openapi_yaml, "openapi.yaml", YAML)     \
	X(openapi_json, "openapi.json", JSON)     \
	X(apidocs_html, "apidocs.html", HTML)     \
	X(apidocs_css, "apidocs.css", STYLE)

#define X(symbol, name, type)               \
	extern const char asset_##symbol[]; \
	extern const char asset_##symbol##_end[];
ASSETS(X)
#undef X

static const struct web_asset assets[] = {
#define X(symbol, name, type) \
	{name, type, asset_##symbol, asset_##symbol##_end},
	ASSETS(X)
#undef X
};

const struct web_asset *web_asset_find(const char *name)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(*assets); i++) {
		if (strcmp(assets[i].name, name) == 0)
			return &assets[i];
	}
	return NULL;
}
