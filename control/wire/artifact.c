#include "control/wire/artifact.h"

#include <ctype.h>
#include <string.h>

static bool ends_in(const char *name, const char *ending)
{
	size_t len = strlen(name), end = strlen(ending);

	return len >= end && strcmp(name + len - end, ending) == 0;
}

bool wire_artifact_name_valid(const char *name)
{
	size_t i;

	for (i = 0; name[i] && i < WIRE_ARTIFACT_NAME_BYTES; i++) {
		if (!isalnum((unsigned char)name[i]) &&
		    (i == 0 || !strchr("._-", name[i])))
			return false;
	}
	return i > 0 && i < WIRE_ARTIFACT_NAME_BYTES &&
	       !ends_in(name, WIRE_ARTIFACT_PART);
}

const char *wire_artifact_type(const char *name)
{
	static const struct {
		const char *ending;
		const char *type;
	} types[] = {
		{".wav", "audio/wav"},
		{".pcap", "application/vnd.tcpdump.pcap"},
		{".pcapng", "application/x-pcapng"},
		{".txt", "text/plain"},
		{".csv", "text/csv"},
		{".json", "application/json"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (ends_in(name, types[i].ending))
			return types[i].type;
	return "application/octet-stream";
}
