// A rule that cannot fail is worth nothing: each gets samples that must be found, at the right line, and near misses that
// must not. In a sample, a line that ends with "// BAD" is the one to be found; the mark itself is taken out first.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RULES, lint } from './rules.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const HEAD = '/* What this file is for, in enough words to count. */\n';
const lines = (n, line = '    step();') => Array(n).fill(line).join('\n');
// A function of exactly n lines, head and braces included.
const fn = (n, { before = '', inside = '', mark = '' } = {}) => `${before}static void work(void)${mark}\n{\n${inside}${lines(n - 3 - (inside ? 1 : 0))}\n}\n`;

// [rule, what it shows, {path: text}]. Texts of C get HEAD unless they begin with a comment.
const BAD = [
    ['words', 'in a name', { 'db/a.c': 'struct errand *errand_new(void); // BAD\n' }],
    ['words', 'in a text', { 'cli/a.c': 'const char *x = "the agent speaks again"; // BAD\n' }],
    ['words', 'in a comment', { 'model/a.h': '/* A sight of it. */ // BAD\n' }],
    ['words', 'in a document', { 'README.md': 'It waits for a yes. // BAD\n', 'docs/man/a.8': 'the AWS door // BAD\n' }],
    ['words', 'in the name of a file', { 'tests/e2e/stillborn.test.mjs': '// What this test is for, in enough words. // BAD\n', 'model/book.h': '/* What this file is for, in enough words. */ // BAD\n' }],
    ['recipes', 'a file that is not there', {
        'CONTRIBUTING.md': '# Working\n\n## Recipes\n\n**A migration.** `migrations/NNNN_<what>.sql` → the list in `db/migrations.c`. // BAD\n\n## Commits\n',
        'migrations/0065_operation_cause.sql': '-- What this migration is for, in words.\n',
    }],
    ['recipes', 'a file that knows nothing of the example', {
        'CONTRIBUTING.md': '# Working\n\n## Recipes\n\nEach is a list.\n\n**A migration.** `migrations/NNNN_<what>.sql` → // BAD\n`db/migrations.c`.\n',
        'migrations/0065_operation_cause.sql': '-- What this migration is for, in words.\n', 'db/migrations.c': 'int x;\n',
    }],
    ['recipes', 'a recipe without an example', { 'CONTRIBUTING.md': '## Recipes\n\n**A new kind of thing.** A row in `db/db.c`. // BAD\n', 'db/db.c': 'int x;\n' }],
    ['facts', 'a state read off a message', { 'server/reconcile/a.c': 'void f(void)\n{\n    if (text_starts_with(event->message, "ready -> ")) // BAD\n        g();\n}\n' }],
    ['facts', 'a cause read off a reason', {
        'server/service/a.c': 'void f(void)\n{\n    return strstr(row.reason, "held by") != NULL; // BAD\n}\n',
        'policy/a.c': 'void f(void)\n{\n    n = sscanf(decision->sentence, "%d of %d", &a, &b); // BAD\n}\n',
        'cli/a.c': 'void f(void)\n{\n    if (text_equal(node->view.failure, "timeout")) // BAD\n        g();\n}\n',
    }],
    ['facts', 'a single code', {
        'policy/a.c': 'void f(void)\n{\n    return strcmp(wanted->code, "xid.154") == 0; // BAD\n}\n',
        'model/a.c': 'void f(void)\n{\n    return text_equal(decision->code, "operator"); // BAD\n}\n',
        'server/a.c': 'void f(void)\n{\n    return text_starts_with(code, "deep."); // BAD\n}\n',
    }],
    ['facts', 'the console, too', {
        'web/a.js': "const was = /^(\\S+) -> /.exec(change.message)?.[1]; // BAD\nif (node.reason?.startsWith('held')) f(); // BAD\nif (e.message.endsWith('-> ready')) f(); // BAD\n",
    }],
    ['api-name', 'a handler that does not say what the operation does', {
        'api/routes.c': 'const struct api_route api_routes[] = {\n    {"GET", "/v1/x/{x}", "describeNodeHardware", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_node_hardware}, // BAD\n' +
            '    {"PUT", NODE "/y/{y}", "setNodePlace", ACCESS_VIEWER, // BAD\n     LANE_POOL, PLAIN, 0,\n     api_node_put},\n};\n',
    }],
    ['include', 'base knows nobody', { 'base/a.c': '#include "model/model.h" // BAD\n' }],
    ['include', 'model knows only base', { 'model/a.c': '#include "db/db.h" // BAD\n' }],
    ['include', 'policy has no clock', { 'policy/a.c': '#include "base/clock.h" // BAD\n' }],
    ['include', 'policy has no log', { 'policy/a.c': '#include "base/log.h" // BAD\n' }],
    ['include', 'policy has no JSON', { 'policy/a.c': '#include "base/json.h" // BAD\n' }],
    ['include', 'db does not know the server', { 'db/a.c': '#include "server/live/fleet.h" // BAD\n' }],
    ['include', 'db has the policy\'s inputs only', { 'db/a.c': '#include "policy/evaluate.h" // BAD\n' }],
    ['include', 'a provider does not store', { 'server/provider/lab/a.c': '#include "db/db.h" // BAD\n' }],
    ['include', 'a scheduler does not decide', { 'server/scheduler/slurm/a.c': '#include "policy/policy.h" // BAD\n' }],
    ['include', 'a scheduler does not know providers', { 'server/scheduler/a.c': '#include "server/provider/provider.h" // BAD\n' }],
    ['include', 'a service does not call backends', { 'server/service/a.c': '#include "server/scheduler/scheduler.h" // BAD\n' }],
    ['commit', 'a step that changes memory', { 'server/reconcile/operation/a.c': 'void f(void)\n{\n    reconcile_link(w->node)->observe_now = true; // BAD\n    w->node->op->ready = false; // BAD\n}\n' }],
    ['commit', 'an agent that is asked too early', { 'server/reconcile/operation/a.c': 'void f(void)\n{\n    agent_tasks_put(tasks, 1, &job); // BAD\n}\n' }],
    ['include', 'the loop has the vtable, not the driver', { 'server/reconcile/a.c': '#include "server/scheduler/slurm/slurm.h" // BAD\n' }],
    ['include', 'the loop does not answer', { 'server/reconcile/reconcile.c': '#include "api/api.h" // BAD\n' }],
    ['include', 'the fleet does not answer', { 'server/live/fleet.c': '#include "api/api.h" // BAD\n' }],
    ['include', 'the fleet does not decide', { 'server/live/fleet.c': '#include "policy/policy.h" // BAD\n' }],
    ['include', 'a door does not store', { 'api/v1/a.c': '#include "db/node.h" // BAD\n' }],
    ['include', 'a door does not act', { 'api/a.c': '#include "server/provider/provider.h" // BAD\n' }],
    ['include', 'a door does not decide', { 'api/a.c': '#include "policy/policy.h" // BAD\n' }],
    ['include', 'the REST API has words of its own', { 'api/v1/governance.h': '#include "api/aws/governance_document.h" // BAD\n' }],
    ['include', 'agents never decide', { 'agents/node/a.c': '#include "policy/policy.h" // BAD\n' }],
    ['include', 'agents do not know the server', { 'agents/node/a.c': '#include "server/service/service.h" // BAD\n' }],
    ['include', 'the tool does not know the store', { 'cli/a.c': '#include "db/db.h" // BAD\n' }],
    ['include', 'spaces hide nothing', { 'cli/a.c': '  #  include  "db/db.h" // BAD\n' }],
    ['include', 'headers count', { 'cli/a.h': '#include "db/db.h" // BAD\n' }],
    ['include', 'paths begin at the root', { 'cli/a.c': '#include "cli.h" // BAD\n' }],
    ['include', 'no way around by dots', { 'cli/a.c': '#include "../db/db.h" // BAD\n' }],
    ['arrows', 'a folder that is before the one it includes', {
        'ARCHITECTURE.md': '- In `server/reconcile/` the order is `base/`, `world/`, `keep/`.\n',
        'server/reconcile/base/record.c': '#include "server/reconcile/keep/hold.h" // BAD\n#include "server/reconcile/base/node.h"\n',
        'server/reconcile/world/load.h': '#include "server/reconcile/keep/hold.h" // BAD\n',
    }],
    ['arrows', 'a folder that nobody gave a place', {
        'ARCHITECTURE.md': '- In `server/reconcile/` the order is `base/`, `world/`.\n',
        'server/reconcile/more/a.c': '/* What this file is for, in enough words to count. */ // BAD\n',
    }],
    ['arrows', 'an order that is not given any more', { 'server/service/node/a.c': '/* What this file is for, in enough words to count. */ // BAD\n' }],
    ['arrows', 'another room whose order is given', {
        'ARCHITECTURE.md': '- In `agents/` the order is `checks/`, `node/`.\n',
        'agents/checks/a.c': '#include "agents/node/agent.h" // BAD\n',
    }],
    ['owner', 'microhttpd outside the API', { 'server/a.c': '#include <microhttpd.h> // BAD\n' }],
    ['owner', 'microhttpd in another file of the launcher', { 'agents/launcher/api.c': '#include <microhttpd.h> // BAD\n' }],
    ['owner', 'microhttpd in two files', {
        'api/a.c': '#include <microhttpd.h> // BAD\n',
        'api/b.c': '#include <microhttpd.h> // BAD\n',
    }],
    ['owner', 'SQLite outside the store', { 'server/service/a.c': '#include <sqlite3.h> // BAD\n' }],
    ['owner', 'curl outside its file', { 'base/wire.c': '#include <curl/curl.h> // BAD\n' }],
    ['owner', 'jansson past its header', { 'base/json.c': '#include <jansson.h> // BAD\n' }],
    ['owner', 'GnuTLS outside base', { 'api/a.c': '#include <gnutls/gnutls.h> // BAD\n' }],
    ['owner', 'Nettle outside base', { 'agents/node/a.c': '#include <nettle/sha2.h> // BAD\n' }],
    ['owner', 'YAML outside its file', { 'server/config/config.c': '#include <yaml.h> // BAD\n' }],
    ['owner', 'a library nobody decided on', { 'base/a.c': '#include <libssh2.h> // BAD\n' }],
    ['sql', 'select', { 'server/service/a.c': 'static const char q[] = "SELECT id FROM node"; // BAD\n' }],
    ['sql', 'insert', { 'api/a.c': 'static const char q[] = "INSERT INTO node VALUES (?)"; // BAD\n' }],
    ['sql', 'insert or ignore', { 'api/a.c': 'static const char q[] = "INSERT OR IGNORE INTO node VALUES (?)"; // BAD\n' }],
    ['sql', 'update over two texts', { 'cli/a.c': 'static const char q[] = "UPDATE node" // BAD\n    " SET state = ?";\n' }],
    ['sql', 'delete in lower case', { 'server/a.c': 'static const char q[] = "delete from node where id = ?"; // BAD\n' }],
    ['sql', 'select in lower case', { 'server/a.c': 'static const char q[] = "select id, name from node where id = 1"; // BAD\n' }],
    ['clock', 'time()', { 'policy/a.c': 'long f(void)\n{\n    return time(NULL); // BAD\n}\n' }],
    ['clock', 'gettimeofday()', { 'model/a.c': 'void f(void)\n{\n    gettimeofday(&tv, NULL); // BAD\n}\n' }],
    ['clock', 'clock_gettime()', { 'db/a.c': 'void f(void)\n{\n    clock_gettime(CLOCK_REALTIME, &ts); // BAD\n}\n' }],
    ['clock', 'a clock by name', { 'server/a.c': 'static const int id = CLOCK_BOOTTIME; // BAD\n' }],
    ['clock', 'the agent too', { 'agents/node/a.c': 'void f(void)\n{\n    clock_gettime(CLOCK_BOOTTIME, &ts); // BAD\n}\n' }],
    ['clock', 'with a space', { 'server/service/a.c': 'void f(void)\n{\n    now = time (NULL); // BAD\n}\n' }],
    ['clock', 'SQLite\'s own', { 'db/a.c': 'static const char q[] = "UPDATE node SET at = unixepoch()"; // BAD\n' }],
    ['clock', 'in a migration', { 'migrations/0001_a.sql': '-- What this migration is for, in words.\nCREATE TABLE a (at TEXT DEFAULT CURRENT_TIMESTAMP); // BAD\n' }],
    ['pure', 'a system call\'s header', { 'policy/a.c': '#include <unistd.h> // BAD\n' }],
    ['pure', 'a socket', { 'model/a.c': '#include <sys/socket.h> // BAD\n' }],
    ['pure', 'output', { 'policy/a.c': 'void f(void)\n{\n    printf("x"); // BAD\n}\n' }],
    ['pure', 'the environment', { 'policy/a.c': 'void f(void)\n{\n    s = getenv("HOME"); // BAD\n}\n' }],
    ['pure', 'chance', { 'policy/a.c': 'void f(void)\n{\n    n = rand(); // BAD\n}\n' }],
    ['pure', 'memory between calls', { 'policy/a.c': 'static int calls; // BAD\n' }],
    ['pure', 'a table that can change', { 'policy/a.c': 'static struct row table[] = { // BAD\n    {1},\n};\n' }],
    ['pure', 'a pointer that can change', { 'policy/a.c': 'static const char *last = NULL; // BAD\n' }],
    ['pure', 'memory of a thread', { 'model/a.c': 'static _Thread_local int calls; // BAD\n' }],
    ['pure', 'the log through another header', {
        'policy/a.c': '#include "model/b.h" // BAD\n',
        'model/b.h': '#include "base/c.h" // BAD\n',
        'base/c.h': '#include "base/log.h"\n',
    }],
    ['decide', 'a service decides', { 'server/service/a.c': 'void f(void)\n{\n    policy_decide(&input, &plan); // BAD\n}\n' }],
    ['kind', 'a kind by its symbol', {
        'server/scheduler/slurm/slurm.c': 'int x;\n',
        'server/service/a.c': 'void f(void)\n{\n    if (cluster->orchestrator == ORCHESTRATOR_SLURM) // BAD\n        g();\n}\n',
        'api/aws/change.c': 'void f(void)\n{\n    o = ORCHESTRATOR_SLURM; // BAD\n}\n',
    }],
    ['kind', 'another kind, too', {
        'server/scheduler/other/a.c': 'int x;\n',
        'policy/a.c': 'void f(void)\n{\n    switch (o) {\n    case ORCHESTRATOR_OTHER: // BAD\n    }\n}\n',
    }],
    ['kind', 'a kind by its name', {
        'server/scheduler/slurm/slurm.c': 'int x;\n',
        'server/config/scheduler.c': 'void f(void)\n{\n    return text_equal(kind, "slurm"); // BAD\n}\n',
        'server/reconcile/a.c': 'void f(void)\n{\n    if (strcmp(link->driver.ops->name, "slurm") == 0) // BAD\n        g();\n}\n',
        'cli/a.c': 'void f(void)\n{\n    if (strcmp("slurm", name_of(x)) == 0) // BAD\n        g();\n}\n',
    }],
    ['kind', 'the words of Slurm\'s people', {
        'policy/a.c': 'static const char *t = "Action:Reboot"; // BAD\n',
        'server/main.c': 'static const char *t = "%s/scontrol"; // BAD\n',
        'server/service/a.c': '/* what scontrol says */ // BAD\n',
    }],
    ['kind', 'in the agents and in the console', {
        'server/scheduler/slurm/slurm.c': 'int x;\n',
        'agents/node/a.c': 'static const char *t = "scontrol show node"; // BAD\n',
        'web/a.js': "if (cluster.orchestrator === 'slurm') f(); // BAD\nconst t = 'scontrol update'; // BAD\n",
    }],
    ['long-function', 'one line too many', { 'db/a.c': fn(71, { mark: ' // BAD' }) }],
    ['long-function', 'in tests too', { 'tests/unit/db/test_a.c': fn(71, { mark: ' // BAD' }) }],
    ['long-function', 'a reason that is none', { 'db/a.c': fn(80, { before: '/* lint: long because */\n', mark: ' // BAD' }) }],
    ['long-function', 'the reason of the function before', {
        'db/a.c': fn(80, { before: '/* lint: long because one table is one thing */\n' }) + '\n' + fn(80, { mark: ' // BAD' }),
    }],
    ['long-function', 'the reason of the file', {
        'db/a.c': '/* A file with a head that says much.\n * lint: long because the table is long */\n' + fn(80, { mark: ' // BAD' }),
    }],
    ['long-function', 'a head of two lines', {
        'db/a.c': `static int work(int a, // BAD\n                int b)\n{\n${lines(68)}\n}\n`,
    }],
    ['long-file', 'one line too many', { 'db/a.c': `${HEAD}${lines(699, 'int x;')}\nint y; // BAD\n` }],
    ['long-file', 'a reason that is not in the head', {
        'db/a.c': `${HEAD}${lines(699, 'int x;')}\nint y; // BAD\n/* lint: long because this is not where to say it */\n`,
    }],
    ...['strcpy', 'strcat', 'sprintf', 'vsprintf', 'gets', 'strtok', 'atoi', 'atol', 'system', 'popen', 'alloca'].map((name) => [
        'forbidden', name, { 'cli/a.c': `void f(void)\n{\n    ${name}(x); // BAD\n}\n` },
    ]),
    ['forbidden', 'in tests too', { 'tests/unit/cli/test_a.c': 'void f(void)\n{\n    strcpy(a, b); // BAD\n}\n' }],
    ['forbidden', 'behind a cast', { 'bench/a.c': 'void f(void)\n{\n    n = (uint16_t)atoi(s); // BAD\n}\n' }],
    ['head', 'nothing', { 'cli/a.c': '', 'cli/b.h': '' }],
    ['head', 'a comment that says nothing', { 'cli/a.c': '/* cli */\nint x;\n' }],
    ['head', 'code first', { 'cli/a.c': 'int x;\n/* What this file is for, in enough words to count. */\n' }],
    ['head', 'a migration', { 'migrations/0001_a.sql': 'CREATE TABLE a (b TEXT);\n' }],
    ['head', 'a module', { 'tests/e2e/a.test.mjs': 'import x from "y";\n' }],
    ['head', 'a data table', { 'policy/faults/a.def': 'X(1)\n' }],
    ['head', 'a makefile', { 'mk/a.mk': 'all:\n' }],
];

