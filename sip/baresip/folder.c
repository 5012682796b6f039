#include "sip/baresip/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"
#include "sip/baresip/launch.h"

#define CONFIG_BYTES_MAX 8192

const char *const baresip_modules[] = {
	"g711.so",     "g722.so",   "opus.so",    "gsm.so",       "l16.so",
	"ausine.so",   "aufile.so", "srtp.so",    "dtls_srtp.so", "ice.so",
	"stun.so",     "turn.so",   "account.so", "menu.so",      "ctrl_tcp.so",
	"aubridge.so", NULL,
};

static const char *const files[] = {"accounts", "config", "contacts", "core",
				    NULL};

static bool is_application(const char *module)
{
	return strcmp(module, "account.so") == 0 ||
	       strcmp(module, "menu.so") == 0 ||
	       strcmp(module, "ctrl_tcp.so") == 0;
}

/* The player is an aubridge that nothing reads, as the tap has the audio. The player
 * of aufile is not used: its thread sets the flag "running" itself, and a player
 * that is released before that is freed while the thread uses it. baresip 1.1
 * releases a player right after its start when a call is put on hold, and crashed
 * there. A bridge has no thread until something reads it. A tone played on it would
 * never end, so the path of the tone files leads nowhere. */
static int config_write(struct buf *b, const struct baresip_setup *s)
{
	bool v6 = strchr(s->bind_addr, ':') != NULL;
	int err = buf_print(b,
			    "sip_listen %s%s%s:%u\n"
			    "net_interface %s\n"
			    "call_max_calls 64\n"
			    "call_local_timeout 3600\n"
			    "audio_source " BARESIP_SOURCE "\n"
			    "ausrc_srate 48000\n" /* the only rate of ausine */
			    "ausrc_channels 2\n"
			    "audio_player aubridge,heard\n"
			    "audio_alert aubridge,alert\n"
			    "audio_path /nonexistent\n"
			    "ringback_disabled yes\n"
			    "statmode_default off\n"
			    "rtp_ports %u-%u\n"
			    "rtp_stats no\n"
			    "rtcp_mux %s\n"
			    "ctrl_tcp_listen %s\n"
			    "module_path " BARESIP_MODULES "\n",
			    v6 ? "[" : "", s->bind_addr, v6 ? "]" : "",
			    s->sip_port, s->bind_addr, s->rtp_min, s->rtp_max,
			    s->rtcp_mux ? "yes" : "no", s->control);

	for (size_t i = 0; !err && baresip_modules[i]; i++)
		err = buf_print(b, "%s %s\n",
				is_application(baresip_modules[i])
					? "module_app"
					: "module",
				baresip_modules[i]);
	return err;
}

static int file_make(const char *folder, const char *name, const char *data,
		     size_t len)
{
	char path[BARESIP_FOLDER_BYTES + 16];
	int fd;
	int err;

	(void)str_print(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_write(fd, data, len);
	close(fd);
	return err;
}

int baresip_folder_new(char *ret, const struct baresip_setup *setup)
{
	const char *base = getenv("TMPDIR");
	struct buf config;
	int err;

	if (!base || strlen(base) > BARESIP_FOLDER_BYTES / 2)
		base = "/tmp";
	(void)str_print(ret, BARESIP_FOLDER_BYTES, "%s/offhook-baresip-XXXXXX",
			base);
	if (!mkdtemp(ret))
		return -errno;
	buf_init(&config, CONFIG_BYTES_MAX);
	err = config_write(&config, setup);
	if (!err)
		err = file_make(ret, "config", config.data, config.used);
	if (!err)
		err = file_make(ret, "contacts", "", 0);
	if (!err)
		err = file_make(ret, "accounts", setup->account,
				strlen(setup->account));
	buf_release(&config);
	if (err)
		baresip_folder_remove(ret);
	return err;
}

void baresip_folder_remove(const char *path)
{
	char file[BARESIP_FOLDER_BYTES + 16];

	for (size_t i = 0; files[i]; i++) {
		(void)str_print(file, sizeof(file), "%s/%s", path, files[i]);
		unlink(file);
	}
	rmdir(path);
}
