/*
 * The migrations this binary carries, and how a database is brought up to them.
 *
 * Forward only. Each runs in one transaction with the row that says it ran, so a crash leaves the one before or the
 * one after. A file that was released is never edited: its hash is kept beside its number, and a database whose
 * history differs from this binary's is refused, because nobody knows what its tables look like. To add one, write the
 * file and add a line to both lists.
 */
#include "db/intern.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/own.h"

#include <stdio.h>
#include <unistd.h>

EMBED(migration_0001, "migrations/0001_first_light.sql");
EMBED(migration_0002, "migrations/0002_access_keys.sql");
EMBED(migration_0003, "migrations/0003_node_reason.sql");
EMBED(migration_0004, "migrations/0004_cluster_life.sql");
EMBED(migration_0005, "migrations/0005_governance.sql");
EMBED(migration_0006, "migrations/0006_node_fault.sql");
EMBED(migration_0007, "migrations/0007_audit.sql");
EMBED(migration_0008, "migrations/0008_governance_applied.sql");
EMBED(migration_0009, "migrations/0009_instance_address.sql");
EMBED(migration_0010, "migrations/0010_cluster_operation.sql");
EMBED(migration_0011, "migrations/0011_deep_checks.sql");
EMBED(migration_0012, "migrations/0012_fault_class.sql");
EMBED(migration_0013, "migrations/0013_apart.sql");
EMBED(migration_0014, "migrations/0014_hardware.sql");
EMBED(migration_0015, "migrations/0015_policy.sql");
EMBED(migration_0016, "migrations/0016_check_spares.sql");
EMBED(migration_0017, "migrations/0017_hardware_past.sql");
EMBED(migration_0018, "migrations/0018_approval.sql");
EMBED(migration_0019, "migrations/0019_incidents.sql");
EMBED(migration_0020, "migrations/0020_approval_subject.sql");
EMBED(migration_0021, "migrations/0021_agent_settings.sql");
EMBED(migration_0022, "migrations/0022_supply.sql");
EMBED(migration_0023, "migrations/0023_deep_unfinished.sql");
EMBED(migration_0024, "migrations/0024_jobs.sql");
EMBED(migration_0025, "migrations/0025_resolved_at.sql");
EMBED(migration_0026, "migrations/0026_decision_row.sql");
EMBED(migration_0027, "migrations/0027_approval_reason.sql");
EMBED(migration_0028, "migrations/0028_job_attempt.sql");
EMBED(migration_0029, "migrations/0029_job_run.sql");
EMBED(migration_0030, "migrations/0030_job_run_oldest.sql");
EMBED(migration_0031, "migrations/0031_breaker_closed.sql");
EMBED(migration_0032, "migrations/0032_mended.sql");
EMBED(migration_0033, "migrations/0033_group_source.sql");
EMBED(migration_0034, "migrations/0034_scheduler_address.sql");
EMBED(migration_0035, "migrations/0035_attempt_totals.sql");
EMBED(migration_0036, "migrations/0036_webhook.sql");
EMBED(migration_0037, "migrations/0037_cluster_pause.sql");
EMBED(migration_0038, "migrations/0038_job_run_end.sql");
EMBED(migration_0039, "migrations/0039_node_in_order.sql");
EMBED(migration_0040, "migrations/0040_node_facts.sql");
EMBED(migration_0041, "migrations/0041_cluster_scheduler.sql");
EMBED(migration_0042, "migrations/0042_specs.sql");
EMBED(migration_0043, "migrations/0043_facts_of_texts.sql");
EMBED(migration_0044, "migrations/0044_words.sql");
EMBED(migration_0045, "migrations/0045_governance_specs.sql");
EMBED(migration_0046, "migrations/0046_operation_report.sql");
EMBED(migration_0047, "migrations/0047_rule_words.sql");
EMBED(migration_0048, "migrations/0048_person_hold.sql");
EMBED(migration_0049, "migrations/0049_event_words.sql");
EMBED(migration_0050, "migrations/0050_who_cancelled.sql");
EMBED(migration_0051, "migrations/0051_node_report.sql");
EMBED(migration_0052, "migrations/0052_provider_ref.sql");
EMBED(migration_0053, "migrations/0053_beside.sql");
EMBED(migration_0054, "migrations/0054_reboot_try.sql");
EMBED(migration_0055, "migrations/0055_node_labels.sql");
EMBED(migration_0056, "migrations/0056_machine.sql");
EMBED(migration_0057, "migrations/0057_store_fact.sql");
EMBED(migration_0058, "migrations/0058_machine_proof.sql");
EMBED(migration_0059, "migrations/0059_job_command.sql");
EMBED(migration_0060, "migrations/0060_event_facts.sql");
EMBED(migration_0061, "migrations/0061_webhook_failed.sql");
EMBED(migration_0062, "migrations/0062_instance_ref.sql");
EMBED(migration_0063, "migrations/0063_job_command_size.sql");
EMBED(migration_0064, "migrations/0064_chassis_and_power.sql");
EMBED(migration_0065, "migrations/0065_operation_cause.sql");
EMBED(migration_0066, "migrations/0066_event_was.sql");
EMBED(migration_0067, "migrations/0067_provider_notice.sql");
EMBED(migration_0068, "migrations/0068_job_command_start.sql");

