/* Files that a client with media of its own (baresip) plays for its scripts. */
#include "agent/engine/account/client_sounds.h"

#include "base/str.h"
#include "media/prompt_wav.h"
#include "sip/ua.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void path_of(const struct client_sounds *s, size_t i,
		    char dst[static CLIENT_SOUND_PATH_BYTES])
{
	(void)str_print(dst, CLIENT_SOUND_PATH_BYTES, "%s/%zu.wav", s->folder,
			i);
}

static int folder_make(struct client_sounds *s)
{
	const char *base = getenv("TMPDIR");

	if (s->folder[0])
		return 0;
	if (!base || strlen(base) > sizeof(s->folder) / 2)
		base = "/tmp";
	(void)str_print(s->folder, sizeof(s->folder),
			"%s/offhook-sounds-XXXXXX", base);
	if (mkdtemp(s->folder))
		return 0;
	s->folder[0] = '\0';
	return -errno;
}

static int file_make(struct client_sounds *s, size_t i, int64_t *ret_ns)
{
	char path[CLIENT_SOUND_PATH_BYTES];
	int source = open(s->list[i].source, O_RDONLY | O_CLOEXEC);
	int err = source < 0 ? -errno : folder_make(s);
	int fd = -1;

	path_of(s, i, path);
	if (!err)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (!err && fd < 0)
		err = -errno;
	if (!err)
		err = prompt_wav(ret_ns, source, fd, SIP_PLAY_TAIL_MS);
	if (source >= 0)
		close(source);
	if (fd >= 0)
		close(fd);
	return err;
}

int client_sounds_get(struct client_sounds *s, const char *source,
		      char dst[static CLIENT_SOUND_PATH_BYTES], int64_t *ret_ns)
{
	struct client_sound *new = &s->list[s->count];

	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->list[i].source, source) != 0)
			continue;
		path_of(s, i, dst);
		*ret_ns = s->list[i].ns;
		return s->list[i].err;
	}
	if (s->count == CLIENT_SOUNDS_MAX)
		return -E2BIG;
	if (str_copy(new->source, sizeof(new->source), source))
		return -ENAMETOOLONG;
	new->err = file_make(s, s->count++, &new->ns);
	path_of(s, s->count - 1, dst);
	*ret_ns = new->ns;
	return new->err;
}

void client_sounds_free(struct client_sounds *s)
{
	char path[CLIENT_SOUND_PATH_BYTES];

	if (!s->folder[0])
		return;
	for (size_t i = 0; i < s->count; i++) {
		path_of(s, i, path);
		unlink(path);
	}
	rmdir(s->folder);
	s->folder[0] = '\0';
}