const GOOD = [
    ['words', 'other meanings of the same letters', { 'db/a.c': '/* Insights: --yes, a notebook, indoors, the wishlist, a way out. */\n' }],
    ['words', 'a migration has the name that it was released with', { 'migrations/0013_apart.sql': '-- What this migration is for, in words.\nSELECT 1;\n' }],
    ['recipes', 'followed, folders included', {
        'CONTRIBUTING.md': '## Recipes\n\n**A migration.** `migrations/NNNN_<what>.sql` → the list in\n`db/migrations.c` → the family\'s file in `db/`, run `make quick`.\n\n## Commits\n\n**Small.** `no/such.c`\n',
        'migrations/0065_operation_cause.sql': '-- What this migration is for, in words.\n', 'db/migrations.c': 'EMBED(migration_0065, "x");\n',
    }],
    ['recipes', 'another document', { 'README.md': '## Recipes\n\n**Soup.** `no/such.c`\n' }],
    ['facts', 'two texts, a word of the wire, and who may', {
        'server/reconcile/a.c': 'void f(void)\n{\n    return text_equal(a->reason, b->reason) || text_equal(key, "reason") || node->reason[0] == 0;\n}\n',
        'server/scheduler/slurm/a.c': 'void f(void)\n{\n    return strstr(call->error, "require restart") != NULL;\n}\n',
        'policy/faults/a.c': 'void f(void)\n{\n    return strcmp(row->code, "xid.154") == 0;\n}\n',
        'web/a.js': "const text = e.message.includes(e.failureMessage) ? e.message : `${e.reason}`;\nif (query.includes('message')) f();\n",
    }],
    ['api-name', 'in whatever order, with more words, in the singular', {
        'api/routes.c': 'const struct api_route api_routes[] = {\n    {"GET", "/v1/x/{x}", "listClusterTags", ACCESS_VIEWER, LANE_POOL, QUERY, 0, api_tag_list_of_cluster},\n' +
            '    {"GET", NODE "/y", "describeOnlyScheduler", ACCESS_VIEWER, LANE_POOL, PLAIN, 0, api_scheduler_describe},\n' +
            '    {"PUT", NODE "/z", "applyPolicy", ACCESS_ADMIN, LANE_POOL, PLAIN, DOCUMENT,\n     api_policy_document_apply},\n};\n',
    }],
    ['include', 'what each room may', {
        'base/a.c': '#include "base/own.h"\n', 'model/a.c': '#include "base/text.h"\n#include "model/model.h"\n',
        'policy/a.c': '#include "base/own.h"\n#include "policy/faults/faults.h"\n', 'db/a.c': '#include "base/log.h"\n#include "db/db.h"\n',
        'server/service/a.c': '#include "db/node.h"\n#include "server/live/fleet.h"\n#include "policy/policy.h"\n',
        'server/reconcile/a.c': '#include "server/reconcile/base/loop.h"\n#include "server/scheduler/scheduler.h"\n#include "policy/policy.h"\n',
        'server/main.c': '#include "api/api.h"\n#include "server/scheduler/slurm/slurm.h"\n', 'api/v1/a.c': '#include "server/service/service.h"\n',
        'agents/node/a.c': '#include "policy/faults/faults.h"\n', 'cli/a.c': '#include "base/http.h"\n',
    }],
    ['include', 'tests and benches see everything', { 'tests/unit/api/test_a.c': '#include "db/db.h"\n', 'bench/a.c': '#include "api/api.h"\n' }],
    ['include', 'not in a comment', { 'cli/a.c': '/*\n#include "db/db.h"\n*/\n// #include "db/db.h"\n' }],
    ['arrows', 'downwards, to the side and from beside the folders', {
        'ARCHITECTURE.md': '- In `server/reconcile/` the order is `base/`, `world/`, `keep/`.\n',
        'server/reconcile/keep/hold.c': '#include "server/reconcile/base/node.h"\n#include "server/reconcile/world/load.h"\n#include "server/reconcile/keep/hold.h"\n',
        'server/reconcile/base/loop.h': '#include "server/reconcile/reconcile.h"\n#include "server/live/fleet.h"\n',
        'server/reconcile/turn.c': '#include "server/reconcile/keep/hold.h"\n',
        'tests/sim/test_a.c': '#include "server/reconcile/keep/hold.h"\n',
    }],
    ['owner', 'each where it belongs', {
        'api/http.c': '#include <microhttpd.h>\n', 'agents/launcher/http.c': '#include <microhttpd.h>\n', 'db/a.c': '#include <sqlite3.h>\n', 'db/b.h': '#include <sqlite3.h>\n',
        'base/http.c': '#include <curl/curl.h>\n', 'base/json.h': '#include <jansson.h>\n', 'base/tls.c': '#include <gnutls/x509.h>\n',
        'base/id.c': '#include <nettle/sha2.h>\n', 'base/yaml.c': '#include <yaml.h>\n',
        'server/a.c': '#include <stdio.h>\n#include <sys/stat.h>\n#include <arpa/inet.h>\n',
    }],
    ['owner', 'tests see everything', { 'tests/unit/api/test_a.c': '#include <microhttpd.h>\n', 'bench/b.c': '#include <curl/curl.h>\n' }],
    ['sql', 'in the store', { 'db/a.c': 'static const char q[] = "SELECT id FROM node";\n' }],
    ['sql', 'in tests', { 'tests/unit/db/test_a.c': 'static const char q[] = "DELETE FROM node";\n' }],
    ['sql', 'plain English', {
        'cli/a.c': 'static const char *t[] = {"select a node from the list", "delete from here", "Update the set", "insert into slot"};\n',
    }],
    ['sql', 'in a comment', { 'server/a.c': '/* SELECT id FROM node would be wrong here */\n// DELETE FROM node\n' }],
    ['clock', 'through base', { 'server/a.c': 'void f(void)\n{\n    now = clock_wall_ms(clock);\n}\n' }],
    ['clock', 'names that look alike', {
        'db/a.c': 'void f(void)\n{\n    json_put_time(o, "at", 1);\n    spec->time(o);\n    spec.time(o);\n    char t[CLOCK_TEXT_MAX];\n    first_time (x);\n}\n',
    }],
    ['clock', 'naming the clock of a wait', {
        'server/a.c': 'void f(void)\n{\n    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);\n    fd = timerfd_create(CLOCK_MONOTONIC, 0);\n}\n',
    }],
    ['clock', 'base may', { 'base/clock.c': 'void f(void)\n{\n    clock_gettime(CLOCK_REALTIME, &ts);\n}\n' }],
    ['clock', 'a word in a text', { 'db/a.c': 'static const char *t = "the time (UTC) is CLOCK_REALTIME";\n' }],
    ['clock', 'SQL about times', { 'db/a.c': 'static const char q[] = "SELECT updated_at FROM node WHERE urgency = \'now\'";\n' }],
    ['pure', 'constants and pure helpers', {
        'policy/a.c': '#include <stdio.h>\n#include <string.h>\nstatic const int limit = 3;\nstatic const struct row table[] = {\n    {1},\n};\n' +
            'static const char *const names[] = {"a"};\nstatic struct row make(int a);\nstatic int add(int a)\n{\n    snprintf(b, 3, "x");\n    return a;\n}\n',
    }],
    ['pure', 'members and longer names', { 'policy/a.c': 'void f(void)\n{\n    x->read(1);\n    is_open(2);\n    x.write(3);\n}\n' }],
    ['pure', 'other rooms may', { 'server/a.c': '#include <unistd.h>\nstatic int calls;\nvoid f(void)\n{\n    write(1, "x", 1);\n}\n' }],
    ['decide', 'explaining', { 'server/service/a.c': 'void f(void)\n{\n    policy_explain(&d, &text);\n}\n' }],
    ['decide', 'naming', { 'server/service/a.c': 'void f(void)\n{\n    b = policy_is_node_fault(&v);\n}\n' }],
    ['decide', 'the loop may', { 'server/reconcile/a.c': 'void f(void)\n{\n    policy_decide(&input, &plan);\n}\n' }],
    ['commit', 'an effect', { 'server/reconcile/operation/a.c': 'void f(void)\n{\n    turn_after(w->turn, w->node, reconcile_observe_now, NULL, 0);\n    w->op.state = to;\n    if (w->node->op == NULL)\n        w->scratch.addressed = true;\n}\n' }],
    ['commit', 'outside of a step', { 'server/reconcile/operation/queue.c': 'void f(void)\n{\n    node->op->ready = false;\n    reconcile_operation_poke(r, node);\n}\n' }],
    ['kind', 'its own files may', {
        'server/scheduler/slurm/slurm.c': 'static const char *t = "scontrol Action:";\nvoid f(void)\n{\n    return text_equal(kind, "slurm");\n}\n',
        'server/config/slurm.c': 'void f(void)\n{\n    return text_equal(kind, "slurm");\n}\n',
        'api/aws/orchestrator.c': 'void f(void)\n{\n    return o == ORCHESTRATOR_SLURM;\n}\n',
        'agents/slurm/a.c': 'static const char *t = "scontrol requeue";\n', 'web/a.js': "const file = 'docs/install-slurm.md';\n",
    }],
    ['kind', 'none is no kind, and other actions are none of Slurm\'s', {
        'server/scheduler/slurm/slurm.c': 'int x;\n',
        'server/service/a.c': '/* rate: { action: support } */\nvoid f(void)\n{\n    if (o != ORCHESTRATOR_NONE && o != ORCHESTRATOR_DEFAULT && text_equal(key, "slurmctld"))\n        put("slurm");\n}\n',
    }],
    ['long-function', 'exactly as long as may be', { 'db/a.c': fn(70) }],
    ['long-function', 'with a reason above', { 'db/a.c': fn(90, { before: '/* lint: long because one table is one thing */\n' }) }],
    ['long-function', 'with a reason inside', { 'db/a.c': fn(90, { inside: '    /* lint: long because one table is one thing */\n' }) }],
    ['long-function', 'a long table is no function', { 'db/a.c': `static const int t[] = {\n${lines(100, '    1,')}\n};\n` }],
    ['long-function', 'two short ones', { 'db/a.c': fn(60) + '\n' + fn(60) }],
    ['long-file', 'exactly as long as may be', { 'db/a.c': `${HEAD}${lines(699, 'int x;')}\n` }],
    ['long-file', 'with a reason in its head', {
        'db/a.c': `/* A file with a head that says much.\n * lint: long because the protocol is one thing */\n${lines(800, 'int x;')}\n`,
    }],
    ['forbidden', 'names that look alike', {
        'cli/a.c': 'void f(void)\n{\n    snprintf(a, 1, "x");\n    vsnprintf(a, 1, f, v);\n    strtok_r(a, b, &c);\n    fgets(a, 1, f);\n    ops->system(1);\n    ops.popen(1);\n    file_system(2);\n}\n',
    }],
    ['forbidden', 'in texts and comments', { 'cli/a.c': 'static const char *t = "strcpy(a, b)"; /* never strcpy(a, b) */\n' }],
    ['head', 'each kind', {
        'cli/a.c': HEAD, 'policy/faults/a.def': HEAD, 'mk/a.mk': '# What these targets are for, in words.\nall:\n',
        'migrations/0001_a.sql': '-- What this migration is for, in words.\nCREATE TABLE a (b TEXT);\n',
        'tests/e2e/a.test.mjs': '// What this test is for, in enough words.\nimport x from "y";\n',
        'tests/e2e/tool.mjs': '#!/usr/bin/env node\n// What this tool is for, in enough words.\n',
    }],
];

