#include "control/cli/import/anonymise.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define REPLACEMENT_BYTES 64
#define ATTEMPTS_MAX      100000

struct pair {
	char *original;
	char replacement[REPLACEMENT_BYTES];
};

struct anonymise {
	const struct dialogs_call *call; /* NULL: off */
	struct pair pair[ANONYMISE_MAX];
	size_t pairs;
	unsigned used; /* numbers handed out */
};

/* Words of header values that mean the same for everybody. */
static const char *const protocol_words[] = {
	"sip",       "sips",      "tel",      "user",      "phone",
	"ip",        "transport", "udp",      "tcp",       "tls",
	"lr",        "tag",       "reason",   "counter",   "privacy",
	"screen",    "party",     "calling",  "called",    "full",
	"off",       "yes",       "no",       "id",        "none",
	"header",    "session",   "critical", "cause",     "text",
	"index",     "purpose",   "info",     "icon",      "encoding",
	"hex",       "normal",    "urgent",   "emergency", "unconditional",
	"no-answer", "user-busy", "unknown",  "q",         "http",
	"https",     NULL,
};

int anonymise_new(struct anonymise **ret, const struct dialogs_call *call)
{
	struct anonymise *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->call = call;
	*ret = a;
	return 0;
}

struct anonymise *anonymise_free(struct anonymise *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; i < a->pairs; i++)
		free(a->pair[i].original);
	free(a);
	return NULL;
}

bool anonymise_is_on(const struct anonymise *a)
{
	return a->call != NULL;
}

static bool is_number(const char *text)
{
	return strpbrk(text, "0123456789") &&
	       text[strspn(text, "+0123456789-.()*#")] == '\0';
}

static void propose(const char *original, enum anonymise_kind kind, unsigned n,
		    char ret[static REPLACEMENT_BYTES])
{
	uint8_t address[16];

	if (kind == ANONYMISE_HOST || strchr(original, '.') ||
	    strchr(original, ':')) {
		if (inet_pton(AF_INET, original, address) == 1)
			/* RFC 2544 section C.2.2: for tests, 131072 of them */
			str_print(ret, REPLACEMENT_BYTES, "198.18.%u.%u",
				  n / 250 % 256, n % 250 + 1);
		else if (inet_pton(AF_INET6, original, address) == 1)
			str_print(ret, REPLACEMENT_BYTES, "2001:db8::%x", n);
		else
			str_print(ret, REPLACEMENT_BYTES, "host-%u.example", n);
		return;
	}
	if (is_number(original))
		str_print(ret, REPLACEMENT_BYTES, "%s555%04u",
			  original[0] == '+' ? "+1" : "", n);
	else if (kind == ANONYMISE_NAME)
		str_print(ret, REPLACEMENT_BYTES, "Name %u", n);
	else
		str_print(ret, REPLACEMENT_BYTES, "%s-%u",
			  kind == ANONYMISE_USER ? "user" : "word", n);
}

static bool occurs(const struct anonymise *a, const char *text)
{
	for (size_t i = 0; i < a->call->messages; i++)
		if (strcasestr(a->call->message[i].text, text))
			return true;
	return false;
}

const char *anonymise_text(struct anonymise *a, enum anonymise_kind kind,
			   const char *original)
{
	struct pair *p = &a->pair[a->pairs];

	if (!a->call || original[0] == '\0')
		return original;
	for (size_t i = 0; i < a->pairs; i++)
		if (strcasecmp(a->pair[i].original, original) == 0)
			return a->pair[i].replacement;
	if (a->pairs == ANONYMISE_MAX || a->used > ATTEMPTS_MAX)
		return "x";
	p->original = strdup(original);
	if (!p->original)
		return "x";
	do {
		propose(original, kind, ++a->used, p->replacement);
	} while (a->used <= ATTEMPTS_MAX && occurs(a, p->replacement));
	a->pairs++;
	return p->replacement;
}

void anonymise_digits(struct anonymise *a, char *digits)
{
	const char *number;
	size_t length, at;

	if (!a->call || !digits[0])
		return;
	number = anonymise_text(a, ANONYMISE_USER, digits);
	length = strlen(number);
	at = length;
	/* the last digits of the replacement differ from one to the next */
	for (char *c = digits + strlen(digits); c-- > digits;)
		if (isalnum((unsigned char)*c)) {
			at = at > 0 ? at - 1 : length - 1;
			*c = isdigit((unsigned char)number[at]) ? number[at]
								: '5';
		}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c & 0x80) ||
	       (c && strchr("._-+", c));
}

static const char *replace_word(struct anonymise *a, const char *word)
{
	if (!word[1] || str_listed(protocol_words, word))
		return word;
	return anonymise_text(a, ANONYMISE_WORD, word);
}

void anonymise_free_text(struct anonymise *a, const char *original,
			 char ret[static SIP_TEXT_BYTES])
{
	size_t used = 0;

	ret[0] = '\0';
	if (!a->call) {
		str_print(ret, SIP_TEXT_BYTES, "%s", original);
		return;
	}
	for (const char *p = original; *p && used + 1 < SIP_TEXT_BYTES;) {
		char word[SIP_TEXT_BYTES];
		size_t n = 0;
		int length;

		while (p[n] && is_word(p[n]) && n + 1 < sizeof(word))
			n++;
		if (n == 0) {
			word[0] = *p;
			word[1] = '\0';
			n = 1;
		} else {
			memcpy(word, p, n);
			word[n] = '\0';
		}
		length = str_print(ret + used, SIP_TEXT_BYTES - used, "%s",
				   replace_word(a, word));
		if (length < 0)
			break;
		used += (size_t)length;
		p += n;
	}
	str_utf8_repair(ret); /* a character may be cut */
}
