#include "control/server/scenario/accounts.h"

#include "base/str.h"
#include "control/server/request/body.h"
#include "control/server/run/override.h"
#include "control/server/run/params.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* ---- targets ---- */

#define HOST_BYTES 256

/* "tcp" of ";transport=tcp" or "?..."; NULL: none */
static const char *transport_of(const char *params)
{
	static const char *const known[] = {"udp", "tcp", "tls"};
	static const char key[] = ";transport=";
	const char *at = strcasestr(params, key);

	for (size_t i = 0; at && i < sizeof(known) / sizeof(*known); i++)
		if (strcasecmp(at + strlen(key), known[i]) == 0)
			return known[i];
	return NULL;
}

/* host, host:port, [v6], [v6]:port */
static int split_host(const char *text, size_t len, char host[HOST_BYTES],
		      uint64_t *port)
{
	const char *end = text + len;
	const char *colon = NULL, *from = text, *until;
	char digits[8];

	if (len && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		if (!close)
			return -EINVAL;
		from = text + 1;
		until = close;
		if (close + 1 < end)
			colon = close + 1;
	} else {
		colon = memchr(text, ':', len);
		until = colon ? colon : end;
	}
	if (until == from || until - from >= HOST_BYTES)
		return -EINVAL;
	memcpy(host, from, (size_t)(until - from));
	host[until - from] = '\0';
	*port = 0;
	if (!colon)
		return 0;
	len = (size_t)(end - colon - 1);
	if (*colon != ':' || !len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, colon + 1, len);
	digits[len] = '\0';
	return str_to_u64(digits, 65535, port) ? -EINVAL : 0;
}

static int parse_text(const char *text, json_t **ret)
{
	const char *transport;
	char host[HOST_BYTES];
	uint64_t port;
	bool secure = false;
	size_t len;

	if (strncasecmp(text, "sips:", 5) == 0) {
		secure = true;
		text += 5;
	} else if (strncasecmp(text, "sip:", 4) == 0) {
		text += 4;
	}
	len = strcspn(text, ";");
	transport = transport_of(text + len);
	if ((text[len] && !transport) || strpbrk(text, "@<> \"\t") ||
	    split_host(text, len, host, &port))
		return -EINVAL;
	if (!transport)
		transport = secure ? "tls" : "udp";
	*ret = json_pack("{s:[{s:s, s:I, s:s}]}", "hosts", "host", host, "port",
			 (json_int_t)port, "transport", transport);
	return *ret ? 0 : -ENOMEM;
}

/* {host, port, transport} beside the members of a target, or these alone */
static int parse_object(json_t *value, json_t **ret)
{
	static const char *const of_host[] = {"host", "port", "transport"};
	json_t *target = json_copy(value), *host = json_object();
	int err = target && host ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sizeof(of_host) / sizeof(*of_host);
	     i++) {
		json_t *member = json_object_get(target, of_host[i]);

		if (member && json_object_set(host, of_host[i], member))
			err = -ENOMEM;
		(void)json_object_del(target, of_host[i]);
	}
	if (!err &&
	    !json_object_size(host) == !json_object_get(target, "hosts"))
		err = -EINVAL;
	if (!err && json_object_size(host) &&
	    json_object_set_new(target, "hosts", json_pack("[O]", host)))
		err = -ENOMEM;
	json_decref(host);
	if (err) {
		json_decref(target);
		return err;
	}
	*ret = target;
	return 0;
}

/*
 * An inline target: "host", "host:port", a SIP URI or an object.
 * @param ret  new object as a job carries it
 * @return 0; -EINVAL; -ENOMEM
 */
static int target_parse(json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);
	json_t *parsed;
	int err;

	if (json_is_object(value))
		return parse_object(value, ret);
	if (!text)
		return -EINVAL;
	if (text[0] != '{')
		return parse_text(text, ret);
	parsed = body_json_text(text);
	err = json_is_object(parsed) ? parse_object(parsed, ret) : -EINVAL;
	json_decref(parsed);
	return err;
}

