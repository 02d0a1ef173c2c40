import { spawn } from 'node:child_process';
import { access } from 'node:fs/promises';

/** Library directories to use if the loader does not list the libraries. */
const LIBRARY_FOLDERS = ['/lib', '/lib64', '/usr/lib', '/usr/lib64'] as const;

/** Returns the absolute paths of the loader and libraries that a program needs. */
export async function librariesOf(program: string): Promise<readonly string[]> {
  const child = spawn(program, [], { env: { LD_TRACE_LOADED_OBJECTS: '1' }, stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const paths = [...output.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].map((match) => match[1]!);
  return paths.length > 0 ? [...new Set(paths)] : existing(LIBRARY_FOLDERS);
}

async function existing(paths: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of paths) {
    try {
      await access(path);
      found.push(path);
    } catch {
      // Does not exist on this machine.
    }
  }
  return found;
}
