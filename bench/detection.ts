/** `node bench/detection.ts NAME=DIRECTORY...`: counts what the built-in rules find in the test cases of other scanners. */
import { compileRules } from '@heddle/scan/internal/detect/compile-rules';
import { createDetector } from '@heddle/scan/internal/detect/detector';
import { type Case, READERS } from './src/detection/corpora.ts';

const USAGE = `node bench/detection.ts [--list] NAME=DIRECTORY...

NAME is one of ${Object.keys(READERS).join(', ')}; DIRECTORY a checkout of its repository.
--list prints each case that is missed, and each that is flagged although it has no secret.`;

const BUFFER_BYTES = 4 * 1024 * 1024;
const OPTIONS = { rules: [], decodeDepth: 2, contextLines: 0, inlineIgnores: false, ruleTimeoutMs: 60_000 };
const detector = createDetector(compileRules(OPTIONS), OPTIONS, { buffers_max: 1, buffer_bytes: BUFFER_BYTES });

/** Returns the lines with findings, each with its rules. */
function linesFound({ path, text }: Case): Map<number, string[]> {
  const bytes = Buffer.from(text);
  const chunk = { bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true };
  const lines = new Map<number, string[]>();
  for (const { line, rule_id } of detector.begin(path)?.scan(chunk) ?? [])
    lines.set(line, [...(lines.get(line) ?? []), rule_id]);
  return lines;
}

function measure(name: string, directory: string, isListed: boolean): string {
  const { cases, unread } = READERS[name]!(directory);
  const counts = { found: 0, positives: 0, flagged: 0, negatives: 0 };
  for (const each of cases) {
    const lines = linesFound(each);
    const found = each.secrets === 0 ? lines.size : Math.min(lines.size, each.secrets);
    if (each.secrets > 0) {
      counts.positives += each.secrets;
      counts.found += found;
    } else {
      counts.negatives += 1;
      counts.flagged += found > 0 ? 1 : 0;
    }
    const isWrong = each.secrets === 0 ? found > 0 : found < each.secrets;
    if (isListed && isWrong)
      console.log(JSON.stringify({ corpus: name, ...each, found, rules: [...lines.values()].flat() }));
  }
  const { found, positives, flagged, negatives } = counts;
  return `| ${name} | ${found} of ${positives} | ${flagged} of ${negatives} | ${unread} |`;
}

const given = process.argv.slice(2);
const pairs = given.filter((each) => each !== '--list').map((each) => each.split('=', 2));
if (pairs.length === 0 || pairs.some(([name = '', directory]) => !(name in READERS) || directory === undefined)) {
  console.error(USAGE);
  process.exit(2);
}
const rows = pairs.map(([name = '', directory = '']) => measure(name, directory, given.includes('--list')));
console.log(
  ['| corpus | found | negatives flagged | cases not read |', '| --- | --- | --- | --- |', ...rows].join('\n'),
);
