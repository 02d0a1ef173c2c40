/** What one room may import, besides its own files. */
export interface Room {
  /**
   * Rooms whose files may be imported, or single files of a room: `domain`, `engine/port.ts`. `*` is every room
   * except those of `except`.
   */
  imports: readonly string[];
  except?: readonly string[];
  /** False where not even packages and Node's own modules may be imported: the room is pure. */
  packages?: boolean;
}

/** Files of `base` that are pure: the words and the errors that all packages share. A file, or a folder. */
export const PURE_BASE: readonly string[] = [
  'vocabulary/',
  'parse/',
  'regex/',
  'errors.ts',
  'ids.ts',
  'json.ts',
  'net/',
  'standard-schema.ts',
  'suggest.ts',
  'thrown.ts',
];

/** Packages whose folders are rooms of their own; any other package is one room, named like it. */
export const PACKAGES_OF_ROOMS: readonly string[] = ['core', 'heddle'];

/** The rooms of the house, lowest first. An arrow that is not here is refused. */
export const ROOMS: Readonly<Record<string, Room>> = {
  vocabulary: { imports: [], packages: false },
  base: { imports: ['vocabulary'] },
  kit: { imports: ['vocabulary', 'base'] },
  client: { imports: [], packages: false },
  domain: { imports: ['vocabulary'], packages: false },
  metrics: { imports: ['vocabulary', 'base', 'domain'] },
  expression: { imports: ['vocabulary', 'domain'] },
  store: { imports: ['vocabulary', 'base', 'domain', 'metrics'] },
  queue: { imports: ['vocabulary', 'base', 'domain', 'metrics', 'store'] },
  engine: { imports: ['vocabulary', 'base', 'domain', 'metrics', 'expression', 'store', 'queue'] },
  pool: { imports: ['vocabulary', 'base', 'domain', 'metrics', 'queue', 'store'] },
  scan: { imports: ['vocabulary', 'base'] },
  recon: { imports: ['vocabulary', 'base'] },
  executor: { imports: ['vocabulary', 'base', 'kit'] },
  kinds: {
    imports: [
      'vocabulary',
      'base',
      'kit',
      'domain',
      'metrics',
      'expression',
      'engine/port.ts',
      'scan',
      'recon',
      'executor',
      'pool',
    ],
  },
  dispatch: {
    imports: ['vocabulary', 'base', 'kit', 'domain', 'metrics', 'expression', 'engine/port.ts', 'queue', 'kinds'],
  },
  http: { imports: ['vocabulary', 'base', 'domain', 'metrics', 'expression', 'engine', 'pool'] },
  cli: {
    imports: [
      ...['vocabulary', 'base', 'client', 'app'],
      ...['scan/command/scan-command.ts', 'scan/command/start.ts'],
      ...['recon/command/recon-command.ts', 'recon/command/start.ts'],
    ],
  },
  app: { imports: ['*'], except: ['cli'] },
};

/** Rooms that may touch the clock, randomness, timers and the environment; everybody else is given them. */
export const AMBIENT_ROOMS: readonly string[] = ['base', 'app'];

/** Files and folders with the same right: entries of processes, of Heddle and of a task, and commands. */
export const AMBIENT_FILES: readonly string[] = [
  'packages/heddle/src/cli/main.ts',
  'packages/executor/src/execution/child/serve.ts',
  'packages/executor/src/execution/zygote/main.ts',
  'packages/scan/src/command/',
  'packages/recon/src/command/',
];

export const LIMITS = {
  file_lines_guideline: 300,
  file_lines_max: 400,
  function_lines_guideline: 50,
  function_lines_max: 80,
} as const;
