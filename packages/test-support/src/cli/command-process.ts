/** Runs commands as processes, in a directory of their own. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env;
/** What a command needs of the environment, and where it finds compiled code from its first module on. */
export const COMMAND_ENVIRONMENT = { PATH, TMPDIR, NODE_COMPILE_CACHE } as const;

/** How a command ended. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
  lines: string[];
  /** Standard output as JSON lines. */
  json: Record<string, unknown>[];
}

/** Resolves when the process has ended. */
export async function ended(child: ChildProcess, stdin?: string): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin!.on('error', () => undefined);
  if (stdin !== undefined) child.stdin!.end(stdin);
  const [code] = (await once(child, 'close')) as [number | null];
  const lines = stdout.split('\n').slice(0, -1);
  return {
    code,
    stdout,
    stderr,
    lines,
    get json() {
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

/** A directory with files, for commands to start in. */
export class WorkingDirectory {
  readonly path = mkdtempSync(join(tmpdir(), 'heddle-command-'));

  at(name: string): string {
    return join(this.path, name);
  }

  write(name: string, content: string | Buffer): void {
    mkdirSync(dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), content);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
