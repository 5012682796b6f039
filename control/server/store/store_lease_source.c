/* What a run takes from the resources at its start. */
#include "control/server/store/store_lease_run.h"

#include "control/server/store/record_db.h"
#include "control/server/store/store_credential.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_secret.h"

#include <errno.h>

struct test_reading {
	struct store *store;
	json_t *test;
};

/* url, secret_box, method, content_type, body -> what a callback needs */
static int callback_of(struct store *s, const struct db_value *row,
		       json_t **ret)
{
	char *secret = NULL;
	size_t len = 0;
	int err = 0;

	if (row[1].type == DB_BLOB)
		err = secret_open(store_secrets(s), CALLBACK_SECRET_BOX,
				  row[1].bytes, row[1].len, &secret, &len);
	if (err)
		return err;
	*ret = json_pack("{s:s, s:o, s:o, s:o, s:o}", "url",
			 (const char *)row[0].bytes, "secret",
			 secret ? json_stringn(secret, len) : json_null(),
			 "method", record_value(&row[2]), "content_type",
			 record_value(&row[3]), "body", record_value(&row[4]));
	secret_wipe_free(secret, len);
	return *ret ? 0 : -ENOMEM;
}

static int test_row(const struct db_value *row, size_t columns, void *arg)
{
	struct test_reading *reading = arg;
	json_t *callback = NULL;
	int err = callback_of(reading->store, &row[13], &callback);

	(void)columns;
	if (err)
		return err;
	reading->test = json_pack(
		"{s:I, s:s, s:s, s:I, s:s, s:I, s:s, s:o, s:o, s:o, s:s, s:I, "
		"s:I, s:o}",
		"id", (json_int_t)row[0].integer, "name",
		(const char *)row[1].bytes, "scenario",
		(const char *)row[2].bytes, "project_id",
		(json_int_t)row[3].integer, "project_name",
		(const char *)row[4].bytes, "agentpool_id",
		(json_int_t)row[5].integer, "agentpool_name",
		(const char *)row[6].bytes, "tags", record_json(&row[7]),
		"steps", record_json(&row[8]), "conditions",
		record_json(&row[9]), "record", (const char *)row[10].bytes,
		"callback_on_failure", (json_int_t)row[11].integer,
		"retries_on_failure", (json_int_t)row[12].integer, "callback",
		callback);
	return reading->test ? 0 : -ENOMEM;
}

#define TEST_COLUMNS                                               \
	"SELECT t.id, t.name, t.scenario, t.project_id, p.name, "  \
	"t.agentpool_id, a.name, t.tags_json, t.steps_json, "      \
	"t.conditions_json, t.record, t.callback_on_failure, "     \
	"t.retries_on_failure, t.callback_url, "                   \
	"t.callback_secret_box, c.method, c.content_type, c.body " \
	"FROM test t LEFT JOIN callback_template c "               \
	"ON c.id = t.callback_template_id "                        \
	"JOIN project p ON p.id = t.project_id "                   \
	"JOIN agent_pool a ON a.id = t.agentpool_id "

int store_test_load(struct store *s, int64_t id, const char *name, json_t **ret)
{
	const struct db_value param = id ? DB_I(id) : db_text(name);
	struct test_reading reading = {.store = s};
	int err;

	err = db_query(store_reader(s),
		       id ? TEST_COLUMNS "WHERE t.id = $1"
			  : TEST_COLUMNS "WHERE t.name = $1",
		       &param, 1, test_row, &reading);
	if (err < 0)
		return err;
	if (!reading.test)
		return -ENOENT;
	*ret = reading.test;
	return 0;
}

int store_pool_load(struct store *s, int64_t pool_id, json_t **ret)
{
	return store_credentials_open(s, pool_id, ret);
}

static int target_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t **ret = arg;

	(void)columns;
	*ret = json_pack("{s:o, s:o, s:o, s:o}", "hosts", record_json(&row[0]),
			 "domain", record_value(&row[1]), "outbound_proxy",
			 record_value(&row[2]), "tls", record_json(&row[3]));
	return *ret ? 0 : -ENOMEM;
}

int store_target_load(struct store *s, int64_t target_id, json_t **ret)
{
	const struct db_value id = DB_I(target_id);
	json_t *target = NULL;
	int err;

	err = db_query(store_reader(s),
		       "SELECT hosts_json, domain, outbound_proxy, "
		       "tls_json FROM target "
		       "WHERE id = $1",
		       &id, 1, target_row, &target);
	if (err < 0)
		return err;
	if (!target)
		return -ENOENT;
	*ret = target;
	return 0;
}