/* ---- accounts ---- */

#define KEY_BYTES 64

/* one parameter a line; the first ones are of accounts */
/* clang-format off */
static const struct {
	const char *name;
	const char *type;
	const char *word;
	const char *text;
} fields[] = {
	{"credential_pool", "integer", "Accounts", "Credential pool. One for several roles is shared out among them: every role gets its part of it."},
	{"username", "string", "User name", "Instead of a credential pool: the user name of one account."},
	{"password", "string", "Password", "Password of username. It is kept encrypted and never shown."},
	{"auth_username", "string", "User name for authentication", "User name for authentication, where it is another one."},
	{"domain", "string", "SIP domain", "SIP domain of username; without it the target's."},
	{"display_name", "string", "Display name", "Display name of username."},
	{"extension", "string", "Extension", "Extension of username."},
	{"target_pool", "integer", "Target", "Target that is registered at and called through."},
	{"target", "target", "Address of the target", "Instead of a target: host, host:port, a SIP URI such as sip:192.0.2.1:5060;transport=tcp, or an object as a target has it."},
};
/* clang-format on */

#define FIELD_COUNT  (sizeof(fields) / sizeof(*fields))
#define FIELD_TARGET 7 /* target_pool and what follows */

static bool is_type(const json_t *action, const char *type)
{
	return strcmp(text_of(action, "type"), type) == 0;
}

/* ---- their description in the API ---- */

static int describe(json_t *params, const char *role, size_t i)
{
	char name[KEY_BYTES];
	json_t *entry;

	str_print(name, sizeof(name), "%s%s%s", role, role[0] ? "." : "",
		  fields[i].name);
	entry = json_pack("{s:s, s:s, s:s, s:b, s:n, s:s}", "name", name,
			  "type", fields[i].type, "word", fields[i].word,
			  "required", 0, "default", "description",
			  fields[i].text);
	if (entry && role[0] &&
	    json_object_set_new(entry, "role", json_string(role))) {
		json_decref(entry);
		return -ENOMEM;
	}
	return json_array_append_new(params, entry) ? -ENOMEM : 0;
}

int accounts_describe(json_t *scenario, json_t *params)
{
	json_t *role;
	size_t k;
	int err = 0;

	for (size_t i = 0; !err && i < FIELD_COUNT; i++)
		err = describe(params, "", i);
	json_array_foreach(json_object_get(scenario, "roles"), k, role)
	{
		for (size_t i = 0; !err && i < FIELD_COUNT; i++)
			err = describe(params, json_string_value(role), i);
	}
	return err;
}

int accounts_example(json_t *scenario, json_t *example)
{
	json_t *roles = json_object_get(scenario, "roles"), *role;
	size_t i;

	if (json_object_set_new(example, "target",
				json_string("sip:192.0.2.1:5060")))
		return -ENOMEM;
	json_array_foreach(roles, i, role)
	{
		char key[KEY_BYTES], user[8];

		str_print(user, sizeof(user), "%zu", 1001 + i);
		str_print(key, sizeof(key), "%s.username",
			  json_string_value(role));
		if (json_object_set_new(example, key, json_string(user)))
			return -ENOMEM;
		str_print(key, sizeof(key), "%s.password",
			  json_string_value(role));
		if (json_object_set_new(example, key,
					json_string("its password")))
			return -ENOMEM;
	}
	return 0;
}

/* ---- a role's values ---- */

struct reading {
	json_t *body;
	json_t *consumed;
	json_t *errors;
	json_t *shared; /* values of keys without a role */
	size_t parts;   /* roles that share the pool */
	size_t next;    /* of them */
};