let passed = 0;
let failed = 0;
const say = (ok, text) => {
    if (ok) passed++;
    else {
        failed++;
        console.log(`not as expected: ${text}`);
    }
};

// Takes the marks out; returns the files and the "path:line" that must be found.
function prepare(rule, sample) {
    const files = new Map();
    const expected = [];
    for (const [path, text] of Object.entries(sample)) {
        const needsHead = /\.[ch]$|\.def$/.test(path) && rule !== 'head' && (!text.startsWith('/*') || text.startsWith('/* lint:'));
        const whole = needsHead ? HEAD + text : text;
        whole.split('\n').forEach((line, i) => line.endsWith('// BAD') && expected.push(`${path}:${i + 1}`));
        if (rule === 'head') expected.push(`${path}:1`);
        files.set(path, whole.replace(/ ?\/\/ BAD$/gm, ''));
    }
    return { files, expected };
}

for (const [rule, what, sample] of BAD) {
    const { files, expected } = prepare(rule, sample);
    const found = lint(files).findings.filter((f) => f.rule === rule).map((f) => `${f.path}:${f.line}`);
    const missing = expected.filter((e) => !found.includes(e));
    const extra = found.filter((f) => !expected.includes(f));
    say(expected.length > 0 && missing.length === 0 && extra.length === 0, `${rule}, ${what}: missed ${missing}, made up ${extra}`);
}
for (const [rule, what, sample] of GOOD) {
    const found = lint(prepare('', sample).files).findings.filter((f) => f.rule === rule);
    say(found.length === 0, `${rule}, ${what}: ${found.map((f) => `${f.path}:${f.line}: ${f.message}`).join('; ')}`);
}
for (const { name } of RULES) {
    say(BAD.some(([rule]) => rule === name), `${name} has no bad sample`);
    say(GOOD.some(([rule]) => rule === name), `${name} has no near miss`);
}
say(lint(new Map([['db/a.c', HEAD + fn(90, { before: '/* lint: long because one table is one thing */\n' })]])).exceptions === 1, 'exceptions are counted');

