#include "control/web/assets.h"

#include "control/web/assets_list.h" /* made by meson.build */

#include <stddef.h>
#include <string.h>

#define X(symbol, name)                     \
	extern const char asset_##symbol[]; \
	extern const char asset_##symbol##_end[];
ASSETS(X)
#undef X

static const struct web_asset assets[] = {
#define X(symbol, name) {name, NULL, asset_##symbol, asset_##symbol##_end},
	ASSETS(X)
#undef X
};

static const char *type_of(const char *name)
{
	static const struct {
		const char *suffix;
		const char *type;
	} types[] = {
		{".html", "text/html; charset=utf-8"},
		{".js", "text/javascript; charset=utf-8"},
		{".css", "text/css; charset=utf-8"},
		{".svg", "image/svg+xml"},
		{".json", "application/json"},
		{".yaml", "application/yaml"}, /* RFC 9512 */
	};
	const char *suffix = strrchr(name, '.');

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strcmp(suffix, types[i].suffix) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}

bool web_asset_find(const char *name, struct web_asset *ret_asset)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(*assets); i++) {
		if (strcmp(assets[i].name, name) == 0) {
			*ret_asset = assets[i];
			ret_asset->content_type = type_of(name);
			return true;
		}
	}
	return false;
}
