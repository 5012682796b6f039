#include "control/server/api/references.h"
#include "control/server/api/resource_type.h"
#include "control/wire/job_limits.h"

#include <stdio.h>
#include <string.h>

static const struct column columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"name", "name", "name", COLUMN_TEXT},
	{"hosts", "hosts_json", "hosts_json", COLUMN_JSON},
	{"domain", "domain", "domain", COLUMN_TEXT},
	{"outbound_proxy", "outbound_proxy", "outbound_proxy", COLUMN_TEXT},
	{"tls", "tls_json", "tls_json", COLUMN_JSON},
	{"created_at", "created_at", "created_at", COLUMN_TIME},
	{"updated_at", "updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "target",
	.from = "target",
	.id = "id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static const struct field host_fields[] = {
	{.name = "host",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 255,
	 .check = field_word},
	{.name = "port", .kind = FIELD_INTEGER, .max = 65535, .fallback = "0"},
	{.name = "transport",
	 .kind = FIELD_CHOICE,
	 .choices = "udp tcp tls",
	 .fallback = "\"udp\""},
	{.name = "priority",
	 .kind = FIELD_INTEGER,
	 .max = 65535,
	 .fallback = "0"},
	{.name = "weight",
	 .kind = FIELD_INTEGER,
	 .max = 65535,
	 .fallback = "0"},
};

static const struct field tls_fields[] = {
	{.name = "verify", .kind = FIELD_FLAG, .fallback = "1"},
	{.name = "server_name",
	 .kind = FIELD_TEXT,
	 .max = 255,
	 .check = field_word},
	{.name = "ca", .kind = FIELD_TEXT, .max = 65536}, /* PEM */
	{.name = "certificate", .kind = FIELD_TEXT, .max = 64},
};

static void check_hosts(struct request *req, json_t *value, const char *pointer,
			struct reply *rep)
{
	if (json_array_size(value) == 0)
		field_error(rep, pointer, "must hold a host at least");
	fields_read_elements(req, value, pointer, host_fields,
			     sizeof(host_fields) / sizeof(*host_fields), rep);
}

static void check_tls(struct request *req, json_t *value, const char *pointer,
		      struct reply *rep)
{
	char at[64];
	json_t *read =
		fields_read(req, value, false, pointer, tls_fields,
			    sizeof(tls_fields) / sizeof(*tls_fields), rep);

	const char *ca = json_string_value(json_object_get(value, "ca"));
	const char *name =
		json_string_value(json_object_get(value, "certificate"));

	if (read)
		json_object_update(value, read);
	if (ca && ca[0] && !strstr(ca, "-----BEGIN CERTIFICATE-----")) {
		snprintf(at, sizeof(at), "%s/ca", pointer);
		field_error(rep, at, "must hold a certificate in PEM format");
	}
	if (name && name[0] && !wire_certificate_name_valid(name)) {
		snprintf(at, sizeof(at), "%s/certificate", pointer);
		field_error(rep, at,
			    "must be the name of a certificate on the agents: "
			    "letters, digits, '.', '_' and '-'");
	}
	json_decref(read);
}

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "hosts",
	 .kind = FIELD_ARRAY,
	 .required = true,
	 .max = WIRE_HOSTS_MAX,
	 .check = check_hosts},
	{.name = "domain", .kind = FIELD_TEXT, .max = 255, .check = field_word},
	{.name = "outbound_proxy",
	 .kind = FIELD_TEXT,
	 .max = 255,
	 .check = field_line},
	{.name = "tls",
	 .kind = FIELD_OBJECT,
	 /* what check_tls() makes of {} */
	 .fallback = "{\"verify\": 1, \"server_name\": null, \"ca\": null, "
		     "\"certificate\": null}",
	 .check = check_tls},
};

static bool may_delete(struct request *req, int64_t id, struct reply *rep)
{
	return reference_check(req, "target_pool", id, rep);
}

const struct resource target_resource = {
	.path = "/targets",
	.plural = "targets",
	.singular = "target",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.updated_at = true,
	.may_delete = may_delete,
};