/* The values of "ROLE.name", or "name" for the role "". */
static int read_values(struct reading *r, const char *role, json_t **ret)
{
	json_t *values = json_object();

	for (size_t i = 0; values && i < FIELD_COUNT; i++) {
		const struct step_param param = {.name = fields[i].name,
						 .type = fields[i].type};
		char key[KEY_BYTES];
		json_t *given, *typed = NULL;
		int err;

		str_print(key, sizeof(key), "%s%s%s", role, role[0] ? "." : "",
			  fields[i].name);
		given = json_object_get(r->body, key);
		if (!given ||
		    json_object_set_new(r->consumed, key, json_true()) ||
		    json_is_null(given))
			continue;
		if (strcmp(fields[i].type, "target") == 0)
			err = target_parse(given, &typed);
		else
			err = param_normalize(&param, given, &typed);
		if (err == -EINVAL && i > FIELD_TARGET)
			plan_key_error(r->errors, key, "",
				       "must be a host, host:port, a SIP URI "
				       "of a host, or an object with host or "
				       "hosts");
		else if (err == -EINVAL)
			plan_key_error(r->errors, key, "", "must be %s",
				       param_type_name(&param));
		else if (err ||
			 json_object_set_new(values, fields[i].name, typed)) {
			json_decref(values);
			return -ENOMEM;
		}
	}
	*ret = values;
	return values ? 0 : -ENOMEM;
}

static bool has_account(const json_t *values)
{
	return json_object_get(values, "credential_pool") ||
	       json_object_get(values, "username");
}

/* Check for parameters that exclude each other. */
static void check_values(struct reading *r, const char *role, json_t *values)
{
	const char *dot = role[0] ? "." : "";
	char key[KEY_BYTES];

	if (json_object_get(values, "credential_pool") &&
	    json_object_get(values, "username")) {
		str_print(key, sizeof(key), "%s%susername", role, dot);
		plan_key_error(r->errors, key, "",
			       "excludes credential_pool; give one of them");
	}
	for (size_t i = 2; i < FIELD_TARGET; i++) {
		if (!json_object_get(values, fields[i].name) ||
		    json_object_get(values, "username"))
			continue;
		str_print(key, sizeof(key), "%s%s%s", role, dot,
			  fields[i].name);
		plan_key_error(r->errors, key, "", "goes with %s%susername",
			       role, dot);
	}
	if (json_object_get(values, "target_pool") &&
	    json_object_get(values, "target")) {
		str_print(key, sizeof(key), "%s%starget", role, dot);
		plan_key_error(r->errors, key, "",
			       "excludes target_pool; give one of them");
	}
}

/* Make a job's `credentials` of the inline values: one account. */
static json_t *inline_account(const json_t *values)
{
	json_t *account = json_object();

	for (size_t i = 1; account && i < FIELD_TARGET; i++) {
		json_t *value = json_object_get(values, fields[i].name);

		if (value && json_object_set(account, fields[i].name, value)) {
			json_decref(account);
			return NULL;
		}
	}
	return account ? json_pack("[o]", account) : NULL;
}

/* Set the members that give an action its account; none without account. */
static int account_members(struct reading *r, const json_t *own, json_t *set)
{
	json_t *pool = json_object_get(r->shared, "credential_pool");

	if (json_object_get(own, "credential_pool"))
		return json_object_set(set, "credential_pool",
				       json_object_get(own, "credential_pool"));
	if (json_object_get(own, "username"))
		return json_object_set_new(set, "credentials",
					   inline_account(own));
	r->next++;
	if (pool && r->parts > 1 &&
	    json_object_set_new(set, "credential_share",
				json_pack("{s:I, s:I}", "part",
					  (json_int_t)(r->next - 1), "of",
					  (json_int_t)r->parts)))
		return -1;
	if (pool)
		return json_object_set(set, "credential_pool", pool);
	if (r->next == 1 && json_object_get(r->shared, "username"))
		return json_object_set_new(set, "credentials",
					   inline_account(r->shared));
	return 0;
}

