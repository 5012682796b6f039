#include "control/server/request/multipart.h"

#include "base/str.h"
#include "control/server/request/path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* RFC 2046 section 5.1.1: 70 characters, and "\r\n--" before them. */
#define BOUNDARY_MAX    70
#define DELIMITER_BYTES (4 + BOUNDARY_MAX + 1)

#define NAME_BYTES 256

static int refuse(struct body *form, const char *reason)
{
	str_copy(form->reason, sizeof(form->reason), reason);
	return -EBADMSG;
}

/* The next ';' that stands outside quotes, or end. */
static const char *parameter_end(const char *at, const char *end)
{
	bool quoted = false;

	for (; at < end; at++) {
		if (quoted && *at == '\\' && at + 1 < end && at[1] == '"')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (*at == ';' && !quoted)
			break;
	}
	return at;
}

/* Copy a value without its quotes. @return length; -ENAMETOOLONG */
static int copy_value(const char *at, const char *end, char *dst, size_t size)
{
	bool quoted = at < end && *at == '"';
	size_t used = 0;

	for (at += quoted; at < end; at++) {
		if (quoted ? *at == '"' : *at == ' ' || *at == '\t')
			break;
		if (quoted && *at == '\\' && at + 1 < end && at[1] == '"')
			at++;
		if (used + 1 >= size)
			return -ENAMETOOLONG;
		dst[used++] = *at;
	}
	dst[used] = '\0';
	return (int)used;
}

/**
 * Copy the value of a parameter of a header, quoted or not.
 * Source: RFC 2045 section 5.1; a backslash escapes only a quote, as browsers
 * write file names of Windows with single backslashes.
 * @return length; -ENOENT; -ENAMETOOLONG
 */
static int header_param(const char *header, size_t header_len, const char *name,
			char *dst, size_t size)
{
	const char *at = header, *end = header + header_len;
	size_t name_len = strlen(name);

	while ((at = parameter_end(at, end)) < end) {
		at++;
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if ((size_t)(end - at) > name_len &&
		    strncasecmp(at, name, name_len) == 0 && at[name_len] == '=')
			return copy_value(at + name_len + 1,
					  parameter_end(at, end), dst, size);
	}
	return -ENOENT;
}

struct part {
	char name[NAME_BYTES];
	bool is_file;
	char filename[BODY_FILENAME_BYTES];
	char media_type[BODY_MEDIA_TYPE_BYTES];
};

static bool is_header(const char *line, size_t len, const char *name)
{
	return len > strlen(name) && strncasecmp(line, name, strlen(name)) == 0;
}

/* @return 0; -EBADMSG */
static int read_disposition(struct part *part, const char *line, size_t len)
{
	int got = header_param(line, len, "name", part->name, NAME_BYTES);

	if (got < 0 || !utf8_valid(part->name, (size_t)got))
		return -EBADMSG;
	got = header_param(line, len, "filename", part->filename,
			   sizeof(part->filename));
	part->is_file = got >= 0;
	if (got == -ENAMETOOLONG ||
	    (got >= 0 && !utf8_valid(part->filename, (size_t)got)))
		return -EBADMSG;
	return 0;
}

/* A media type that is too long is ignored. */
static void read_type(struct part *part, const char *value, size_t len)
{
	while (len > 0 && (*value == ' ' || *value == '\t')) {
		value++;
		len--;
	}
	if (len < sizeof(part->media_type) && utf8_valid(value, len)) {
		memcpy(part->media_type, value, len);
		part->media_type[len] = '\0';
	}
}

/* Read the part's headers; *at is moved behind the empty line. */
static int read_headers(const char **at, const char *end, struct part *part)
{
	static const char disposition[] = "content-disposition:";
	static const char type[] = "content-type:";
	bool found = false;

	memset(part, 0, sizeof(*part));
	for (;;) {
		const char *line = *at;
		const char *eol = memmem(line, (size_t)(end - line), "\r\n", 2);
		size_t len;

		if (!eol)
			return -EBADMSG;
		len = (size_t)(eol - line);
		*at = eol + 2;
		if (len == 0)
			return found ? 0 : -EBADMSG;
		if (is_header(line, len, disposition)) {
			if (read_disposition(part, line, len))
				return -EBADMSG;
			found = true;
		} else if (is_header(line, len, type)) {
			read_type(part, line + sizeof(type) - 1,
				  len - sizeof(type) + 1);
		}
	}
}

static int add_part(struct body *form, const struct part *part,
		    const char *data, size_t len)
{
	struct body_file *file = form->file;

	if (!file || !part->is_file)
		return form_add(form, part->name, data, len);
	if (file->data)
		return refuse(form, "more than one file in the body");
	file->data = data;
	file->len = len;
	str_copy(file->filename, sizeof(file->filename), part->filename);
	str_copy(file->media_type, sizeof(file->media_type), part->media_type);
	return 0;
}

int multipart_parse(struct body *form, const char *content_type,
		    const char *data, size_t len)
{
	char delimiter[DELIMITER_BYTES] = "\r\n--";
	const char *at = data, *end = data + len;
	struct part part;
	size_t delimiter_len;
	int err;

	err = header_param(content_type, strlen(content_type), "boundary",
			   delimiter + 4, sizeof(delimiter) - 4);
	if (err <= 0)
		return refuse(form, "multipart body without a boundary");
	delimiter_len = 4 + (size_t)err;
	/* the first delimiter may begin the body, without a line break */
	if (len >= delimiter_len - 2 &&
	    memcmp(data, delimiter + 2, delimiter_len - 2) == 0) {
		at = data + delimiter_len - 2;
	} else {
		at = memmem(data, len, delimiter, delimiter_len);
		if (!at)
			return refuse(form, "no part in the multipart body");
		at += delimiter_len;
	}
	for (;;) {
		const char *next;

		if (end - at >= 2 && memcmp(at, "--", 2) == 0)
			return 0;
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if (end - at < 2 || memcmp(at, "\r\n", 2) != 0)
			return refuse(form, "broken boundary in the body");
		at += 2;
		if (read_headers(&at, end, &part))
			return refuse(form, "a part of the body has no name");
		/* the delimiter of an empty part begins with the end of its
		 * headers */
		next = memmem(at - 2, (size_t)(end - at) + 2, delimiter,
			      delimiter_len);
		if (!next)
			return refuse(form, "the multipart body is cut off");
		err = add_part(form, &part, at,
			       next > at ? (size_t)(next - at) : 0);
		if (err)
			return err;
		at = next + delimiter_len;
	}
}