static const struct db_migration migrations[] = {
    {"0001_first_light", migration_0001_data, migration_0001_end},
    {"0002_access_keys", migration_0002_data, migration_0002_end},
    {"0003_node_reason", migration_0003_data, migration_0003_end},
    {"0004_cluster_life", migration_0004_data, migration_0004_end},
    {"0005_governance", migration_0005_data, migration_0005_end},
    {"0006_node_fault", migration_0006_data, migration_0006_end},
    {"0007_audit", migration_0007_data, migration_0007_end},
    {"0008_governance_applied", migration_0008_data, migration_0008_end},
    {"0009_instance_address", migration_0009_data, migration_0009_end},
    {"0010_cluster_operation", migration_0010_data, migration_0010_end},
    {"0011_deep_checks", migration_0011_data, migration_0011_end},
    {"0012_fault_class", migration_0012_data, migration_0012_end},
    {"0013_apart", migration_0013_data, migration_0013_end},
    {"0014_hardware", migration_0014_data, migration_0014_end},
    {"0015_policy", migration_0015_data, migration_0015_end},
    {"0016_check_spares", migration_0016_data, migration_0016_end},
    {"0017_hardware_past", migration_0017_data, migration_0017_end},
    {"0018_approval", migration_0018_data, migration_0018_end},
    {"0019_incidents", migration_0019_data, migration_0019_end},
    {"0020_approval_subject", migration_0020_data, migration_0020_end},
    {"0021_agent_settings", migration_0021_data, migration_0021_end},
    {"0022_supply", migration_0022_data, migration_0022_end},
    {"0023_deep_unfinished", migration_0023_data, migration_0023_end},
    {"0024_jobs", migration_0024_data, migration_0024_end},
    {"0025_resolved_at", migration_0025_data, migration_0025_end},
    {"0026_decision_row", migration_0026_data, migration_0026_end},
    {"0027_approval_reason", migration_0027_data, migration_0027_end},
    {"0028_job_attempt", migration_0028_data, migration_0028_end},
    {"0029_job_run", migration_0029_data, migration_0029_end},
    {"0030_job_run_oldest", migration_0030_data, migration_0030_end},
    {"0031_breaker_closed", migration_0031_data, migration_0031_end},
    {"0032_mended", migration_0032_data, migration_0032_end},
    {"0033_group_source", migration_0033_data, migration_0033_end},
    {"0034_scheduler_address", migration_0034_data, migration_0034_end},
    {"0035_attempt_totals", migration_0035_data, migration_0035_end},
    {"0036_webhook", migration_0036_data, migration_0036_end},
    {"0037_cluster_pause", migration_0037_data, migration_0037_end},
    {"0038_job_run_end", migration_0038_data, migration_0038_end},
    {"0039_node_in_order", migration_0039_data, migration_0039_end},
    {"0040_node_facts", migration_0040_data, migration_0040_end},
    {"0041_cluster_scheduler", migration_0041_data, migration_0041_end},
    {"0042_specs", migration_0042_data, migration_0042_end},
    {"0043_facts_of_texts", migration_0043_data, migration_0043_end},
    {"0044_words", migration_0044_data, migration_0044_end},
    {"0045_governance_specs", migration_0045_data, migration_0045_end},
    {"0046_operation_report", migration_0046_data, migration_0046_end},
    {"0047_rule_words", migration_0047_data, migration_0047_end},
    {"0048_person_hold", migration_0048_data, migration_0048_end},
    {"0049_event_words", migration_0049_data, migration_0049_end},
    {"0050_who_cancelled", migration_0050_data, migration_0050_end},
    {"0051_node_report", migration_0051_data, migration_0051_end},
    {"0052_provider_ref", migration_0052_data, migration_0052_end},
    {"0053_beside", migration_0053_data, migration_0053_end},
    {"0054_reboot_try", migration_0054_data, migration_0054_end},
    {"0055_node_labels", migration_0055_data, migration_0055_end},
    {"0056_machine", migration_0056_data, migration_0056_end},
    {"0057_store_fact", migration_0057_data, migration_0057_end},
    {"0058_machine_proof", migration_0058_data, migration_0058_end},
    {"0059_job_command", migration_0059_data, migration_0059_end},
    {"0060_event_facts", migration_0060_data, migration_0060_end},
    {"0061_webhook_failed", migration_0061_data, migration_0061_end},
    {"0062_instance_ref", migration_0062_data, migration_0062_end},
    {"0063_job_command_size", migration_0063_data, migration_0063_end},
    {"0064_chassis_and_power", migration_0064_data, migration_0064_end},
    {"0065_operation_cause", migration_0065_data, migration_0065_end},
    {"0066_event_was", migration_0066_data, migration_0066_end},
    {"0067_provider_notice", migration_0067_data, migration_0067_end},
    {"0068_job_command_start", migration_0068_data, migration_0068_end},
};