static int target_members(const struct reading *r, const json_t *own,
			  json_t *set)
{
	static const char *const names[] = {"target_pool", "target"};
	const json_t *from = r->shared;

	if (json_object_get(own, names[0]) || json_object_get(own, names[1]))
		from = own;
	for (size_t i = 0; i < 2; i++) {
		json_t *value = json_object_get(from, names[i]);

		if (value)
			return json_object_set(set, names[i], value);
	}
	return 0;
}

/* ---- into the steps ---- */

static bool registers(json_t *steps, const char *role)
{
	json_t *step, *action;
	size_t s, a;

	json_array_foreach(steps, s, step)
	{
		json_array_foreach(step, a, action)
		{
			if (is_type(action, "register") &&
			    strcmp(text_of(action, "role"), role) == 0)
				return true;
		}
	}
	return false;
}

/* If a role registers, its other actions use that account and target. */
static bool takes_account(const json_t *action, bool registered)
{
	if (registered)
		return is_type(action, "register");
	return is_type(action, "call") || is_type(action, "options") ||
	       is_type(action, "message");
}

static int set_members(json_t *steps, const char *role, bool registered,
		       json_t *set, json_t *transport)
{
	json_t *step, *action;
	size_t s, a;

	json_array_foreach(steps, s, step)
	{
		json_array_foreach(step, a, action)
		{
			if (strcmp(text_of(action, "role"), role) != 0 ||
			    !takes_account(action, registered))
				continue;
			if (json_object_update(action, set) ||
			    (transport &&
			     json_object_set(action, "transport", transport)))
				return -ENOMEM;
		}
	}
	return 0;
}

static void check_role(struct reading *r, const char *role, bool registered,
		       const json_t *set, bool alone)
{
	char key[KEY_BYTES];

	str_print(key, sizeof(key), "%s%susername", alone ? "" : role,
		  alone ? "" : ".");
	if (registered && !json_object_get(set, "credential_pool") &&
	    !json_object_get(set, "credentials"))
		plan_key_error(r->errors, key, "",
			       "is missing: role %s registers, give %s or "
			       "credential_pool",
			       role, key);
	if (!json_object_get(set, "target_pool") &&
	    !json_object_get(set, "target"))
		plan_error(r->errors, "/target_pool",
			   "is missing: role %s needs target_pool or target",
			   role);
}

static int apply_role(struct reading *r, struct scenario_plan *plan,
		      const char *role, json_t *own, bool alone)
{
	bool registered = registers(plan->steps, role);
	json_t *transport = json_object_get(plan->values, "transport");
	json_t *set = json_object();
	int err = set ? 0 : -ENOMEM;

	if (!err &&
	    (account_members(r, own, set) || target_members(r, own, set)))
		err = -ENOMEM;
	if (!err) {
		check_role(r, role, registered, set, alone);
		err = set_members(plan->steps, role, registered, set,
				  json_is_string(transport) ? transport : NULL);
	}
	json_decref(set);
	return err;
}

int accounts_apply(struct scenario_plan *plan, json_t *scenario, json_t *body,
		   json_t *errors)
{
	json_t *roles = json_object_get(scenario, "roles"), *role;
	json_t *own = json_array(), *values = NULL;
	struct reading r = {
		.body = body, .consumed = plan->consumed, .errors = errors};
	size_t i;
	int err = own ? read_values(&r, "", &r.shared) : -ENOMEM;

	if (!err)
		check_values(&r, "", r.shared);
	json_array_foreach(roles, i, role)
	{
		if (!err)
			err = read_values(&r, json_string_value(role), &values);
		if (err)
			break;
		check_values(&r, json_string_value(role), values);
		r.parts += !has_account(values);
		if (json_array_append_new(own, values))
			err = -ENOMEM;
	}
	json_array_foreach(roles, i, role)
	{
		if (!err)
			err = apply_role(&r, plan, json_string_value(role),
					 json_array_get(own, i),
					 json_array_size(roles) == 1);
	}
	json_decref(r.shared);
	json_decref(own);
	return err;
}
