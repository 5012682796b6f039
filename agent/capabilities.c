#include "agent/capabilities.h"

#include "agent/engine/file_rules.h"
#include "agent/engine/syscall_filter.h"
#include "base/codec_names.h"
#include "base/log.h"
#include "base/str.h"
#include "sip/baresip/baresip.h"
#include "sip/sipp/sipp.h"
#include "sip/ua.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void add(json_t *list, const char *kind, const char *value)
{
	(void)json_array_append_new(list, json_sprintf("%s:%s", kind, value));
}

/* Clients that are programs are measured by a packet socket (capture/tap.h). */
static bool packet_socket(const char *client)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		log_info("not offered: client %s: it is measured by a packet "
			 "socket: %s (CAP_NET_RAW)",
			 client, strerror(errno));
		return false;
	}
	(void)close(fd);
	return true;
}

static bool client_baresip(const struct agent_conf *conf)
{
	char reason[SIP_REASON_BYTES] = "";

	if (baresip_usable(conf->bind, reason)) {
		log_info("not offered: %s", reason);
		return false;
	}
	return packet_socket("baresip");
}

static bool client_sipp(void)
{
	char reason[SIP_REASON_BYTES] = "";

	if (sipp_usable(reason)) {
		log_info("not offered: %s", reason);
		return false;
	}
	return packet_socket("sipp");
}

/* What engines are kept from (agent/engine/sandbox.h). */
static void sandbox(json_t *list, const struct agent_conf *conf)
{
	bool on = strcmp(conf->sandbox, "on") == 0;
	int version = on ? file_rules_version() : 0;
	bool calls = on && syscall_filter_supported();

	if (version)
		add(list, "sandbox", "files");
	if (calls)
		add(list, "sandbox", "calls");
	if (!on)
		log_warning("sandbox: off: an engine that a peer takes over "
			    "has all rights of this agent");
	else
		(version && calls ? log_info : log_warning)(
			"sandbox of the engines: files %s (Landlock version "
			"%d); system calls %s (seccomp)",
			version ? "restricted" : "NOT restricted", version,
			calls ? "restricted" : "NOT restricted");
}

json_t *capabilities_list(const struct agent_conf *conf)
{
	char labels[CONF_TEXT_BYTES], *next = labels, *label;
	json_t *list = json_array();

	(void)json_array_append_new(list, json_string("sip"));
	(void)json_array_append_new(list, json_string("rtp"));
	add(list, "client", "native");
	if (client_baresip(conf))
		add(list, "client", "baresip");
	if (client_sipp())
		add(list, "client", "sipp");
	for (size_t i = 0; codec_name_at(i); i++)
		add(list, "codec", codec_name_at(i)->name);
	add(list, "job", "shards");
	add(list, "encryption", "sdes");
	add(list, "encryption", "dtls");
	add(list, "transport", "udp");
	add(list, "transport", "tcp");
	add(list, "transport", "tls");
	sandbox(list, conf);
	(void)str_print(labels, sizeof(labels), "%s", conf->labels);
	while ((label = strsep(&next, ","))) {
		if (label[0])
			(void)json_array_append_new(list, json_string(label));
	}
	return list;
}
