/* Run a fuzz target over every file of the folders named as arguments. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_BYTES_MAX (1 << 20)

static int replay_file(const char *path, uint8_t *data)
{
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!f) {
		perror(path);
		return -1;
	}
	size = fread(data, 1, INPUT_BYTES_MAX, f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

static int replay_folder(const char *path, uint8_t *data)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int count = 0;

	if (!dir) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(dir))) {
		char name[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (replay_file(name, data))
			break;
		count++;
	}
	closedir(dir);
	return entry ? -1 : count;
}

int main(int argc, char **argv)
{
	uint8_t *data = malloc(INPUT_BYTES_MAX);
	int failed = !data || argc < 2;

	for (int i = 1; !failed && i < argc; i++) {
		int count = replay_folder(argv[i], data);

		/* An empty corpus tests nothing. */
		failed = count <= 0;
		printf("%s: %d inputs\n", argv[i], count);
	}
	free(data);
	return failed;
}
