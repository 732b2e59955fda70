// Host lists as schedulers write them: gpu-[1-3,7],login -> gpu-1 gpu-2 gpu-3 gpu-7 login.
const MANY = 20000;

function expand(word) {
  const match = /^([^[]*)\[([^\]]*)\](.*)$/.exec(word);
  if (!match) return [word];
  const [, before, ranges, after] = match;
  const tails = expand(after);
  const out = [];
  for (const range of ranges.split(',')) {
    const [from, to = from] = range.split('-');
    for (let n = Number(from); n <= Number(to) && out.length < MANY; n++)
      for (const tail of tails) out.push(`${before}${String(n).padStart(from.length, '0')}${tail}`);
  }
  return out;
}

export function hosts(text) {
  const words = [];
  let depth = 0;
  let word = '';
  for (const letter of text ?? '') {
    if (letter === '[') depth++;
    if (letter === ']') depth--;
    if (letter === ',' && depth === 0) {
      words.push(word);
      word = '';
    } else word += letter;
  }
  return [...words, word].filter(Boolean).flatMap(expand);
}
