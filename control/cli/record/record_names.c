#include "control/cli/record/record_names.h"

#include "control/cli/client/client.h"
#include "control/cli/client/record_kinds.h"
#include "control/cli/command/commands.h"
#include "control/cli/common/terminal.h"

int record_names_main(struct client *client, int argc, char **argv)
{
	const struct record_kind *kind =
		argc == 2 ? record_kind_find(argv[1]) : NULL;
	const struct command *command = kind ? command_find(argv[1]) : NULL;
	json_t *rows, *row;
	size_t i;
	int status;

	if (!command || !command->names)
		return client_usage("names of which records?");
	rows = json_array();
	status = client_list(client, kind->path, kind->plural, rows);
	json_array_foreach(rows, i, row)
	{
		const char *name =
			json_string_value(json_object_get(row, "name"));

		if (name) {
			terminal_print(stdout, name, 0);
			putchar('\n');
		}
	}
	json_decref(rows);
	return status;
}
