#include "control/server/store/postgresql_arrays.h"

#include "base/big_endian.h"
#include "control/server/store/db_driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A statement is sent when it has so much: the server keeps what unnest() gives in
 * memory up to work_mem, 4 MiB unless configured. */
#define SEND_ROWS  2000
#define SEND_BYTES (1024 * 1024)

/* An upload is at most as long. */
#define ARRAY_BYTES (256 * 1024 * 1024)
#define SQL_BYTES   4096

/* Dimensions, whether there are NULLs, the elements' type, length, lower bound. */
#define HEADER_BYTES 20

static uint32_t element_type(enum db_type type)
{
	switch (type) {
	case DB_INT:
		return POSTGRESQL_INT8;
	case DB_REAL:
		return POSTGRESQL_FLOAT8;
	case DB_BLOB:
		return POSTGRESQL_BYTEA;
	case DB_TEXT:
	case DB_NULL:
	default:
		return POSTGRESQL_TEXT;
	}
}

static const char *array_name(enum db_type type)
{
	switch (type) {
	case DB_INT:
		return "BIGINT[]";
	case DB_REAL:
		return "DOUBLE PRECISION[]";
	case DB_BLOB:
		return "BYTEA[]";
	case DB_TEXT:
	case DB_NULL:
	default:
		return "TEXT[]";
	}
}

static int write_statement(struct buf *sql, const struct db_load *load)
{
	int err =
		db_load_text(sql, "INSERT INTO", load, "SELECT * FROM unnest(");

	for (size_t i = 0; i < load->count && err == 0; i++)
		err = buf_print(sql, "%sCAST($%zu AS %s)", i ? ", " : "", i + 1,
				array_name(load->types[i]));
	if (err == 0)
		err = buf_texts(sql, ")", NULL);
	if (err == 0 && load->key)
		err = buf_texts(sql, " ON CONFLICT (", load->key,
				") DO NOTHING", NULL);
	return err;
}

int postgresql_arrays_begin(struct postgresql_arrays *r,
			    const struct db_load *load)
{
	int err;

	postgresql_arrays_release(r);
	if (load->count > POSTGRESQL_ARRAYS_COLUMNS)
		return -EMSGSIZE;
	buf_init(&r->sql, SQL_BYTES);
	for (size_t i = 0; i < load->count; i++) {
		buf_init(&r->arrays[i], ARRAY_BYTES);
		r->types[i] = load->types[i];
	}
	r->columns = load->count;
	err = write_statement(&r->sql, load);
	if (err)
		postgresql_arrays_release(r);
	return err;
}

void postgresql_arrays_release(struct postgresql_arrays *r)
{
	for (size_t i = 0; i < r->columns; i++)
		buf_release(&r->arrays[i]);
	buf_release(&r->sql);
	memset(r, 0, sizeof(*r));
}

/* @param bytes  NULL: the caller writes them to *ret_at */
static int add_element(struct buf *b, const void *bytes, size_t len,
		       char **ret_at)
{
	char *at;
	int err = b->used ? 0 : buf_extend(b, HEADER_BYTES, &at);

	if (err == 0)
		err = buf_extend(b, 4 + len, &at);
	if (err)
		return err;
	be32_put((uint8_t *)at, (uint32_t)len);
	if (bytes)
		memcpy(at + 4, bytes, len);
	else
		*ret_at = at + 4;
	return 0;
}

static int add_null(struct buf *b)
{
	char *at;
	int err = b->used ? 0 : buf_extend(b, HEADER_BYTES, &at);

	if (err == 0)
		err = buf_extend(b, 4, &at);
	if (err == 0)
		memset(at, 0xff, 4); /* a length of -1 */
	return err;
}

static int add_value(struct buf *b, enum db_type type,
		     const struct db_value *value)
{
	uint64_t bits;
	double real;
	char *at;
	int err;

	if (type == DB_TEXT || type == DB_BLOB) {
		if (value->type != type)
			return -EINVAL;
		return add_element(b, value->bytes ? value->bytes : "",
				   value->len, NULL);
	}
	if (value->type != DB_INT && (value->type != DB_REAL || type == DB_INT))
		return -EINVAL;
	real = db_number(value);
	if (type == DB_REAL)
		memcpy(&bits, &real, sizeof(bits));
	else
		bits = (uint64_t)value->integer;
	err = add_element(b, NULL, sizeof(bits), &at);
	if (err == 0) {
		be32_put((uint8_t *)at, (uint32_t)(bits >> 32));
		be32_put((uint8_t *)at + 4, (uint32_t)bits);
	}
	return err;
}

int postgresql_arrays_add(struct postgresql_arrays *r,
			  const struct db_value *row)
{
	int err = 0;

	for (size_t i = 0; i < r->columns && err == 0; i++) {
		if (row[i].type == DB_NULL) {
			r->nulls[i] = true;
			err = add_null(&r->arrays[i]);
		} else {
			err = add_value(&r->arrays[i], r->types[i], &row[i]);
		}
	}
	if (err == 0)
		r->count++;
	return err;
}

bool postgresql_arrays_full(const struct postgresql_arrays *r)
{
	size_t bytes = 0;

	for (size_t i = 0; i < r->columns; i++)
		bytes += r->arrays[i].used;
	return r->count >= SEND_ROWS || bytes >= SEND_BYTES;
}

void postgresql_arrays_params(struct postgresql_arrays *r, struct db_value *ret)
{
	for (size_t i = 0; i < r->columns; i++) {
		uint8_t *at = (uint8_t *)r->arrays[i].data;

		be32_put(at, 1);
		be32_put(at + 4, r->nulls[i]);
		be32_put(at + 8, element_type(r->types[i]));
		be32_put(at + 12, (uint32_t)r->count);
		be32_put(at + 16, 1);
		ret[i] = db_blob(at, r->arrays[i].used);
	}
}

void postgresql_arrays_clear(struct postgresql_arrays *r)
{
	for (size_t i = 0; i < r->columns; i++) {
		buf_consume(&r->arrays[i], r->arrays[i].used);
		r->nulls[i] = false;
	}
	r->count = 0;
}
