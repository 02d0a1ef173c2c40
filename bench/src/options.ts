import { parseArgs } from 'node:util';

export interface Options {
  /** A bench runs if it matches one of these; without any, all run. */
  only: RegExp[];
  json: boolean;
  quick: boolean;
  subjects: string[] | null;
  rounds: number | null;
  /** Directory for a CPU profile of each subject's process. */
  profile: string | null;
  /** Commit whose version of Heddle runs in turns with this one. */
  compare: string | null;
  /** Finished tasks in the store of `engine/stored-…`. */
  stored: number | null;
}

export const USAGE = `Usage: npm run bench -- [--only GLOB]... [--json] [--quick] [--subjects A,B] [--rounds N]
                        [--compare COMMIT] [--stored N]

  --only GLOB     run the benches whose name matches, for instance 'engine/*' or '*latency'; may be repeated
  --json          one JSON object a line on standard output; everything else goes to standard error
  --quick         smaller sizes and three rounds: to see that everything runs, not to quote
  --subjects A,B  only these subjects
  --rounds N      rounds of every bench
  --compare COMMIT  run the Heddle of this commit or branch, too, in turns with this one
  --stored N      finished tasks in the store of engine/stored-1m, which is then called engine/stored-10m if N is 10000000
  --profile DIR   leave a CPU profile of every subject's process in DIR

HEDDLE_BENCH_DATABASE_URL names a PostgreSQL server whose user may create databases; without it the embedded one is started.`;

/** Converts a glob to an expression: `*` matches anything, `?` one character. */
function globToRegExp(glob: string): RegExp {
  const escaped = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${escaped}$`);
}

/** Parses the command line; throws a TypeError that names what is wrong with it. */
export function parseOptions(argv: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      subjects: { type: 'string' },
      rounds: { type: 'string' },
      profile: { type: 'string' },
      compare: { type: 'string' },
      stored: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const rounds = wholeNumber('--rounds', values.rounds, 1);
  const stored = wholeNumber('--stored', values.stored, 10_000);
  return {
    only: (values.only ?? []).map(globToRegExp),
    json: values.json,
    quick: values.quick,
    subjects: values.subjects?.split(',') ?? null,
    rounds,
    profile: values.profile ?? null,
    compare: values.compare ?? null,
    stored,
  };
}

function wholeNumber(option: string, text: string | undefined, min: number): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min) throw new TypeError(`${option}: must be ${min} or more`);
  return value;
}

export function matches(options: Options, bench: string): boolean {
  return options.only.length === 0 || options.only.some((glob) => glob.test(bench));
}
