import { globSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { PseudoRandom } from '../scan/pseudo-random.ts';
import { GoSource, type GoValue } from './go-source.ts';
import { randomMatch } from './random-match.ts';

/** A text with a secret, or without one. */
export interface Case {
  /** Where it is from, for the list of those that are missed. */
  origin: string;
  path: string;
  text: string;
  /** How many secrets it has, on lines of their own; 0: none. */
  secrets: number;
}

export interface Corpus {
  name: string;
  cases: Case[];
  /** Cases that could not be read. */
  unread: number;
}

/** How each corpus is read from a checkout of its repository. */
export const READERS: Readonly<Record<string, (directory: string) => Corpus>> = {
  'leaky-repo': readLeakyRepo,
  noseyparker: (directory) => readExamples('noseyparker', directory, 'crates/noseyparker/data/default/builtin/rules'),
  kingfisher: (directory) => readExamples('kingfisher', directory, 'data/rules'),
  trufflehog: readTruffleHog,
  gitleaks: (directory) => readGitleaks('gitleaks', directory),
  betterleaks: (directory) => readGitleaks('betterleaks', directory),
  titus: (directory) => readExamples('titus', directory, 'pkg/rule/rules'),
};

/** A file of the table may have several lines that must be found. */
function readLeakyRepo(directory: string): Corpus {
  const table = readFileSync(join(directory, '.leaky-meta/secrets.csv'), 'utf8');
  const rows = table.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const cases = rows.flatMap((row): Case[] => {
    const [path = '', risks = ''] = row.split(',');
    const secrets = Number(risks);
    if (!statSync(join(directory, path), { throwIfNoEntry: false })?.isFile() || secrets === 0) return [];
    return [{ origin: path, path, text: readFileSync(join(directory, path), 'latin1'), secrets }];
  });
  return { name: 'leaky-repo', cases, unread: 0 };
}

interface RuleExamples {
  id: string;
  examples?: unknown[];
  negative_examples?: unknown[];
}

/** Rules in YAML, each with examples. */
function readExamples(name: string, directory: string, under: string): Corpus {
  const files = globSync('**/*.yml', { cwd: join(directory, under) }).sort();
  const cases = files.flatMap((file) => {
    const { rules = [] } = parseYaml(readFileSync(join(directory, under, file), 'utf8')) as { rules?: RuleExamples[] };
    return rules.flatMap(({ id, examples, negative_examples }) => [
      ...(examples ?? []).map((text) => ({ origin: id, path: 'case.txt', text: String(text), secrets: 1 })),
      ...(negative_examples ?? []).map((text) => ({ origin: id, path: 'case.txt', text: String(text), secrets: 0 })),
    ]);
  });
  return { name, cases, unread: 0 };
}

/** Tables of tests in Go: `input` and what is wanted of it. */
function readTruffleHog(directory: string): Corpus {
  const corpus: Corpus = { name: 'trufflehog', cases: [], unread: 0 };
  const files = globSync('pkg/detectors/**/*_test.go', { cwd: directory }).sort();
  for (const file of files.filter((each) => !each.endsWith('_integration_test.go'))) {
    const beside = readdirSync(join(directory, dirname(file))).filter((each) => /_test\.go$/.test(each));
    const own = readFileSync(join(directory, file), 'utf8');
    if (/^\/\/go:build detectors/m.test(own)) continue;
    const others = beside.map((each) => readFileSync(join(directory, dirname(file), each), 'utf8'));
    const source = new GoSource([own, ...others.filter((each) => each !== own)].join('\n'));
    let input: GoValue | undefined = null;
    for (const { field, value } of source.fields('input', 'want')) {
      if (field === 'input') {
        input = value;
        continue;
      }
      if (typeof input === 'string' && (value === null || Array.isArray(value))) {
        const secrets = value !== null && value.length > 0 ? 1 : 0;
        const origin = dirname(file).replace('pkg/detectors/', '');
        if (!corpus.cases.some((each) => each.origin === origin && each.text === input))
          corpus.cases.push({ origin, path: 'case.txt', text: input, secrets });
      } else if (input !== null) corpus.unread++;
      input = null;
    }
  }
  return corpus;
}

/** Functions in Go that make the cases of each rule; their secrets are random. */
function readGitleaks(name: string, directory: string): Corpus {
  const random = new PseudoRandom(1);
  const base = join(directory, 'cmd/generate/config');
  const generator = readFileSync(join(base, 'utils/generate.go'), 'utf8');
  const samples = sampleTemplates(generator);
  const single = singleTemplate(generator);
  const sample = (template: string, name: GoValue, secret: GoValue): string =>
    template
      .replaceAll('{i}', String(name))
      .replaceAll('{I}', String(name).toUpperCase())
      .replaceAll('{s}', String(secret));
  const secret = (pattern?: GoValue): string => randomMatch(String(pattern), random);
  const repeated = (set: string) => (size?: GoValue) => `${set}{${String(size)}}`;
  const functions = {
    'secrets.NewSecret': secret,
    'secrets.NewSecretWithEntropy': secret,
    'utils.GenerateSampleSecret': (name: GoValue, value: GoValue) => sample(single, name, value),
    'utils.GenerateSampleSecrets': (name: GoValue, value: GoValue) => samples.map((each) => sample(each, name, value)),
    'utils.Numeric': repeated('[0-9]'),
    'utils.Hex': repeated('[a-f0-9]'),
    'utils.AlphaNumeric': repeated('[a-z0-9]'),
    'utils.AlphaNumericExtendedShort': repeated('[a-z0-9_-]'),
    'utils.AlphaNumericExtended': repeated('[a-z0-9=_-]'),
    'utils.AlphaNumericExtendedLong': repeated('[a-z0-9/=_+-]'),
    'utils.Hex8_4_4_4_12': () => '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  } as Readonly<Record<string, (...values: GoValue[]) => GoValue>>;
  const corpus: Corpus = { name, cases: [], unread: 0 };
  for (const file of globSync('rules/*.go', { cwd: base }).sort()) {
    const source = new GoSource(readFileSync(join(base, file), 'utf8'), functions);
    source.run('Validate', (_, positives, negatives) => {
      if (!Array.isArray(positives)) corpus.unread++;
      for (const [values, secrets] of [
        [positives, 1],
        [negatives, 0],
      ] as const)
        for (const text of Array.isArray(values) ? values : [])
          corpus.cases.push({ origin: file, path: 'case.txt', text: String(text), secrets });
    });
  }
  return corpus;
}

/** The form of the single assignment. */
function singleTemplate(source: string): string {
  const [, pattern = ''] =
    /func GenerateSampleSecret\([^{]*\{\s*return fmt\.Sprintf\("((?:[^"\\]|\\.)*)"/.exec(source) ?? [];
  return pattern.replaceAll('\\"', '"').replace('%s', '{i}').replace('%s', '{s}');
}

/** The forms of assignments into which secrets are put. */
function sampleTemplates(source: string): string[] {
  const lines = source.split('\n').filter((line) => !line.trim().startsWith('//') && line.includes('{s}'));
  return lines.flatMap((line) => {
    const [{ value } = { value: undefined }] = new GoSource(line.replace(/^\s*"[^"]*":/, 'sample:')).fields('sample');
    return typeof value === 'string' ? [value] : [];
  });
}
