/** What one room of `src/` may import, besides its own files. */
export interface Room {
  /**
   * Rooms whose files may be imported, or single files of a room: `domain`, `engine/port.ts`. `*` is every room
   * except those of `except`.
   */
  imports: readonly string[];
  except?: readonly string[];
  /** Rooms or files of which only types may be imported (`import type`). */
  types?: readonly string[];
  /** False where not even packages and Node's own modules may be imported: the room is pure. */
  packages?: boolean;
}

/** The rooms of the house, lowest first. An arrow that is not here is refused. */
export const ROOMS: Readonly<Record<string, Room>> = {
  domain: { imports: [], packages: false },
  runtime: { imports: ['domain'] },
  expression: { imports: ['domain'] },
  store: { imports: ['domain', 'runtime'] },
  queue: { imports: ['domain', 'runtime', 'store'] },
  engine: { imports: ['domain', 'runtime', 'expression', 'store', 'queue'] },
  scan: { imports: ['domain', 'runtime'] },
  recon: { imports: ['domain', 'runtime'] },
  remote: { imports: ['domain', 'runtime'] },
  pool: { imports: ['domain', 'runtime', 'queue', 'store'] },
  kinds: { imports: ['domain', 'runtime', 'expression', 'engine/port.ts', 'scan', 'recon', 'remote', 'pool'] },
  dispatch: { imports: ['domain', 'runtime', 'expression', 'engine/port.ts', 'queue', 'kinds'] },
  http: { imports: ['domain', 'runtime', 'expression', 'engine', 'pool'] },
  /** Programs import all of it; the page, which runs in browsers, only `client.ts`. */
  client: { imports: ['remote/client'], types: ['http/wire'] },
  cli: { imports: ['client', 'app'] },
  app: { imports: ['*'], except: ['cli'] },
  /** What modules with kinds import by the package's name. */
  'index.ts': { imports: ['kinds/definition', 'remote/definition', 'domain'] },
};

/** Rooms that may touch the clock, randomness, timers and the environment; everybody else is given them. */
export const AMBIENT_ROOMS: readonly string[] = ['runtime', 'app'];

/** Single files with the same right: entries of processes, of Heddle and of a task. */
export const AMBIENT_FILES: readonly string[] = ['src/cli/main.ts', 'src/remote/execution/child/main.ts'];

export const LIMITS = {
  file_lines_guideline: 300,
  file_lines_max: 400,
  function_lines_guideline: 50,
  function_lines_max: 80,
} as const;
