// The recipes of CONTRIBUTING.md name the files that a new thing touches. Each is followed here on a thing that is in the tree: every
// path in its backticks is there, and has the thing's word in it, where lint reads such files. A path that only says where else to look
// stands in `beside`.
//
// {words: what its files have of the example, put: what stands for a <placeholder>, beside: paths that need not have the word}
const EXAMPLES = {
    'An endpoint': { words: /updateNode|node_update|node update|opt(ed)?[-_ ]?out/i, put: { noun: 'node' }, beside: ['api/render.c'] },
    'A page of the console': { words: /machines|listView/, put: { page: 'machines' }, beside: ['web/list.js', 'web/dom.js'] },
    'A check of the agent': { words: /dcgm/i, put: { check: 'dcgm' }, beside: ['server/live/fleet.h', 'agents/checks/check.h', 'agents/checks/recall.h'] },
    'A fault code': { words: /node\.mount|node-mount/, put: { table: 'node' }, beside: [] },
    'A line of the kernel log': { words: /kernel\.edac/, put: {}, beside: [] },
    'A rule': { words: /image-hold|IMAGE_HOLD/, put: {}, beside: [] },
    'An incident of the corpus': { words: /./, put: { class: 'reboot' }, beside: [] },
    'A reason to leave a node alone': { words: /maintenance/i, put: {}, beside: [] },
    'A part of the loop': { words: /orphan/i, put: { room: 'world', part: 'orphans' }, beside: ['server/reconcile/base/link.h'] },
    'A scheduler or provider backend': { words: /kubernetes|provider/i, put: { kind: '(?:scheduler|provider)', name: '(?:kubernetes|ec2)' }, beside: ['api/aws/orchestrator.c'] },
    "A member of a group's or a cluster's description": { words: /lifecycle/i, put: {}, beside: [] },
    'A migration': { words: /0065|cause/, put: { what: 'operation_cause', NNNN: '0065' }, beside: [] },
    'A setting': { words: /rebootsMax|reboots_max/, put: {}, beside: ['server/config/loop_settings.h'] },
    'A metric': { words: /holdfast_/, put: {}, beside: [] },
    'An option of a program': { words: /--|OPTION|option/, put: {}, beside: [] },
    'A command in a document': { words: /NOT_RUN/, put: {}, beside: [] },
};
const RECIPE = /^\*\*([^*]+)\.\*\* ([\s\S]*?)(?=\n\n|$(?![\s\S]))/gm;
const PATH = /`((?:[\w.<>-]+\/)+[\w.<>-]*|[\w-]+\.(?:yaml|md))`/g;

export function* recipes({ byPath, paths }) {
    const page = byPath.get('CONTRIBUTING.md');
    if (!page || !/^## Recipes/m.test(page.text)) return;
    const from = page.text.search(/^## Recipes/m), text = page.text.slice(from).replace(/\n## (?!Recipes)[\s\S]*/, '\n');
    for (const [whole, name, body] of text.matchAll(RECIPE)) {
        const line = page.lineAt(page.text.indexOf(whole)), say = (message) => ({ path: page.path, line, message: `${name}: ${message}` });
        const example = EXAMPLES[name];
        if (!example) {
            yield say('a recipe needs an example in tests/lint/recipes.mjs, which is followed');
            continue;
        }
        for (const [, named] of body.matchAll(PATH)) {
            const path = named.replace(/<(\w+)>/g, (all, what) => example.put[what] ?? all).replace(/NNNN/, example.put.NNNN ?? 'NNNN');
            const pattern = new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/<\w+>/g, '[^/]+')}${path.endsWith('/') ? '' : '$'}`);
            const there = paths.filter((p) => pattern.test(p)), read = there.map((p) => byPath.get(p)).filter(Boolean);
            if (there.length === 0) yield say(`${named} is not there (${path})`);
            else if (read.length > 0 && !example.beside.includes(named) && !read.some((s) => example.words.test(s.text) || example.words.test(s.path)))
                yield say(`${named} knows nothing of its example (${example.words})`);
        }
    }
}
