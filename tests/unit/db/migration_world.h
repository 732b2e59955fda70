/* For tests of migrations: a database of an earlier one with rows of its form, brought up to today's. */
#include "db_world.h"

/* A bare connection to an empty file. */
static inline struct db_tx *bare(struct world *w, struct db *db)
{
    char path[128];
    struct db_tx *tx = NULL;
    db_vfs_register();
    world_file(w, "bare.db", path, sizeof(path));
    if (!file_exists(path))
        MUST(file_write(path, "", 0, 0600));
    *db = (struct db){.clock = &w->clock, .path = path};
    MUST(db_tx_open(db, true, 1024, &tx));
    return tx;
}

/* A database of the so-and-so-many-th migration that holds rows, brought up to today's. */
static inline struct db_tx *upgraded_from(struct world *w, struct db *db, int version, const char *rows)
{
    int count;
    struct db_tx *tx = bare(w, db);
    const struct db_migration *list = db_migrations(&count);
    MUST(db_migrate(tx, list, version, w->error));
    MUST(db_script(tx, rows));
    MUST(db_migrate(tx, list, count, w->error));
    return tx;
}
