// Reads the tree, applies the rules and says what it found: one line each, "file:line: rule: message".
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { PRODUCT_ROOMS, RULES, lint } from './rules.mjs';

const PLACES = [...PRODUCT_ROOMS, 'migrations', 'bench', 'tests', 'demo', 'mk', 'docs', 'web', 'dist'];
const WANTED = /\.(c|h|def|sql|mjs|mk|md|yaml|js|html|service|[1-8])$/;
const NOT_OURS = new Set(['node_modules', 'corpus', 'data']);

function* walk(root, directory, wanted = () => true) {
    let entries;
    try {
        entries = readdirSync(directory, { withFileTypes: true });
    } catch {
        return; // a place that this tree does not have
    }
    for (const entry of entries) {
        const path = join(directory, entry.name);
        if (entry.isDirectory() && wanted(entry)) yield* walk(root, path, wanted);
        else if (entry.isFile() && wanted(entry)) yield relative(root, path);
    }
}

const root = process.argv[2];
const files = new Map();
for (const place of PLACES)
    for (const path of walk(root, join(root, place), (entry) => (entry.isFile() ? WANTED.test(entry.name) : !NOT_OURS.has(entry.name))))
        files.set(path, readFileSync(join(root, path), 'utf8'));
for (const entry of existsSync(root) ? readdirSync(root) : [])
    if (/\.(md|yaml)$/.test(entry)) files.set(entry, readFileSync(join(root, entry), 'utf8'));
if (files.size === 0) {
    console.log(`no files under ${root}\nlint: 0 passed, 1 failed`);
    process.exit(1);
}

const paths = new Set(files.keys());
for (const place of [...PLACES, 'packaging', 'scripts'])
    for (const path of walk(root, join(root, place), (entry) => entry.name !== 'node_modules')) paths.add(path);

const { findings, exceptions } = lint(files, [...paths]);
for (const f of findings) console.log(`${f.path}:${f.line}: ${f.rule}: ${f.message}`);
const broken = new Set(findings.map((f) => f.rule)).size;
console.log(`${RULES.length} rules over ${files.size} files: ${findings.length} findings, ${exceptions} exceptions with a reason`);
console.log(`lint: ${RULES.length - broken} passed, ${broken} failed`);
process.exitCode = findings.length > 0 ? 1 : 0;
