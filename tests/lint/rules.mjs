// The laws of the house, as ARCHITECTURE.md gives them. A rule gets all sources and reports {path, line, message}.
//
// Only sizes have a way around: a comment that says "lint: long because" and then a reason, in the head of the file for
// its length, above or inside of a function for the function's.
import { Source } from './source.mjs';
import { recipes } from './recipes.mjs';
import { words } from './words.mjs';

export const PRODUCT_ROOMS = ['base', 'model', 'policy', 'simulate', 'db', 'server', 'api', 'agents', 'cli'];
const FUNCTION_LINES_MAX = 70; // a screen
const FILE_LINES_MAX = 700; // one thought
const HEAD_LETTERS_MIN = 20; // fewer say nothing
const REASON_LETTERS_MIN = 10;

// Who may include what of ours. The first row that matches a file counts; entries are prefixes.
const INCLUDE_LAW = [
    { files: /^base\//, may: ['base/'] },
    { files: /^model\//, may: ['model/', 'base/'] },
    { files: /^policy\//, may: ['policy/', 'model/', 'base/own.h', 'base/text.h', 'base/status.h', 'base/enum.h', 'base/sm.h'] },
    // Groups have what the document says of them, read by the code that hpd reads it with.
    { files: /^simulate\/policy\.c$/, may: ['simulate/', 'policy/', 'model/', 'base/', 'server/config/policy_document.h'] },
    { files: /^simulate\//, may: ['simulate/', 'policy/', 'model/', 'base/'] },
    { files: /^db\//, may: ['db/', 'model/', 'base/', 'policy/policy.h'] },
    { files: /^server\/scheduler\//, may: ['server/scheduler/', 'policy/job/job.h', 'model/', 'base/'] },
    { files: /^server\/reboot\//, may: ['server/reboot/', 'model/', 'base/'] },
    { files: /^server\/provider\//, may: ['server/provider/', 'model/', 'base/'] },
    {
        files: /^server\/service\//,
        may: ['server/service/', 'server/live/', 'server/config/policy_registry.h', 'server/config/setting.h', 'db/', 'model/', 'base/', 'policy/policy.h', 'policy/explanation.h', 'policy/replay.h'],
    },
    {
        files: /^server\/reconcile\//,
        may: ['server/reconcile/', 'server/config/loop_settings.h', 'server/config/policy_registry.h', 'server/scheduler/scheduler.h', 'server/scheduler/workload.h', 'server/provider/provider.h', 'server/reboot/reboot.h', 'server/service/service.h', 'server/service/scheduler/scheduler.h', 'server/service/job/job.h', 'server/service/provider/notice.h', 'server/service/agent/agent.h', 'server/service/access/access.h',
              'server/live/', 'server/metrics.h', 'db/', 'policy/', 'model/', 'base/'],
    },
    // These wire everything together.
    {
        files: /^server\/(main\.c$|config\/)/,
        may: PRODUCT_ROOMS.filter((room) => !['cli', 'agents'].includes(room)).map((room) => `${room}/`),
    },
    { files: /^server\/live\/pair_matching\.[ch]$/, may: ['server/live/', 'policy/pairs.h', 'model/', 'base/'] }, // keeps what that judges
    { files: /^server\/live\//, may: ['server/live/', 'db/', 'model/', 'base/'] },
    { files: /^server\/webhook\//, may: ['server/webhook/', 'server/service/', 'db/', 'model/', 'base/'] },
    { files: /^server\/(metrics(_merge|_clusters|_machines|_process)?|certificate|restore|state_dir)\.[ch]$/, may: ['server/', 'db/', 'model/', 'base/'] },
    // The REST API has words of its own: nothing of it goes through the AWS model.
    {
        files: /^api\/v1\//,
        may: ['api/v1/', 'api/audit.h', 'api/call.h', 'api/choose.h', 'api/intern.h', 'api/page.h', 'api/render.h', 'api/stream.h', 'server/service/', 'model/', 'base/'],
    },
    { files: /^api\//, may: ['api/', 'server/service/', 'model/', 'base/'] },
    { files: /^agents\/launcher\//, may: ['agents/launcher/', 'policy/job/', 'model/', 'base/'] },
    { files: /^agents\//, may: ['agents/', 'policy/faults/', 'model/', 'base/'] },
    { files: /^cli\//, may: ['cli/', 'simulate/', 'policy/faults/', 'model/', 'base/'] },
];

// A third-party header and the files that may know it. files_max 1: one file, whichever.
const OWNERS = [
    { header: /^microhttpd\.h$/, owner: /^api\//, said: 'one file of api/, and agents/launcher/http.c', filesMax: 1 },
    { header: /^microhttpd\.h$/, owner: /^agents\/launcher\/http\.c$/, said: 'agents/launcher/http.c' },
    { header: /^sqlite3\.h$/, owner: /^db\//, said: 'db/' },
    { header: /^curl\//, owner: /^base\/http\.c$/, said: 'base/http.c' },
    { header: /^jansson\.h$/, owner: /^base\/json\.h$/, said: 'base/json.h' },
    { header: /^(gnutls|nettle)\//, owner: /^base\//, said: 'base/' },
    { header: /^pcre2\.h$/, owner: /^base\/pattern\.c$/, said: 'base/pattern.c' },
    { header: /^hs\/hs\.h$/, owner: /^base\/scan\.c$/, said: 'base/scan.c' },
    { header: /^yaml\.h$/, owner: /^base\/yaml\.c$/, said: 'base/yaml.c' },
    { header: /^expat\.h$/, owner: /^base\/xml\.c$/, said: 'base/xml.c' },
    { header: /^slurm\/spank\.h$/, owner: /^agents\/slurm\/spank\.c$/, said: 'agents/slurm/spank.c' },
    { header: /^libssh2\.h$/, owner: /^base\/ssh\.c$/, said: 'base/ssh.c' },
];
const C_LIBRARY = new Set(
    ('alloca assert complex ctype dirent dlfcn elf endian err errno fcntl features fenv float fnmatch ftw getopt glob grp iconv ' +
     'ifaddrs inttypes langinfo libgen limits link locale malloc math mntent netdb poll pthread pty pwd regex resolv sched search ' +
     'semaphore setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings syslog ' +
     'termios threads time uchar ucontext unistd utime utmp wchar wctype wordexp').split(' ').map((name) => `${name}.h`));
const KERNEL_OR_NET = /^(arpa|asm|linux|net|netinet|sys)\//;

const FORBIDDEN = {
    strcpy: 'text_copy', strcat: 'struct text', sprintf: 'snprintf or own_printf', vsprintf: 'vsnprintf',
    gets: 'getline', strtok: 'strtok_r or strcspn', atoi: 'text_parse_i64', atol: 'text_parse_i64', atoll: 'text_parse_i64',
    atof: 'strtod', system: 'child_run', popen: 'child_run', alloca: 'own_calloc', tmpnam: 'mkostemp', mktemp: 'mkostemp',
};

const SQL = /\b(SELECT\s[\s\S]*\sFROM|SELECT\s+[\w*?(]|INSERT\s+(OR\s+\w+\s+)?INTO|REPLACE\s+INTO|UPDATE\s+[\w%]+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX)|PRAGMA\s+\w)/;
const SQL_ANY_CASE = /\b(insert\s+(or\s+\w+\s+)?into\s+\w+\s*[(]|update\s+[\w%]+\s+set\s+\w+\s*=|delete\s+from\s+\w+\s+where|select\s+[\w*,\s]+\sfrom\s+\w+\s+(where|order|limit|join))/i;

const CLOCK_READ = /(?<![\w.>])(time|gettimeofday|clock_gettime|timespec_get|ftime)\s*\(|\bCLOCK_(REALTIME|MONOTONIC|BOOTTIME|TAI|PROCESS_CPUTIME_ID|THREAD_CPUTIME_ID)\w*/g;
// These only name the clock that a wait goes by.
const CLOCK_NAMED = /\b(pthread_condattr_setclock|timerfd_create)\s*\([^;{}]*$/;
const CLOCK_IN_SQL = /\bCURRENT_(TIMESTAMP|DATE|TIME)\b|\b(datetime|date|time|julianday|unixepoch)\s*\(\s*(\)|'now')|\bstrftime\s*\([^)]*'now'/i;

const IMPURE_HEADER = /^(base\/(?!own\.h|json\.h|nearest\.h|record\.h|duration\.h|text\.h|status\.h|enum\.h|sm\.h|id\.h|embed\.h)|(db|api|server|agents|cli)\/|(sys|net|netinet|arpa|linux)\/|(unistd|fcntl|pthread|poll|signal|netdb|dirent|threads|stdatomic|errno|locale)\.h$)/;
const IMPURE_CALL = /(?<![\w.>])(printf|fprintf|vfprintf|puts|fputs|putchar|perror|fopen|open|read|write|close|getenv|rand|random|srand|rand_r|drand48|getrandom|sleep|usleep|nanosleep)\s*\(/g;
// A static at column 0 up to its value or its end; one with a bracket before that is a function.
const STATIC_OBJECT = /^(?:static|_Thread_local)\b([^;={(]*)[;=]/gm;
// What a pointer points to does not matter: the object itself must be const.
const isMutable = (declaration) => !/\bconst\b/.test(declaration.slice(declaration.lastIndexOf('*') + 1));

const isC = (path) => /\.[ch]$/.test(path);
const isProduct = (path) => PRODUCT_ROOMS.some((room) => path.startsWith(`${room}/`));

function* include({ sources }) {
    for (const source of sources.filter((s) => isProduct(s.path) && isC(s.path))) {
        const law = INCLUDE_LAW.find((row) => row.files.test(source.path));
        for (const { name, line } of source.includes().filter((i) => i.ours))
            if (!law) yield { path: source.path, line, message: 'no room: ARCHITECTURE.md says which there are' };
            else if (!law.may.some((prefix) => name.startsWith(prefix)))
                yield { path: source.path, line, message: `${name} is not for this room: it may use ${law.may.join(', ')}` };
    }
}

// "In `server/reconcile/` the order is `base/`, `world/`." of ARCHITECTURE.md: what is included lies in the same folder or one before it.
const ORDER = /^- In `([\w/]+\/)` the order is ((?:`\w+\/`(?:, )?)+)\./gm;
const ORDERED = ['server/reconcile/', 'server/service/'];

function* arrows({ sources, byPath }) {
    const said = byPath.get('ARCHITECTURE.md')?.text ?? '';
    const orders = new Map([...said.matchAll(ORDER)].map(([, room, list]) => [room, [...list.matchAll(/`(\w+)\/`/g)].map(([, folder]) => folder)]));
    const folderOf = (path, room) => path.startsWith(room) && path.indexOf('/', room.length) > 0 ? path.slice(room.length, path.indexOf('/', room.length)) : null;
    for (const room of new Set([...ORDERED, ...orders.keys()]))
        for (const source of sources.filter((s) => isC(s.path) && folderOf(s.path, room) !== null)) {
            const order = orders.get(room) ?? [], folder = folderOf(source.path, room);
            if (!order.includes(folder)) {
                yield { path: source.path, line: 1, message: `${room}${folder}/ has no place in the order that ARCHITECTURE.md gives of ${room}` };
                continue;
            }
            for (const { name, line } of source.includes().filter((i) => i.ours && folderOf(i.name, room) !== null))
                if (order.indexOf(folderOf(name, room)) > order.indexOf(folder))
                    yield { path: source.path, line, message: `${name} is above ${room}${folder}/: the order is ${order.join(', ')} (ARCHITECTURE.md)` };
        }
}

function* owner({ sources }) {
    const users = new Map();
    for (const source of sources.filter((s) => isProduct(s.path) && isC(s.path)))
        for (const { name, line } of source.includes().filter((i) => !i.ours)) {
            if (C_LIBRARY.has(name) || KERNEL_OR_NET.test(name)) continue;
            const rows = OWNERS.filter((o) => o.header.test(name)), row = rows.find((o) => o.owner.test(source.path)) ?? rows[0];
            if (!row) yield { path: source.path, line, message: `<${name}> has no owner: a new library needs a decision` };
            else if (!row.owner.test(source.path)) yield { path: source.path, line, message: `<${name}> belongs to ${row.said}` };
            else users.set(row, [...(users.get(row) ?? []), { path: source.path, line }]);
        }
    for (const [row, list] of users)
        if (row.filesMax && new Set(list.map((u) => u.path)).size > row.filesMax)
            for (const use of list) yield { ...use, message: `belongs to ${row.said}, and ${list.length} have it` };
}

function* sql({ sources }) {
    for (const source of sources.filter((s) => isProduct(s.path) && !s.path.startsWith('db/')))
        for (const { text, line } of source.strings)
            if (SQL.test(text) || SQL_ANY_CASE.test(text))
                yield { path: source.path, line, message: `SQL outside db/: "${text.slice(0, 40)}"` };
}

const oncePerLine = (hits) => hits.filter((hit, i) => i === 0 || hits[i - 1].line !== hit.line);

function* clock({ sources }) {
    for (const source of sources.filter((s) => /^(policy|model|db|server|agents|cli)\//.test(s.path)))
        for (const { match, line } of oncePerLine(source.find(CLOCK_READ)))
            if (!CLOCK_NAMED.test(source.code.slice(0, match.index)))
                yield { path: source.path, line, message: `${match[0].replace(/\s*\($/, '()')}: time comes through base/clock.h` };
    for (const source of sources.filter((s) => /^(db|migrations)\//.test(s.path))) {
        const texts = source.path.endsWith('.sql')
            ? source.text.split('\n').map((text, i) => ({ text: text.replace(/--.*/, ''), line: i + 1 }))
            : source.strings;
        for (const { text, line } of texts)
            if (CLOCK_IN_SQL.test(text)) yield { path: source.path, line, message: 'SQLite reads its own clock here: bind the time' };
    }
}

// Headers reach policy/ and model/ through each other, so it is the whole closure that must be pure.
function* pure({ sources, byPath }) {
    const closure = (source, seen) => {
        for (const { name } of source.includes()) {
            if (seen.has(name)) continue;
            seen.add(name);
            if (byPath.has(name)) closure(byPath.get(name), seen);
        }
        return seen;
    };
    for (const source of sources.filter((s) => /^(policy|model)\//.test(s.path) && isC(s.path))) {
        for (const { name, line } of source.includes()) {
            const reached = [name, ...(byPath.has(name) ? closure(byPath.get(name), new Set()) : [])].filter((n) => IMPURE_HEADER.test(n));
            if (reached.length > 0) yield { path: source.path, line, message: `${name} brings ${reached.join(', ')} into a pure room` };
        }
        for (const { match, line } of source.find(IMPURE_CALL))
            yield { path: source.path, line, message: `${match[1]}(): no input, output or chance in a pure room` };
        for (const { match, line } of source.find(STATIC_OBJECT).filter(({ match: m }) => isMutable(m[1])))
            yield { path: source.path, line, message: `a pure room keeps nothing between calls: ${match[0].trim().slice(0, 40)}` };
    }
}

// Doors and services record what people want and what agents saw, with what the policy calls it and what the past weighs; deciding is the loop's.
function* decide({ sources }) {
    for (const source of sources.filter((s) => s.path.startsWith('server/service/')))
        for (const { match, line } of source.find(/\b(policy_(?!explain|is_node_fault|settings|table_version|text|registry_|replay|lemon\b|\w+_text\b)\w+)\s*\(/g))
            yield { path: source.path, line, message: `${match[1]}(): a service may ask the policy for words and for what it would have said, nothing else` };
}

// What only a kind of scheduler's own folder may know: its name in a comparison, and the words of Slurm's people. Its folder, its file in
// server/config/ and the AWS API's one place of translation know it; a list of the kinds names none to compare with.
const KIND_ROOMS = /^(base|model|policy|simulate|db|server|api|agents|cli)\//;
const KIND_OWN = /^(server\/scheduler\/[^/]+\/|agents\/slurm\/|api\/aws\/orchestrator\.c$)/;
const KIND_WORDS = /\bscontrol\b|\bAction:/;

function* kind({ sources }) {
    const kinds = [...new Set(sources.map((s) => /^server\/scheduler\/(\w+)\//.exec(s.path)?.[1]).filter(Boolean))];
    const symbol = new RegExp(`\\bORCHESTRATOR_(${kinds.join('|').toUpperCase()})\\b`, 'g');
    const compared = new RegExp(`\\b(text_equal|str(?:case)?n?cmp|is_word)\\s*\\((?:[^;{]*?,)?\\s*"(${kinds.join('|')})"\\s*[,)]`, 'g');
    const own = (source) => KIND_OWN.test(source.path) || kinds.some((name) => new RegExp(`^server/config/${name}\\.[ch]$`).test(source.path));
    for (const source of sources.filter((s) => KIND_ROOMS.test(s.path) && isC(s.path) && !own(s))) {
        for (const { match, line } of kinds.length > 0 ? oncePerLine(source.find(symbol)) : [])
            yield { path: source.path, line, message: `${match[0]}: no kind of scheduler is named here; ask what it is capable of (scheduler.h, model.h)` };
        for (const match of kinds.length > 0 ? source.text.matchAll(compared) : [])
            yield { path: source.path, line: source.lineAt(match.index), message: `"${match[2]}": nothing compares with the name of a kind; ask what it is capable of` };
        for (const [i, text] of source.lines.entries())
            if (KIND_WORDS.test(text))
                yield { path: source.path, line: i + 1, message: `${KIND_WORDS.exec(text)[0]} belongs to server/scheduler/slurm/: a driver prints its own commands` };
    }
    const inScript = new RegExp(`[!=]==?\\s*['"](${kinds.join('|')})['"]|['"](${kinds.join('|')})['"]\\s*[!=]==?|\\bscontrol\\b|\\bAction:`);
    for (const source of kinds.length > 0 ? sources.filter((s) => /^web\/.*\.js$/.test(s.path)) : [])
        for (const [i, text] of source.lines.entries())
            if (inScript.test(text)) yield { path: source.path, line: i + 1, message: 'the console asks what a scheduler is capable of, not of which kind it is' };
}

// A fact that a program needs is a column or an enum: no code reads it back from a text that is written for people, and a single code
// is compared in the fault tables alone. What backends say in words is read where they are.
const FACT_ROOMS = /^(model|policy|simulate|db|server|api|cli)\/(?!faults\/)/;
const FACT_OWN = /^server\/(scheduler|provider|reboot)\/[^/]+\//;
const PEOPLES_TEXT = 'message|reason|failure|detail|sentence|refused_why|error|held_because|pause_reason|comment';
const COMPARE = '(?:text_equal|text_starts_with|str(?:case)?n?cmp|str(?:case)?str|sscanf)';
const FACT_IN_TEXT = new RegExp(`\\b${COMPARE}\\s*\\((?:[^;{"]*[,\\s])?[\\w.>()\\[\\]-]*(?:->|\\.)(?:${PEOPLES_TEXT}),\\s*"`, 'g');
const FACT_OF_CODE = new RegExp(`\\b${COMPARE}\\s*\\([^;{"]*\\bcode,\\s*"[a-z]+(?:\\.[^"]*)?"`, 'g');
const FACT_IN_SCRIPT = new RegExp(`\\.exec\\([\\w.]+\\.(?:message|reason|sentence)\\b|\\.(?:message|reason|sentence)\\??\\.(?:match|matchAll|search|startsWith|endsWith|includes|split)\\((?:'|"|\`|/)`, 'g');

function* facts({ sources }) {
    for (const source of sources.filter((s) => FACT_ROOMS.test(s.path) && isC(s.path) && !FACT_OWN.test(s.path)))
        for (const [pattern, what] of [[FACT_IN_TEXT, 'a text for people is compared'], [FACT_OF_CODE, 'a single code is compared: policy/faults/trait.def has a row for it']])
            for (const match of source.text.matchAll(pattern))
                yield { path: source.path, line: source.lineAt(match.index), message: `${what}; a fact is a column or an enum` };
    for (const source of sources.filter((s) => /^web\/.*\.js$/.test(s.path)))
        for (const match of source.text.matchAll(FACT_IN_SCRIPT))
            yield { path: source.path, line: source.lineAt(match.index), message: 'a text for people is taken apart: the API has to say the fact' };
}

// One stem: each word of an operationId is in its handler's name, in whatever order, in the singular.
const API_ROW = /\{"[A-Z]+",\s*(?:(?:[A-Z_]+|"[^"]*")\s*)+,\s*"(\w+)",[^{}"]*?(\w+)\}/g;
const STEM_FILLS = new Set(['only', 'own', 'by', 'of', 'to', 'from']);
const singular = (word) => (word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.endsWith('ss') ? word : word.replace(/s$/, ''));

function* apiName({ byPath }) {
    const routes = byPath.get('api/routes.c');
    for (const match of routes?.text.matchAll(API_ROW) ?? []) {
        const [, operation, handler] = match, has = new Set(handler.split('_').map(singular));
        const lacking = operation.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`).split(' ').filter((w) => !STEM_FILLS.has(w)).map(singular).filter((w) => !has.has(w));
        if (lacking.length > 0)
            yield { path: routes.path, line: routes.lineAt(match.index), message: `${handler} has no "${lacking.join('", "')}" of its operationId ${operation}` };
    }
}

// A step works inside the turn's transaction, which may fail or be run again: what memory learns of it, it learns by an effect.
const IN_TRANSACTION = /^server\/reconcile\/operation\/(?!(queue|task)\.c$).*\.c$/;
const MEMORY_CALL = /\b(agent_tasks_(?:put|drop)\w*|fleet_(?:put|remove|set_\w+)|reconcile_(?:call_send|node_(?:dirty|later|look|set|due|remove)|group_(?:look\w*|breaker|failing)|operation_(?:poke|drop|add)|observe_now)|idqueue_(?:push\w*|pop)|due_push)\s*\(/g;
const MEMORY_WRITE = /(?<![\w.>])(?:(?:w->)?(?:node|r|group|cluster)|reconcile_link\([^;]*?\))(?:->\w+)+(?:\[[^\]]*\])?\s*(?:=(?!=)|\+\+|--|[-+|&]=)/g;

function* commit({ sources }) {
    for (const source of sources.filter((s) => IN_TRANSACTION.test(s.path)))
        for (const { match, line } of [...source.find(MEMORY_CALL), ...source.find(MEMORY_WRITE)])
            yield { path: source.path, line, message: `${match[0].trim()}: memory changes after the commit: note an effect (turn_after)` };
}

const REASON = /lint:\s*long\s+because\s+([^*]*)/;
const hasReason = (comment) => (REASON.exec(comment.text)?.[1] ?? '').replace(/\s+/g, ' ').trim().length >= REASON_LETTERS_MIN;

function* longFunction(tree) {
    for (const source of tree.sources.filter((s) => isC(s.path))) {
        let previousEnd = 0;
        for (const f of source.functions()) {
            const length = f.endLine - f.line + 1;
            const near = source.comments.filter((c) => c.line > 1 && c.line > previousEnd && c.endLine >= f.line - 8 && c.line <= f.endLine);
            previousEnd = f.endLine;
            if (length <= FUNCTION_LINES_MAX) continue;
            if (near.some(hasReason)) tree.exceptions++;
            else yield { path: source.path, line: f.line, message: `${f.name}() has ${length} lines, ${FUNCTION_LINES_MAX} may be` };
        }
    }
}

function* longFile(tree) {
    for (const source of tree.sources.filter((s) => isC(s.path))) {
        const length = source.lines.length - (source.text.endsWith('\n') ? 1 : 0);
        if (length <= FILE_LINES_MAX) continue;
        if (source.comments.some((c) => c.line === 1 && hasReason(c))) tree.exceptions++;
        else yield { path: source.path, line: FILE_LINES_MAX + 1, message: `${length} lines, ${FILE_LINES_MAX} may be` };
    }
}

function* forbidden({ sources }) {
    const pattern = new RegExp(`(?<![\\w.]|->)(${Object.keys(FORBIDDEN).join('|')})\\s*\\(`, 'g');
    for (const source of sources.filter((s) => isC(s.path)))
        for (const { match, line } of source.find(pattern))
            yield { path: source.path, line, message: `${match[1]}(): use ${FORBIDDEN[match[1]]}` };
}

const HEADS = {
    c: /^\/\*([\s\S]*?)\*\//, h: /^\/\*([\s\S]*?)\*\//, def: /^\/\*([\s\S]*?)\*\//, sql: /^((?:--.*\n)+)/,
    mjs: /^(?:#!.*\n)?((?:\/\/.*\n)+|\/\*[\s\S]*?\*\/)/, mk: /^((?:#.*\n)+)/,
};

function* head({ sources }) {
    for (const source of sources.filter((s) => HEADS[s.path.split('.').pop()])) {
        const comment = HEADS[source.path.split('.').pop()].exec(source.text)?.[1] ?? '';
        if (comment.replace(/[^\p{L}]/gu, '').length < HEAD_LETTERS_MIN)
            yield { path: source.path, line: 1, message: 'a file begins with what it is for' };
    }
}

export const RULES = [
    { name: 'include', check: include },
    { name: 'arrows', check: arrows },
    { name: 'owner', check: owner },
    { name: 'sql', check: sql },
    { name: 'clock', check: clock },
    { name: 'pure', check: pure },
    { name: 'decide', check: decide },
    { name: 'facts', check: facts },
    { name: 'api-name', check: apiName },
    { name: 'commit', check: commit },
    { name: 'kind', check: kind },
    { name: 'long-function', check: longFunction },
    { name: 'long-file', check: longFile },
    { name: 'forbidden', check: forbidden },
    { name: 'head', check: head },
    { name: 'words', check: words },
    { name: 'recipes', check: recipes },
];

// files: Map of path to text; paths: of all files, these and others. Returns {findings: [{path, line, rule, message}], exceptions}.
export function lint(files, paths = [...files.keys()]) {
    const sources = [...files].map(([path, text]) => new Source(path, text)).sort((a, b) => (a.path < b.path ? -1 : 1));
    const tree = { sources, paths, byPath: new Map(sources.map((s) => [s.path, s])), exceptions: 0 };
    const findings = RULES.flatMap(({ name, check }) => [...check(tree)].map((finding) => ({ ...finding, rule: name })));
    findings.sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
    return { findings, exceptions: tree.exceptions };
}
