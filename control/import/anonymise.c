#include "control/import/anonymise.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"

#define REPLACEMENT_BYTES 64
#define ATTEMPTS_MAX      2000 /* for one original */
#define NAMES_MAX         64   /* texts that no replacement contains */
#define NAME_BYTES        64
#define NAME_MIN          2      /* shorter ones are in everything */
#define PORT              "5060" /* in place of every port of a header value */

struct pair {
	char *original;
	char replacement[REPLACEMENT_BYTES];
};

struct anonymise {
	const struct dialogs_call
		*call; /* whose texts are replaced; NULL: off */
	struct pair pair[ANONYMISE_MAX];
	size_t pairs;
	unsigned used;  /* numbers handed out */
	int64_t end_ns; /* monotonic; 0: none */
	bool late;
	char name[NAMES_MAX][NAME_BYTES];
	size_t names;
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

/* Parameters whose number identifies nobody. */
static const char *const number_parameters[] = {
	"q", "index", "cause", "counter", "expires", "ttl", NULL,
};

static void add_name(struct anonymise *a, const char *name)
{
	if (strlen(name) < NAME_MIN || a->names == NAMES_MAX)
		return;
	for (size_t i = 0; i < a->names; i++)
		if (strcasecmp(a->name[i], name) == 0)
			return;
	if (str_copy(a->name[a->names], NAME_BYTES, name) == 0)
		a->names++;
}

/* Users, names and hosts of a message's header fields with an address. */
static void add_names(struct anonymise *a, const char *text)
{
	static const char *const fields[] = {
		"From",     "To",          "Contact",
		"Refer-To", "Referred-By", "P-Asserted-Identity",
	};
	char value[SIP_TEXT_BYTES];
	struct sip_name n;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!sip_text_header(text, fields[i], 0, value) ||
		    !sip_text_name(value, &n))
			continue;
		add_name(a, n.user);
		add_name(a, n.display);
		add_name(a, n.host);
	}
}

int anonymise_new(struct anonymise **ret, int64_t end_ns)
{
	struct anonymise *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->end_ns = end_ns;
	*ret = a;
	return 0;
}

void anonymise_learn(struct anonymise *a, const struct dialogs_call *call)
{
	for (size_t i = 0; i < call->messages; i++)
		add_names(a, call->message[i].text);
}

