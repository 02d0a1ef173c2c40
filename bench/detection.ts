/** `node bench/detection.ts NAME=DIRECTORY...`: counts what the built-in rules find in the test cases of other scanners. */
import { parseArgs } from 'node:util';

import { READERS } from './src/detection/corpora.ts';
import { heddle, secretlint } from './src/detection/scanners.ts';

const USAGE = `node bench/detection.ts [--list] [--rules FILE] [--scanner NAME] NAME=DIRECTORY...

NAME is one of ${Object.keys(READERS).join(', ')}; DIRECTORY a checkout of its repository.
--list prints each case that is missed, and each that is flagged although it has no secret.
--rules counts what the rules of a file find instead, such as those of gitleaks; --scanner, what another scanner finds: secretlint,
which the first run of bench/main.ts installs.`;

const { isListed, rules, scanner, pairs } = readArguments();

const linesOf = scanner === 'secretlint' ? await secretlint() : heddle(rules);

async function measure(name: string, directory: string): Promise<string> {
  const { cases, unread } = READERS[name]!(directory);
  const counts = { found: 0, positives: 0, flagged: 0, negatives: 0 };
  for (const each of cases) {
    const lines = await linesOf(each);
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

interface Arguments {
  isListed: boolean;
  rules: string | undefined;
  scanner: string | undefined;
  pairs: string[][];
}

function readArguments(): Arguments {
  const options = {
    list: { type: 'boolean', default: false },
    rules: { type: 'string' },
    scanner: { type: 'string' },
  } as const;
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const named = positionals.map((each) => each.split('=', 2));
    const { list: isListed, rules, scanner } = values;
    const areKnown = named.every(([name = '', directory]) => name in READERS && directory !== undefined);
    if (named.length > 0 && areKnown && (scanner === undefined || scanner === 'secretlint'))
      return { isListed, rules, scanner, pairs: named };
  } catch (error) {
    console.error((error as Error).message);
  }
  console.error(USAGE);
  process.exit(2);
}

const rows: string[] = [];
for (const [name = '', directory = ''] of pairs) rows.push(await measure(name, directory));
console.log(
  ['| corpus | found | negatives flagged | cases not read |', '| --- | --- | --- | --- |', ...rows].join('\n'),
);