const struct db_migration *db_migrations(int *ret_count)
{
    *ret_count = (int)ARRAY_LEN(migrations);
    return migrations;
}

static const char SQL_TOUCH[] = "UPDATE schema_migrations SET name = name WHERE version = 1";

static int touch(struct db_tx *tx, void *arg)
{
    (void)arg;
    return db_exec(tx, SQL_TOUCH);
}

/* The log may have room of its own that a touch fits into, on a disk that has none. */
#define ROOM_BYTES (256 * 1024)

static int find_room(const struct db *db)
{
    autofree char *path = own_printf("%s-room", db->path), *zeros = own_calloc(1, ROOM_BYTES);
    int status = file_write(path, zeros, ROOM_BYTES, 0600);
    (void)unlink(path);
    return status;
}

int db_touch(struct db *db)
{
    int status = find_room(db);
    return status != 0 ? status : db_write(db, "touch", touch, NULL);
}

int db_schema_version(void)
{
    return (int)ARRAY_LEN(migrations);
}

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

static const char SQL_PREPARE[] =
    "BEGIN IMMEDIATE;"
    "PRAGMA application_id = " TEXT_OF(DB_APPLICATION_ID) ";"
                                                          "CREATE TABLE schema_migrations ("
                                                          "    version INTEGER PRIMARY KEY,"
                                                          "    name TEXT NOT NULL,"
                                                          "    applied_at INTEGER NOT NULL,"
                                                          "    sha256 TEXT NOT NULL"
                                                          ") STRICT;"
                                                          "COMMIT;";
