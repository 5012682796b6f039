#include "conf/value_internal.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int parse_bytes(const char *text, uint64_t *ret)
{
	char digits[24];
	size_t len = strlen(text);
	uint64_t factor = 1, n;
	int err;

	if (len == 0 || len >= sizeof(digits))
		return -EINVAL;
	switch (text[len - 1]) {
	case 'K':
		factor = UINT64_C(1) << 10;
		break;
	case 'M':
		factor = UINT64_C(1) << 20;
		break;
	case 'G':
		factor = UINT64_C(1) << 30;
		break;
	default:
		break;
	}
	if (factor > 1)
		len--;
	memcpy(digits, text, len);
	digits[len] = '\0';
	err = str_to_u64(digits, UINT64_MAX / factor, &n);
	if (err)
		return err;
	*ret = n * factor;
	return 0;
}

static int set_number(void *member, const struct conf_key *key,
		      const char *text, char *why, size_t size)
{
	uint64_t n = 0;
	int err = key->type == CONF_BYTES ? parse_bytes(text, &n)
					  : str_to_u64(text, UINT64_MAX, &n);

	if (err == -EINVAL || (err == 0 && (n < key->min || n > key->max)))
		err = err ? err : -ERANGE;
	if (err) {
		snprintf(why, size, "\"%.64s\" is %s; allowed are %ju to %ju%s",
			 text,
			 err == -ERANGE ? "out of range" : "not a whole number",
			 (uintmax_t)key->min, (uintmax_t)key->max,
			 key->type == CONF_BYTES
				 ? " bytes, with K, M or G behind the number "
				   "for powers of 1024"
				 : "");
		return -EINVAL;
	}
	if (key->type == CONF_U16)
		*(uint16_t *)member = (uint16_t)n;
	else if (key->type == CONF_U32)
		*(uint32_t *)member = (uint32_t)n;
	else
		*(uint64_t *)member = n;
	return 0;
}

static int set_flag(void *member, const char *text, char *why, size_t size)
{
	if (strcmp(text, "true") == 0) {
		*(bool *)member = true;
	} else if (strcmp(text, "false") == 0) {
		*(bool *)member = false;
	} else {
		snprintf(why, size,
			 "\"%.64s\" is no switch; allowed are true and false",
			 text);
		return -EINVAL;
	}
	return 0;
}

static int set_level(void *member, const char *text, char *why, size_t size)
{
	if (log_level_parse(text, member) == 0)
		return 0;
	snprintf(why, size,
		 "\"%.64s\" is no level; allowed are error, warning, info and "
		 "debug",
		 text);
	return -EINVAL;
}

static int set_text(void *member, const struct conf_key *key, const char *text,
		    char *why, size_t size)
{
	const char *wrong;

	if (strlen(text) >= key->max) {
		snprintf(why, size, "too long; allowed are %zu bytes",
			 (size_t)key->max - 1);
		return -EINVAL;
	}
	wrong = key->check ? key->check(text) : NULL;
	if (wrong) {
		snprintf(why, size, "\"%.64s\" %s%s%s", text, wrong,
			 key->allowed ? "; allowed is " : "",
			 key->allowed ? key->allowed : "");
		return -EINVAL;
	}
	return str_copy(member, (size_t)key->max, text);
}

int conf_value_set(void *settings, const struct conf_key *key, const char *text,
		   char *why, size_t size)
{
	void *member = (char *)settings + key->offset;

	switch (key->type) {
	case CONF_FLAG:
		return set_flag(member, text, why, size);
	case CONF_LEVEL:
		return set_level(member, text, why, size);
	case CONF_TEXT:
		return set_text(member, key, text, why, size);
	case CONF_U16:
	case CONF_U32:
	case CONF_BYTES:
		break;
	}
	return set_number(member, key, text, why, size);
}
