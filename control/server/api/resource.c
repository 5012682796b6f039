#include "control/server/api/resource.h"

#include "base/log.h"
#include "base/str.h"
#include "control/server/api/etag.h"
#include "control/server/api/page.h"
#include "control/server/api/resource_type.h"
#include "control/server/store/store.h"

#include <errno.h>
#include <string.h>

static const struct resource *const resources[] = {
	&project_resource,         &target_resource,
	&credential_pool_resource, &agent_pool_resource,
	&agent_resource,           &test_resource,
	&api_key_resource,         &appimage_resource,
	&callback_resource,        &callback_template_resource,
	&schedule_resource,        &user_resource,
};

static const struct resource *resource_of(const struct request *req)
{
	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
		const char *path = resources[i]->path;
		size_t len = strlen(path);

		if (strncmp(request_path(req), path, len) == 0 &&
		    (request_path(req)[len] == '\0' ||
		     request_path(req)[len] == '/'))
			return resources[i];
	}
	return NULL; /* the route table and the list above disagree */
}

int resource_present(struct request *req, const struct resource *r, json_t *row)
{
	return r->present ? r->present(req, row) : 0;
}

int resource_rows(struct request *req, const struct resource *r,
		  const struct page *page, json_t **ret, int64_t *total)
{
	json_t *rows, *row;
	size_t i;
	int err;

	err = record_list(request_store(req), r->table, page, &rows, total);
	if (err)
		return err;
	json_array_foreach(rows, i, row)
	{
		err = resource_present(req, r, row);
		if (err) {
			json_decref(rows);
			return err;
		}
	}
	*ret = rows;
	return 0;
}

void resource_list(struct request *req, struct reply *rep)
{
	const struct resource *r = resource_of(req);
	struct page page;
	json_t *rows;
	int64_t total;
	int err;

	if (!page_read(req, &page, rep))
		return;
	err = resource_rows(req, r, &page, &rows, &total);
	if (err)
		reply_store_error(rep, err, r->singular);
	else
		page_reply(req, rep, r->plural, rows, &page, total);
}

static int make_tag(char tag[static ETAG_BYTES], const struct resource *r,
		    json_t *row, int64_t version)
{
	json_t *edited = json_object();
	int err = 0;

	for (size_t i = 0; i < r->field_count; i++) {
		json_t *value = json_object_get(row, r->fields[i].name);

		if (value)
			err |= json_object_set(edited, r->fields[i].name,
					       value);
	}
	err = err ? -ENOMEM : etag_make(tag, edited, version, row);
	json_decref(edited);
	return err;
}

/* Read a record as it is shown alone, and its tag. */
static int read_record(struct request *req, const struct resource *r,
		       int64_t id, json_t **ret, char tag[static ETAG_BYTES])
{
	int64_t version = 0;
	json_t *row = NULL;
	int err = 0;

	/* read before the row: a change in between gives an outdated tag, never
	 * a current one for old values */
	if (r->updated_at)
		err = record_number(request_store(req), r->table, "updated_at",
				    id, &version);
	if (err == 0)
		err = record_get(request_store(req), r->table, id, &row);
	if (err == 0)
		err = resource_present(req, r, row);
	if (err == 0 && r->detail)
		err = r->detail(req, row);
	if (err == 0)
		err = make_tag(tag, r, row, version);
	if (err) {
		json_decref(row);
		return err;
	}
	*ret = row;
	return 0;
}

void resource_reply(struct request *req, struct reply *rep,
		    const struct resource *r, int64_t id, unsigned status,
		    json_t *shown_once)
{
	char tag[ETAG_BYTES];
	json_t *row = NULL;
	int err;

	err = read_record(req, r, id, &row, tag);
	if (err) {
		json_decref(shown_once);
		reply_store_error(rep, err, r->singular);
		return;
	}
	json_object_update(row, shown_once);
	json_decref(shown_once);
	reply_json(rep, status, json_pack("{s:o}", r->singular, row));
	etag_reply(req, rep, tag);
	if (status == 201)
		reply_header(rep, "Location", "/api/v2%s/%lld", r->path,
			     (long long)id);
}

void resource_reference(struct request *req, struct reply *rep,
			const struct resource *r, json_t *id,
			const char *pointer)
{
	json_t *row;

	if (!id || json_is_null(id))
		return;
	if (json_is_integer(id) &&
	    record_get(request_store(req), r->table, json_integer_value(id),
		       &row) == 0)
		json_decref(row);
	else
		field_error(rep, pointer, "is no id of a %s", r->table->name);
}

int resource_find(struct request *req, const struct resource *r, int64_t id,
		  json_t **ret)
{
	return record_get(request_store(req), r->table, id, ret);
}

int resource_list_of(struct request *req, const struct resource *r,
		     const char *column, int64_t value, const struct page *page,
		     json_t **ret, int64_t *total)
{
	return record_list_of(request_store(req), r->table, column, value, page,
			      ret, total);
}

const char *resource_singular(const struct resource *r)
{
	return r->singular;
}

void resource_get(struct request *req, struct reply *rep)
{
	const struct resource *r = resource_of(req);
	int64_t id;

	if (param_id(req, 0, &id))
		resource_reply(req, rep, r, id, 200, NULL);
	else
		reply_store_error(rep, -ENOENT, r->singular);
}

/* If-Match (RFC 9110 section 13.1.1). @return true: go on */
static bool matches(struct request *req, struct reply *rep,
		    const struct resource *r, int64_t id)
{
	const char *wanted = request_header(req, "If-Match");
	char tag[ETAG_BYTES];
	json_t *row;
	int err;

	if (!wanted)
		return true;
	err = read_record(req, r, id, &row, tag);
	if (err) {
		reply_store_error(rep, err, r->singular);
		return false;
	}
	json_decref(row);
	if (etag_allows(wanted, tag))
		return true;
	reply_problem(rep, 412, "the %s has changed since it was read",
		      r->singular);
	reply_header(rep, "ETag", "%s", tag);
	return false;
}