// The program itself: what it prints and how it ends.
const root = mkdtempSync(join(tmpdir(), 'holdfast-lint-'));
const run = () => spawnSync(join(here, 'run'), [root], { encoding: 'utf8' });
const empty = run();
say(empty.status === 1 && /lint: 0 passed, 1 failed\n$/.test(empty.stdout), 'an empty tree is a failure');
mkdirSync(join(root, 'cli'));
writeFileSync(join(root, 'cli/a.c'), `${HEAD}int x;\n`);
const clean = run();
say(clean.status === 0 && clean.stdout.endsWith(`lint: ${RULES.length} passed, 0 failed\n`), 'a clean tree passes');
writeFileSync(join(root, 'cli/a.c'), `${HEAD}#include "db/db.h"\nvoid f(void)\n{\n    strcpy(a, b);\n}\n`);
const dirty = run();
say(dirty.status === 1 && dirty.stdout.endsWith(`lint: ${RULES.length - 2} passed, 2 failed\n`), 'a dirty tree fails');
say(/^cli\/a\.c:2: include: db\/db\.h/m.test(dirty.stdout) && /^cli\/a\.c:5: forbidden: strcpy/m.test(dirty.stdout), 'findings have file, line and rule');
rmSync(root, { recursive: true });

console.log(`lint-selftest: ${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
