#include "sip/message/message.h"

#include <string.h>

struct sip_msg *msg_ref(const struct sip_msg *msg)
{
	return mem_ref((void *)(uintptr_t)msg);
}

void msg_line(char *dst, size_t size, const struct sip_msg *msg)
{
	size_t len = msg->reason.l < size - 1 ? msg->reason.l : size - 1;

	if (msg->reason.p)
		memcpy(dst, msg->reason.p, len);
	else
		len = 0;
	dst[len] = '\0';
}

/* Larger values are not distinguished: no message is as long. */
#define LENGTH_MAX 1000000000

static bool length_read(size_t *ret, const struct pl *val)
{
	size_t length = 0;

	if (val->l == 0)
		return false;
	for (size_t i = 0; i < val->l; i++) {
		if (val->p[i] < '0' || val->p[i] > '9')
			return false;
		if (length < LENGTH_MAX)
			length = length * 10 + (size_t)(val->p[i] - '0');
	}
	*ret = length;
	return true;
}

struct lengths {
	const char *fault;
	bool found;
	size_t length;
};

static bool length_handler(const struct sip_hdr *hdr, const struct sip_msg *msg,
			   void *arg)
{
	struct lengths *lengths = arg;
	size_t length = 0;
	(void)msg;

	if (!length_read(&length, &hdr->val))
		lengths->fault = "Bad Content-Length";
	else if (lengths->found && length != lengths->length)
		lengths->fault = "Contradictory Content-Length";
	lengths->length = length;
	lengths->found = true;
	return lengths->fault != NULL;
}

const char *msg_length_fault(const struct sip_msg *msg)
{
	struct lengths lengths = {.fault = NULL};

	sip_msg_hdr_apply(msg, true, SIP_HDR_CONTENT_LENGTH, length_handler,
			  &lengths);
	if (lengths.fault)
		return lengths.fault;
	return lengths.length > (msg->mb ? mbuf_get_left(msg->mb) : 0)
		       ? "Content-Length Exceeds The Message"
		       : NULL;
}

size_t msg_body_length(const struct sip_msg *msg)
{
	size_t left = msg->mb ? mbuf_get_left(msg->mb) : 0;
	size_t said = pl_isset(&msg->clen) ? pl_u32(&msg->clen) : left;

	return said < left ? said : left;
}
