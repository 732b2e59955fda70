// Takes C apart just far enough for the rules: comments, texts and the code between them, each with its line.
//
// `code` has the length and the lines of the file, with comments and texts blanked out, so that a pattern never matches
// inside of either. Neighbouring texts are joined, as the compiler does.

const lineStarts = (text) => {
    const starts = [0];
    for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) starts.push(i + 1);
    return starts;
};

export class Source {
    constructor(path, text) {
        this.path = path;
        this.text = text;
        this.starts = lineStarts(text);
        this.lines = text.split('\n');
        this.comments = []; // {line, endLine, text}
        this.strings = []; // {line, text}: joined with their neighbours
        this.code = this.#takeApart();
        this.codeLines = this.code.split('\n');
    }

    lineAt(offset) {
        let low = 0;
        let high = this.starts.length;
        while (high - low > 1) {
            const middle = (low + high) >> 1;
            if (this.starts[middle] <= offset) low = middle;
            else high = middle;
        }
        return low + 1;
    }

    #takeApart() {
        const pieces = /\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/g;
        const blank = (s) => s.replace(/[^\n]/g, ' ');
        let code = '';
        let at = 0;
        let lastString = null;
        for (const match of this.text.matchAll(pieces)) {
            const piece = match[0];
            const between = this.text.slice(at, match.index);
            const line = this.lineAt(match.index);
            code += between;
            at = match.index + piece.length;
            if (/\S/.test(between)) lastString = null;
            if (piece.startsWith('/')) {
                this.comments.push({ line, endLine: this.lineAt(at - 1), text: piece });
            } else if (piece.startsWith('"')) {
                if (lastString) {
                    lastString.text += piece.slice(1, -1);
                } else {
                    lastString = { line, text: piece.slice(1, -1) };
                    this.strings.push(lastString);
                }
            }
            // An #include keeps its name: the rules read it.
            const isInclude = piece.startsWith('"') && /#\s*include\s*$/.test(between);
            code += isInclude ? piece : blank(piece);
        }
        return code + this.text.slice(at);
    }

    // Every match of pattern in the code: [{line, match}].
    find(pattern) {
        return [...this.code.matchAll(pattern)].map((match) => ({ line: this.lineAt(match.index), match }));
    }

    // {line, name, ours}: ours is true for "quotes".
    includes() {
        return this.find(/^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)/gm).map(({ line, match }) => ({
            line,
            name: match[1] ?? match[2],
            ours: match[1] !== undefined,
        }));
    }

    // {name, line, endLine} of each function. clang-format has put its brace alone into column 0, or behind the head.
    functions() {
        const found = [];
        const lines = this.codeLines;
        for (let i = 0; i < lines.length; i++) {
            const opens = lines[i] === '{' || /^[A-Za-z_].*\)\s*\{\s*$/.test(lines[i]);
            if (!opens) continue;
            let head = i;
            while (head > 0 && lines[i] === '{' && /\S/.test(lines[head - 1]) && !/^[#}]|;\s*$/.test(lines[head - 1])) head--;
            let end = i;
            while (end < lines.length && !/^\}/.test(lines[end])) end++;
            const name = /(\w+)\s*\(/.exec(lines.slice(head, i + 1).join(' '))?.[1] ?? '?';
            found.push({ name, line: head + 1, endLine: end + 1 });
            i = end;
        }
        return found;
    }
}
