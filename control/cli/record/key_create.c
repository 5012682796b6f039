#include "control/cli/record/key_create.h"

#include "control/cli/client/client.h"
#include "control/cli/record/record_verbs.h"

#include <stdio.h>

int key_create_main(struct client *c, int argc, char **argv)
{
	int status = record_verb_main(c, "key", argc, argv);

	if (!status)
		fputs("offhook: keep the secret: it is not shown again. "
		      "OFFHOOK_KEY takes public_key:secret\n",
		      stderr);
	return status;
}
