/**
 * The points of table `point`, a row each, become blocks of `point_block`.
 * Thread: the owner of the connection.
 */
#ifndef OFFHOOK_SERVER_STORE_POINT_MIGRATION_H
#define OFFHOOK_SERVER_STORE_POINT_MIGRATION_H

struct db;

/** Part of step 27 (migrations.c): convert all points, and drop their table.
 * @return 0; -EIO; -ENOMEM; -EMSGSIZE */
int point_migration(struct db *db);

#endif