static const char SQL_PREPARED[] = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'";
static const char SQL_APPLIED[] = "SELECT version, name, sha256 FROM schema_migrations ORDER BY version";
static const char SQL_RECORD[] =
    "INSERT INTO schema_migrations (version, name, applied_at, sha256) VALUES (?, ?, ?, ?)";

static void roll_back(struct db_tx *tx)
{
    if (!sqlite3_get_autocommit(tx->sqlite))
        db_script(tx, "ROLLBACK");
}

static void digest(const struct db_migration *migration, char ret_hex[ID_SHA256_HEX_MAX])
{
    id_sha256_hex(migration->sql, (size_t)(migration->sql_end - migration->sql), ret_hex);
}

static int prepare(struct db_tx *tx)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PREPARED);
    int status = db_query_one(&q);
    if (status != STATUS_NOT_FOUND)
        return status;
    db_query_close(&q);
    status = db_script(tx, SQL_PREPARE);
    roll_back(tx);
    return status;
}

/* Compares what was applied with the list; *ret_applied counts them. */
static int compare(struct db_tx *tx, const struct db_migration *list, int count, int *ret_applied,
                   char ret_error[DB_ERROR_MAX])
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_APPLIED);
    int applied = 0, status;
    while ((status = db_query_next(&q)) == 1) {
        int64_t version = db_get_i64(&q);
        if (version > count) {
            snprintf(ret_error, DB_ERROR_MAX,
                     "the database has schema version %lld and this Holdfast knows only %d; run the newer Holdfast "
                     "that made it",
                     (long long)version, count);
            return STATUS_VERSION;
        }
        char hex[ID_SHA256_HEX_MAX];
        const char *name = db_get_word(&q);
        if (version == applied + 1)
            digest(&list[applied], hex);
        if (version != applied + 1 || strcmp(name, list[applied].name) != 0 || strcmp(db_get_word(&q), hex) != 0) {
            snprintf(ret_error, DB_ERROR_MAX,
                     "migration %lld of the database is not the one this Holdfast carries; use the binary that made "
                     "the database, or restore a backup",
                     (long long)version);
            return STATUS_VERSION;
        }
        applied++;
    }
    *ret_applied = applied;
    return status;
}

static int record(struct db_tx *tx, int version, const struct db_migration *migration)
{
    char hex[ID_SHA256_HEX_MAX];
    digest(migration, hex);
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_RECORD);
    db_bind_i64(&q, version);
    db_bind_text(&q, migration->name);
    db_bind_i64(&q, clock_wall_ms(db_tx_clock(tx)));
    db_bind_text(&q, hex);
    return db_query_run(&q, NULL);
}

static int apply(struct db_tx *tx, int version, const struct db_migration *migration)
{
    int status = db_script(tx, "BEGIN IMMEDIATE");
    if (status == 0)
        status = db_script(tx, migration->sql);
    if (status == 0)
        status = record(tx, version, migration);
    if (status == 0)
        status = db_script(tx, "COMMIT");
    roll_back(tx);
    return status;
}

int db_migrate(struct db_tx *tx, const struct db_migration *list, int count, char ret_error[DB_ERROR_MAX])
{
    int applied = 0;
    int status = prepare(tx);
    if (status < 0) {
        snprintf(ret_error, DB_ERROR_MAX, "cannot prepare the database: %s", sqlite3_errmsg(tx->sqlite));
        return status;
    }
    ret_error[0] = '\0';
    status = compare(tx, list, count, &applied, ret_error);
    if (status < 0 && ret_error[0] == '\0')
        snprintf(ret_error, DB_ERROR_MAX, "cannot read the schema version: %s", sqlite3_errmsg(tx->sqlite));
    for (int i = applied; i < count && status == 0; i++) {
        status = apply(tx, i + 1, &list[i]);
        if (status < 0)
            snprintf(ret_error, DB_ERROR_MAX, "migration %s failed: %s", list[i].name, sqlite3_errmsg(tx->sqlite));
    }
    return status;
}