void anonymise_use(struct anonymise *a, const struct dialogs_call *call)
{
	a->call = call;
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

bool anonymise_is_late(const struct anonymise *a)
{
	return a->late;
}

/* A replacement is looked for in all messages, which may take long. */
static bool is_late(struct anonymise *a)
{
	a->late = a->late || (a->end_ns && clock_mono_ns() > a->end_ns);
	return a->late;
}

static bool is_number(const char *text)
{
	return strpbrk(text, "0123456789") &&
	       text[strspn(text, "+0123456789-.()*#")] == '\0';
}

/* Each kind has two forms: the original may be a part of the first. */
static void propose(const char *original, enum anonymise_kind kind, unsigned n,
		    bool second, char ret[static REPLACEMENT_BYTES])
{
	uint8_t address[16];

	if (kind == ANONYMISE_HOST || strchr(original, '.') ||
	    strchr(original, ':')) {
		if (inet_pton(AF_INET, original, address) == 1)
			/* RFC 2544 section C.2.2: for tests; RFC 6598 */
			str_print(ret, REPLACEMENT_BYTES, "%s.%u.%u",
				  second ? "100.64" : "198.18", n / 250 % 256,
				  n % 250 + 1);
		else if (inet_pton(AF_INET6, original, address) == 1)
			str_print(ret, REPLACEMENT_BYTES, "%s:db8::%x",
				  second ? "fd00" : "2001", n);
		else
			str_print(ret, REPLACEMENT_BYTES, "%s-%u.example",
				  second ? "node" : "host", n);
		return;
	}
	if (is_number(original))
		str_print(ret, REPLACEMENT_BYTES, "%s%s%04u",
			  original[0] == '+' ? "+1" : "",
			  second ? "777" : "555", n);
	else if (kind == ANONYMISE_NAME)
		str_print(ret, REPLACEMENT_BYTES, "%s %u",
			  second ? "Person" : "Name", n);
	else if (kind == ANONYMISE_USER)
		str_print(ret, REPLACEMENT_BYTES, "%s-%u",
			  second ? "party" : "user", n);
	else
		str_print(ret, REPLACEMENT_BYTES, "%s-%u",
			  second ? "term" : "word", n);
}

/* Whether a replacement could be taken for an original. */
static bool occurs(const struct anonymise *a, const char *original,
		   const char *text)
{
	if (strlen(original) >= NAME_MIN && strcasestr(text, original))
		return true;
	for (size_t i = 0; i < a->names; i++)
		if (strcasestr(text, a->name[i]))
			return true;
	for (size_t i = 0; i < a->call->messages; i++)
		if (strcasestr(a->call->message[i].text, text))
			return true;
	return false;
}

const char *anonymise_text(struct anonymise *a, enum anonymise_kind kind,
			   const char *original)
{
	struct pair *p = &a->pair[a->pairs];
	unsigned attempts = 0;
	bool second = true;

	if (!a->call || original[0] == '\0')
		return original;
	for (size_t i = 0; i < a->pairs; i++)
		if (strcasecmp(a->pair[i].original, original) == 0)
			return a->pair[i].replacement;
	if (a->pairs == ANONYMISE_MAX || is_late(a))
		return "x";
	p->original = strdup(original);
	if (!p->original)
		return "x";
	do {
		second = !second;
		a->used += !second;
		propose(original, kind, a->used, second, p->replacement);
	} while (++attempts < ATTEMPTS_MAX && !is_late(a) &&
		 occurs(a, original, p->replacement));
	a->pairs++;
	return p->replacement;
}

void anonymise_digits(struct anonymise *a, char *digits)
{
	char key[DIALOGS_DIGITS_MAX + 1];
	const char *number;
	size_t length, at, n = 0;

	for (const char *c = digits; *c && n < DIALOGS_DIGITS_MAX; c++)
		if (isalnum((unsigned char)*c))
			key[n++] = *c;
	key[n] = '\0';
	if (!a->call || n == 0)
		return;
	number = anonymise_text(a, ANONYMISE_USER, key);
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

struct rewriting {
	char *ret;
	size_t used;
	char name[SIP_TEXT_BYTES]; /* the last word */
	char before;               /* character behind it; 0: none */
	bool host;                 /* it was a host: ":" and a port follow */
};

/* @return false: it is full */
static bool put(struct rewriting *r, const char *text)
{
	int length = str_print(r->ret + r->used, SIP_TEXT_BYTES - r->used, "%s",
			       text);

	if (length < 0)
		return false;
	r->used += (size_t)length;
	return true;
}

/* An IPv6 address in brackets. @return its length; 0: it is none */
static size_t put_reference(struct anonymise *a, struct rewriting *r,
			    const char *p)
{
	size_t n = strcspn(p, "]");
	char host[SIP_TEXT_BYTES];
	uint8_t address[16];

	if (p[0] != '[' || p[n] != ']' || n - 1 >= sizeof(host))
		return 0;
	memcpy(host, p + 1, n - 1);
	host[n - 1] = '\0';
	if (inet_pton(AF_INET6, host, address) != 1)
		return 0;
	if (!put(r, "[") || !put(r, anonymise_text(a, ANONYMISE_HOST, host)) ||
	    !put(r, "]"))
		return 0;
	r->host = true;
	return n + 1;
}

/* @return its length; 0: there is none */
static size_t put_port(struct rewriting *r, const char *p)
{
	size_t n = p[0] == ':' ? strspn(p + 1, "0123456789") : 0;

	if (!r->host || n == 0 || !put(r, ":" PORT))
		return 0;
	r->host = false;
	return n + 1;
}

static size_t put_word(struct anonymise *a, struct rewriting *r, const char *p)
{
	char word[SIP_TEXT_BYTES];
	size_t n = 0;
	bool number;

	while (p[n] && is_word(p[n]) && n + 1 < sizeof(word))
		n++;
	if (n == 0) {
		word[0] = *p;
		word[1] = '\0';
		r->before = *p;
		r->host = false;
		return put(r, word) ? 1 : 0;
	}
	memcpy(word, p, n);
	word[n] = '\0';
	number = word[strspn(word, "0123456789.")] == '\0';
	r->host = r->before == '@' || strchr(word, '.');
	if (!put(r, number && r->before == '=' &&
				    str_listed(number_parameters, r->name)
			    ? word
			    : replace_word(a, word)))
		return 0;
	str_copy(r->name, sizeof(r->name), word);
	return n;
}

void anonymise_free_text(struct anonymise *a, const char *original,
			 char ret[static SIP_TEXT_BYTES])
{
	struct rewriting r = {.ret = ret};
	size_t n;

	ret[0] = '\0';
	if (!a->call) {
		str_print(ret, SIP_TEXT_BYTES, "%s", original);
		return;
	}
	for (const char *p = original; *p; p += n) {
		n = put_reference(a, &r, p);
		if (!n)
			n = put_port(&r, p);
		if (!n)
			n = put_word(a, &r, p);
		if (!n)
			break;
	}
	str_utf8_repair(ret); /* a character may be cut */
}
