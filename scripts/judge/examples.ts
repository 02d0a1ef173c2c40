import type { Assignment } from '../../packages/scan/src/detect/judge/features.ts';
import type { Random } from './random.ts';
import { camel, CHOSEN, HARMLESS, IDENTIFIERS, PASSWORDS, TOKENS, word, words } from './values.ts';

/** An assignment, and whether its value is a secret. */
export interface Example {
  assignment: Assignment;
  isSecret: boolean;
}

const PREFIXES =
  'api access auth app client consumer private secret service master admin encryption signing webhook refresh bearer bot db ' +
  'database root smtp mail redis mysql postgres mongo aws azure stripe slack github twilio jwt session cookie user deploy';
const OWNERS = PREFIXES.split(' ');
const ABOUT =
  'id url name label path file header hash type endpoint prefix length count limit regex pattern field placeholder title message ' +
  'error hint text description policy format class selector input button digest checksum sha256 integrity etag index provider';
const SUBJECTS = ABOUT.split(' ');
const OTHER_KEYS =
  'primary foreign sort partition cache lookup public publishable map object storage query translation i18n site csrf nonce ' +
  'page next continuation monkey hot key_up item test example fake';
const HARMLESS_OWNERS = OTHER_KEYS.split(' ');

const CONFIGS = [
  '.env',
  'config.yml',
  'values.yaml',
  'settings.json',
  'app.properties',
  'config.toml',
  'main.tf',
  'app.ini',
  'web.config',
  'deploy.conf',
  'notes',
];
const CODES = [
  'app.ts',
  'main.py',
  'index.js',
  'server.go',
  'App.java',
  'config.php',
  'setup.rb',
  'run.sh',
  'Main.cs',
  'lib.rs',
];
const PROSES = ['README.md', 'index.html', 'guide.rst', 'tool.1'];
const TESTS = ['test/', 'tests/fixtures/', 'examples/', 'docs/', 'src/__tests__/', 'spec/'];
const QUIET = ['node_modules/lib/', 'locales/', 'i18n/', 'vendor/', 'lib/python3/'];

type Kind = 'password' | 'token';

/** Makes examples, half of them secrets. */
export function makeExamples(random: Random, count: number): Example[] {
  return Array.from({ length: count }, (_, at) => (at % 2 === 0 ? secret(random) : harmless(random)));
}

function secret(random: Random): Example {
  const kind: Kind = random.chance(0.45) ? 'password' : 'token';
  // Passwords that people choose are secrets where software is configured.
  const form = random.pick(kind === 'password' && random.chance(0.85) ? PASSWORDS : TOKENS);
  const value = form(random);
  // In prose, passwords that people choose are examples more often than secrets; what was drawn at random seldom is.
  if (random.chance(0.1)) {
    const path = `${random.pick(['', 'docs/', 'man/'])}${random.pick(PROSES)}`;
    return {
      assignment: assigned(random, { value, name: secretName(random, kind), path }),
      isSecret: random.chance(CHOSEN.includes(form) ? 0.35 : 0.95),
    };
  }
  const path = pathOf(random, { config: 0.62, test: 0.05, quiet: 0.02 });
  const isUnder = random.chance(0.06);
  const parents = isUnder ? heading(random) : undefined;
  const name = isUnder ? random.pick([word(random), random.pick(OWNERS)]) : secretName(random, kind);
  const assignment = assigned(random, { value, name, path, ...(parents === undefined ? {} : { parents }) });
  return { assignment, isSecret: true };
}

/** Keys around a value that say what its name does not. */
function heading(random: Random): string {
  return `${word(random)}.${random.pick(['secrets', 'credentials', 'passwords', 'tokens', 'stringData', 'api_keys'])}`;
}

