import { PseudoRandom } from './pseudo-random.ts';

const WORDS = (
  'account action address agent amount array async await batch block body buffer build cache call change channel check child ' +
  'class client clock code column command config context copy count create cursor customer data date default delete digest ' +
  'document domain driver element entry error event export factory field file filter find format frame function group handle ' +
  'hash header height index input insert instance interface item job key label layer length level limit line link list loader ' +
  'local lock log map match member message method model module name node note number object offset option order output owner ' +
  'page panel parent parse path pattern payload point policy pool port prefix process product profile property provider query ' +
  'queue range rate reader record region register release remote render report request resource response result retry role ' +
  'route row rule sample scale schema scope section select sender server session shape signal size slot socket source stage ' +
  'start state status step store stream string style subject suffix switch symbol system table tag target task template test ' +
  'text thread time title token total trace tree type unit update user value vector version view watch width window worker'
).split(' ');

const HEXADECIMAL = '0123456789abcdef';
const DISTINCT_LINES = 40_000;

type LineShape = (random: PseudoRandom) => string;

function words(random: PseudoRandom, count: number, separator = ' '): string {
  return Array.from({ length: count }, () => random.pick(WORDS)).join(separator);
}

function name(random: PseudoRandom): string {
  const [first, ...rest] = words(random, random.between(1, 3)).split(' ');
  return first! + rest.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

/** Content of source code, including what scanners stumble on: credential words, digests, addresses, encoded text. */
const SHAPES: readonly { weight: number; make: LineShape }[] = [
  { weight: 14, make: () => '' },
  {
    weight: 20,
    make: (random) => `  const ${name(random)} = ${name(random)}(${name(random)}, ${random.below(1000)});`,
  },
  {
    weight: 12,
    make: (random) => `    if (${name(random)} === ${name(random)}.${name(random)}) return ${name(random)};`,
  },
  { weight: 10, make: (random) => `  // ${words(random, random.between(4, 14))}.` },
  {
    weight: 10,
    make: (random) => `export function ${name(random)}(${name(random)}: ${name(random)}): ${name(random)} {`,
  },
  { weight: 10, make: () => '  }' },
  { weight: 8, make: (random) => `    self.${words(random, 2, '_')} = ${words(random, 2, '_')}[${random.below(64)}]` },
  { weight: 6, make: (random) => `  "${words(random, 2, '_')}": "${words(random, random.between(1, 5))}",` },
  { weight: 4, make: (random) => `import { ${name(random)} } from './${words(random, 2, '-')}.ts';` },
  { weight: 2, make: (random) => `  const apiKey = process.env.${words(random, 2, '_').toUpperCase()}_KEY ?? '';` },
  { weight: 1, make: (random) => `  password: \${{ secrets.${words(random, 2, '_').toUpperCase()} }}` },
  { weight: 1, make: (random) => `  token = get_token("${words(random, 2, '-')}")` },
  { weight: 1, make: (random) => `  "integrity": "sha1-${random.text(HEXADECIMAL, 40)}",` },
  {
    weight: 1,
    make: (random) =>
      `  see https://${words(random, 2, '-')}.example.org/${words(random, 3, '/')}?id=${random.below(1e6)}`,
  },
  { weight: 0.3, make: (random) => `  data:${Buffer.from(words(random, random.between(8, 30))).toString('base64')}` },
];

/** Text of whole lines, drawn from a fixed set: fast enough for gigabytes. */
export class SourceText {
  readonly #lines: readonly Buffer[];

  constructor(seed: number) {
    const random = new PseudoRandom(seed);
    const total = SHAPES.reduce((sum, { weight }) => sum + weight, 0);
    this.#lines = Array.from({ length: DISTINCT_LINES }, () => {
      let drawn = (random.next() / 2 ** 32) * total;
      const shape = SHAPES.find(({ weight }) => (drawn -= weight) < 0) ?? SHAPES[0]!;
      return Buffer.from(`${shape.make(random)}\n`);
    });
  }

  /** Exactly `length` bytes; `inserted` are lines somewhere in it. */
  make(random: PseudoRandom, length: number, inserted: readonly string[] = []): Buffer {
    const content = Buffer.allocUnsafe(length);
    const extra = inserted.map((line) => Buffer.from(`\n${line}\n`));
    const reserved = extra.reduce((sum, line) => sum + line.length, 0);
    if (reserved > length) throw new Error(`${length} bytes cannot hold ${reserved}`);
    const places = extra.map(() => random.below(length - reserved + 1)).sort((left, right) => left - right);
    let at = 0;
    let free = 0;
    for (let next = 0; at < length;) {
      const until = next < extra.length ? places[next]! : length - reserved;
      if (free >= until && next < extra.length) {
        at += extra[next]!.copy(content, at);
        next += 1;
        continue;
      }
      const copied = random.pick(this.#lines).copy(content, at, 0, until - free);
      at += copied;
      free += copied;
    }
    return content;
  }
}

/** A name for a file or a directory. */
export function fileName(random: PseudoRandom): string {
  return words(random, random.between(1, 2), '-');
}

/** The size of a file in bytes, as in repositories: half of the files below 6 KiB, few above 100. */
export function fileSize(random: PseudoRandom): number {
  const exponent = (random.next() + random.next() + random.next()) / (3 * 2 ** 32);
  return Math.round(1024 * 200 ** (0.02 + 0.96 * exponent));
}
