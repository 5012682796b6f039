#include "control/server/store/store_appimage.h"

#include "base/str.h"
#include "control/server/store/store_db.h"

#include <errno.h>

int store_appimage_of_agent(struct store *s, int64_t agent_id,
			    const char *sha256, int64_t *ret_id)
{
	const struct db_value params[] = {db_text(sha256), DB_I(agent_id)};
	int64_t id = 0;
	int rows =
		db_query(store_reader(s),
			 "SELECT i.id FROM appimage i WHERE i.sha256 = $1 "
			 "AND EXISTS (SELECT 1 FROM lease WHERE agent_id = $2 "
			 "AND state IN ('offered', 'started') "
			 "AND spec_json LIKE '%' || i.sha256 || '%') "
			 "ORDER BY i.id LIMIT 1",
			 params, 2, db_integer_row, &id);

	if (rows <= 0)
		return rows < 0 ? rows : -ENOENT;
	*ret_id = id;
	return 0;
}

/* Copy the hash; it stays empty if the upload is not a prompt. */
static int hash_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	return str_copy(arg, APPIMAGE_HASH_BYTES, row[0].bytes) ? -EIO : 0;
}

int store_prompt_find(struct store *s, const char *name,
		      char sha256[static APPIMAGE_HASH_BYTES])
{
	const struct db_value param = db_text(name);
	char found[APPIMAGE_HASH_BYTES];
	int rows = db_query(store_reader(s),
			    "SELECT CASE kind WHEN 'prompt' THEN sha256 "
			    "ELSE '' END FROM appimage WHERE name = $1 "
			    "ORDER BY kind = 'prompt' DESC, id DESC LIMIT 1",
			    &param, 1, hash_row, found);

	if (rows <= 0)
		return rows < 0 ? rows : -ENOENT;
	if (!found[0])
		return -EMEDIUMTYPE;
	str_copy(sha256, APPIMAGE_HASH_BYTES, found);
	return 0;
}

int store_file_find(struct store *s, const char *name,
		    char sha256[static APPIMAGE_HASH_BYTES])
{
	const struct db_value param = db_text(name);
	int rows = db_query(store_reader(s),
			    "SELECT sha256 FROM appimage WHERE name = $1 "
			    "ORDER BY id DESC LIMIT 1",
			    &param, 1, hash_row, sha256);

	if (rows <= 0)
		return rows < 0 ? rows : -ENOENT;
	return 0;
}
