/**
 * Values of a row as JSON. Included by control/server/store only.
 */
#ifndef OFFHOOK_SERVER_STORE_RECORD_JSON_H
#define OFFHOOK_SERVER_STORE_RECORD_JSON_H

#include "control/server/store/db.h"

#include <jansson.h>

/** Convert a value of a row to JSON; a time column (ms) as the API writes it.
 * @return new reference; NULL: out of memory */
json_t *record_value(const struct db_value *value);
json_t *record_time(const struct db_value *value);
/** Parse the JSON in a text value. @return new reference; NULL: there is
 * none */
json_t *record_json(const struct db_value *value);

#endif