function harmless(random: Random): Example {
  const path = pathOf(random, { config: 0.3, test: 0.3, quiet: 0.25 });
  if (random.chance(0.06)) {
    const value = random.pick(HARMLESS)(random);
    return {
      assignment: assigned(random, { value, name: word(random), path, parents: heading(random) }),
      isSecret: false,
    };
  }
  const turn = random.next();
  if (turn < 0.5)
    return plain(random, random.pick(HARMLESS)(random), secretName(random, random.pick(['password', 'token'])), path);
  if (turn < 0.6)
    return plain(random, random.pick(HARMLESS)(random), random.pick(['', word(random), camel(random)]), path);
  if (turn < 0.85) return plain(random, random.pick(IDENTIFIERS)(random), harmlessName(random), path);
  // What tests and examples use for a password.
  const tested = `${random.pick(TESTS)}${random.pick([...CODES, ...CONFIGS, ...PROSES])}`;
  if (turn < 0.95)
    return plain(random, random.pick(CHOSEN.slice(0, 5))(random), secretName(random, 'password'), tested);
  return plain(
    random,
    random.pick(IDENTIFIERS)(random),
    random.pick(['key', 'token', 'auth', '']),
    `${random.pick(QUIET)}${random.pick(CODES)}`,
  );
}

function plain(random: Random, value: string, name: string, path: string): Example {
  return { assignment: assigned(random, { value, name, path }), isSecret: false };
}

function pathOf(random: Random, shares: { config: number; test: number; quiet: number }): string {
  const turn = random.next();
  const prose = (1 - shares.config) * 0.2;
  const file = random.pick(turn < shares.config ? CONFIGS : turn < shares.config + prose ? PROSES : CODES);
  const folder = random.next();
  if (folder < shares.test) return random.pick(TESTS) + file;
  if (folder < shares.test + shares.quiet) return random.pick(QUIET) + file;
  return random.pick(['', 'src/', 'config/', 'deploy/']) + file;
}

function secretName(random: Random, kind: Kind): string {
  const owner = random.pick(OWNERS);
  const base =
    kind === 'password'
      ? random.pick(['password', 'password', 'passwd', 'pass', 'pwd', 'passphrase'])
      : random.pick([
          'token',
          'secret',
          'key',
          'api_key',
          'secret_key',
          'access_key',
          'auth_token',
          'client_secret',
          'credential',
        ]);
  if (base === 'key')
    return styled(random, random.pick([`${owner}_key`, 'api_key', `${word(random)}_key`, `${word(random)}_api_key`]));
  const spelled = random.chance(0.75) ? `${random.chance(0.3) ? word(random) : owner}_${base}` : base;
  return styled(random, spelled);
}

function harmlessName(random: Random): string {
  const base = random.pick(['token', 'key', 'secret', 'password', 'auth']);
  const turn = random.next();
  if (turn < 0.45) return styled(random, `${base}_${random.pick(SUBJECTS)}`);
  if (turn < 0.72) return styled(random, `${random.pick(HARMLESS_OWNERS)}_${random.pick(['key', 'token'])}`);
  if (turn < 0.78) return styled(random, random.pick(['key', 'key', 'auth', `${word(random)}_${word(random)}_key`]));
  return styled(random, random.pick([random.pick(SUBJECTS), word(random), `${word(random)}_${random.pick(SUBJECTS)}`]));
}

function styled(random: Random, name: string): string {
  const turn = random.next();
  if (turn < 0.35) return name.toUpperCase();
  if (turn < 0.6) return name;
  if (turn < 0.7) return name.replaceAll('_', '-');
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function assigned(
  random: Random,
  { value, name, path, parents }: { value: string; name: string; path: string; parents?: string },
): Assignment {
  const isCode = CODES.some((file) => path.endsWith(file));
  const quote = random.chance(isCode ? 0.93 : 0.4) ? random.pick(['"', "'", '"']) : '';
  const operator = random.pick(isCode ? [' = ', ': ', ' => ', '(', ', ', '=', ' := '] : ['=', ': ', ' = ', '">', '="']);
  const lead = random.pick(['', '  ', '    ', '\t', random.chance(0.2) ? '# ' : '', 'export ', 'const ']);
  const isLong = random.chance(path.includes('.min.') ? 0.9 : 0.03);
  const before = `${lead}${name}${operator}${quote}`;
  const after = `${quote}${random.pick(['', '', ',', ';', ')', ' # note'])}${isLong ? words(random, 80, 90).join(' ') : ''}`;
  const around = parents ?? (random.chance(0.7) ? '' : words(random, 1, 3).join('.'));
  return { value, name, parents: around, path, before, after };
}