/* Two changes within a millisecond still differ. */
static int64_t next_version(struct request *req, const struct resource *r,
			    int64_t id)
{
	int64_t now = store_now_ms(), last;

	if (record_number(request_store(req), r->table, "updated_at", id,
			  &last) == 0 &&
	    last >= now)
		return last + 1;
	return now;
}

static json_t *read_values(struct request *req, const struct resource *r,
			   struct reply *rep)
{
	json_t *values =
		fields_read(req, request_body(req), request_body_is_form(req),
			    "", r->fields, r->field_count, rep);

	if (values && r->check)
		r->check(req, values, rep);
	if (reply_status(rep)) {
		json_decref(values);
		return NULL;
	}
	return values;
}

static void insert(struct request *req, struct reply *rep,
		   const struct resource *r, json_t *values)
{
	json_t *now = json_integer(store_now_ms());
	json_t *shown_once = r->issue ? r->issue(values) : NULL;
	int64_t id;
	int err;

	json_object_set(values, "created_at", now);
	if (r->updated_at)
		json_object_set(values, "updated_at", now);
	json_decref(now);
	err = record_insert(request_store(req), r->table, values, r->children,
			    &id);
	if (err) {
		json_decref(shown_once);
		reply_store_error(rep, err, r->singular);
		return;
	}
	resource_reply(req, rep, r, id, 201, shown_once);
}

void resource_create(struct request *req, struct reply *rep)
{
	const struct resource *r = resource_of(req);
	json_t *values = read_values(req, r, rep);

	if (values)
		insert(req, rep, r, values);
	json_decref(values);
}

static void replace(struct request *req, struct reply *rep,
		    const struct resource *r, int64_t id, json_t *values)
{
	int err;

	if (!matches(req, rep, r, id))
		return;
	if (r->may_replace && !r->may_replace(req, id, values, rep))
		return;
	if (r->updated_at)
		json_object_set_new(values, "updated_at",
				    json_integer(next_version(req, r, id)));
	err = record_update(request_store(req), r->table, id, values,
			    r->children);
	if (err)
		reply_store_error(rep, err, r->singular);
	else
		resource_reply(req, rep, r, id, 200, NULL);
}

static bool is_field(const struct resource *r, const char *name)
{
	for (size_t i = 0; i < r->field_count; i++)
		if (strcmp(r->fields[i].name, name) == 0)
			return true;
	return false;
}

/* Convert a value to the text that a form has: a text itself, "" for null, else
 * JSON. */
static bool same_value(const json_t *shown, const json_t *given, bool form)
{
	json_t *parsed;
	bool same;

	if (!form || json_is_string(shown) || !json_is_string(given))
		return json_equal(shown, given);
	if (json_is_null(shown) && json_string_length(given) == 0)
		return true;
	parsed = json_loads(json_string_value(given), JSON_DECODE_ANY, NULL);
	same = json_equal(shown, parsed);
	json_decref(parsed);
	return same;
}

/* PUT accepts what GET returned: remove read-only members from the body. Their
 * values must be unchanged. */
static void drop_read_only(struct request *req, struct reply *rep,
			   const struct resource *r, const json_t *shown)
{
	const char *name;
	json_t *given;
	void *next;

	json_object_foreach_safe(request_body(req), next, name, given)
	{
		const json_t *value = json_object_get(shown, name);
		char pointer[POINTER_BYTES];

		if (!value || is_field(r, name))
			continue;
		if (!(r->observed && str_has_word(r->observed, name)) &&
		    !same_value(value, given, request_body_is_form(req))) {
			str_print(pointer, sizeof(pointer), "/%s", name);
			field_error(rep, pointer,
				    "is read-only: leave it out, or send it as "
				    "it is");
		}
		json_object_del(request_body(req), name);
	}
}

void resource_replace(struct request *req, struct reply *rep)
{
	const struct resource *r = resource_of(req);
	char tag[ETAG_BYTES];
	json_t *values, *shown = NULL;
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = read_record(req, r, id, &shown, tag);
	if (err) {
		reply_store_error(rep, err, r->singular);
		return;
	}
	/* an outdated copy (412) is reported before its outdated members */
	if (matches(req, rep, r, id))
		drop_read_only(req, rep, r, shown);
	json_decref(shown);
	if (reply_status(rep) && reply_status(rep) != 422)
		return;
	values = read_values(req, r, rep);
	if (!values)
		return;
	store_edit_begin(request_store(req));
	replace(req, rep, r, id, values);
	store_edit_end(request_store(req));
	json_decref(values);
}

static void delete_record(struct request *req, struct reply *rep,
			  const struct resource *r, int64_t id)
{
	int err;

	if (!matches(req, rep, r, id))
		return;
	if (r->may_delete && !r->may_delete(req, id, rep))
		return;
	err = record_delete(request_store(req), r->table, id);
	if (err)
		reply_store_error(rep, err, r->singular);
	else
		reply_empty(rep, 204);
}

void resource_delete(struct request *req, struct reply *rep)
{
	const struct resource *r = resource_of(req);
	int64_t id;

	if (!param_id(req, 0, &id)) {
		reply_store_error(rep, -ENOENT, r->singular);
		return;
	}
	store_edit_begin(request_store(req));
	delete_record(req, rep, r, id);
	store_edit_end(request_store(req));
}
