import { execFile } from 'node:child_process';
import { cp, lstat, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Scenario } from './scenario.ts';

const run = promisify(execFile);
const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const OWN = 'heddle';

/** Another version of Heddle, checked out beside this one. */
export interface OtherVersion {
  /** The scenario with a participant more, the other version, if Heddle takes part in it. */
  compared: (scenario: Scenario) => Scenario;
  remove(): Promise<void>;
}

/** Checks a commit out into a temporary directory; it shares the installed packages of this one. */
export async function checkOut(commit: string): Promise<OtherVersion> {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-bench-version-'));
  const git = (...args: string[]): Promise<unknown> => run('git', ['-C', REPOSITORY, ...args]);
  const remove = async (): Promise<void> => {
    await git('worktree', 'remove', '--force', directory).catch(() => rm(directory, { recursive: true, force: true }));
  };
  try {
    await git('worktree', 'add', '--force', '--detach', directory, commit);
    for (const installed of ['node_modules', 'bench/node_modules']) {
      await linkPackages(join(REPOSITORY, installed), join(directory, installed));
    }
  } catch (error) {
    await remove();
    throw error;
  }
  const bench = join(directory, 'bench');
  return {
    remove,
    compared: (scenario) => ({
      ...scenario,
      participants: scenario.participants.flatMap((participant) =>
        participant.label === OWN
          ? [participant, { ...participant, label: `${OWN} at ${commit}`, directory: bench }]
          : [participant],
      ),
    }),
  };
}

/** Links to the packages of another directory. Those of the workspace are links already, relative ones, and are copied. */
async function linkPackages(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    const source = join(from, name);
    if ((await lstat(source)).isSymbolicLink()) {
      await cp(source, join(to, name), { verbatimSymlinks: true });
    } else if (name.startsWith('@')) {
      await linkPackages(source, join(to, name));
    } else {
      await symlink(source, join(to, name));
    }
  }
}
