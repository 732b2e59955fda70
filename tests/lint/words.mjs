// The words that Holdfast does not use any more, and what it says instead: in texts that people meet, in names and in comments.
//
// A row is [retired, use, pattern, exceptions]. Without a pattern the word itself counts, wherever it is a word or a part of a name
// (errand, errand_free, struct errand); exceptions are other meanings of the same letters. Some retired words are good English
// beside it (a way, a sign of life, to tell apart): such a row has a pattern for the retired use alone.
const word = (text) => new RegExp(`(?<![A-Za-z])(?:${text})(?![a-z])`, 'i');

const ROWS = [
    ['errand', 'agent task', 'errands?'],
    ['reckon', 'count', 'reckon(?:s|ed|ing)?'],
    ['situation', 'explanation', 'situations?'],
    ['scene', 'input', 'scenes?'],
    ['way (what a person can do)', 'next step', 'policy_way|nextWays|way_count'],
    ['way (to a scheduler)', 'transport', 'struct way|scheduler_way|slurm_way'],
    ['wish', 'request', 'wish(?:es|ed)?'],
    ['sight', 'finding', 'sights?|sighting|sightings|sighted', /TeamName/],
    ['mended', 'cleared by reset, fixed, repaired', 'mend(?:s|ed|ing)?|unmended', /0032_mended/],
    ['past (of repairs)', 'history', 'struct past|db_past|hardware_past|policy_tell_past', /0017_hardware_past/],
    ['survey', 'job snapshot', 'survey(?:s|ed)?|surveyInterval'],
    ['layout', 'desired scheduler configuration', 'layouts?', /IntrInfo|layouts? A|page|CSS|display/],
    ['arrange', 'desired scheduler configuration', 'arrange[ds]?|rearrange'],
    ['hint (to a person)', 'annotate', 'mark_hint|send_hint|hint_node'],
    ['pairing', 'pair matching', 'pairing'],
    ['supply', 'capacity', 'policy_supply|group_supply|supply_short|supply of machines', /0022_supply/],
    ['set apart', 'quarantine', 'set apart|sets? .{0,24} apart in the scheduler|struct apart|apart_state', /0013_apart/],
    ['giveback', 'return to service', 'givebacks?'],
    ['sign (of an outage)', 'outage signal', 'policy_sign|sign_at|sign_until|sign_cause|signs_changed|weak signs?|weak-signs?\\w*'],
    ['thought, think of', 'candidate, evaluate', 'thoughts?|policy_think|think_of|thinks', /holds one thought|one thought each|thought about it|FILE_LINES_MAX/],
    ['came back', 'recurring', 'came_back|came-back|came_again'],
    ['picture', 'snapshot', 'pictures?'],
    ['readdress', 'update node address', 'readdress(?:es|ed)?'],
    ['stirred', 'dirty', 'stirred|stirs?'],
    ['hushed', 'muted', 'hush(?:ed)?'],
    ['calm', 'settled', 'calm(?:s|ed|ing|er)?|calmSince'],
    ['unmade', 'never provisioned', 'unmade'],
    ['born, stillborn', 'provisioned, failed to provision', 'born|stillborn|unborn(?:Percent)?'],
    ['rivals', 'competing clusters', 'rivals?'],
    ['put aside', 'park', 'puts? aside'],
    ['memo', 'scratch', 'memos?'],
    ['fate', 'outcome', 'fates?'],
    ['things (that are governed)', 'managed objects', 'governed things?|things_|struct thing'],
    ['book', 'registry', 'books?', /notebook|runbook|bookworm/],
    ['given up (by a scheduler)', 'downed by the scheduler', 'given-up-by-scheduler'],
    ['foreign drain', 'external drain', 'foreign[- _]drains?', /SlinkyProject/],
    ['door', 'API (REST API, AWS API)', 'doors?'],
    ['a yes', 'approval', 'an? yes|the yes|no yes'],
    ['speaks again', 'reconnected', 'speaks? again'],
    ['hands off', 'suspend automatic actions', 'hands off'],
    ['nobody in particular', 'an unprivileged user', 'nobody in particular'],
    ['in vain', 'timed out', 'in vain'],
].map(([retired, use, pattern, exceptions]) => ({ retired, use, pattern: word(pattern), exceptions }));

// Held to the table: what is written by us for people or as a name. The list of changes has the former names; a
// migration is never edited after its release, a captured text is somebody else's, and this directory has the words for a reason.
const EXCEPT = /^(migrations|tests\/(lint|data|corpus|fuzz)|demo\/data)\/|^(CHANGELOG\.md|db\/migrations\.c|tests\/unit\/db\/test_migrations\.c|tests\/unit\/base\/test_sm\.c)$/;

export function* words({ sources }) {
    for (const source of sources.filter((s) => !EXCEPT.test(s.path))) {
        for (const { retired, use, pattern, exceptions } of ROWS) {
            const found = pattern.exec(source.path);
            if (found && !exceptions?.test(source.path))
                yield { path: source.path, line: 1, message: `"${found[0]}" in a file's name is a retired word (${retired}): ${use}` };
        }
        for (const [i, line] of source.lines.entries())
            for (const { retired, use, pattern, exceptions } of ROWS) {
                const found = pattern.exec(line);
                if (found && !exceptions?.test(line))
                    yield { path: source.path, line: i + 1, message: `"${found[0]}" is a retired word (${retired}): ${use}` };
            }
    }
}
