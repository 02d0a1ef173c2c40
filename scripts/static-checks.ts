import { spawn } from 'node:child_process';

export interface CheckResult {
  name: string;
  passed: boolean;
  duration_ms: number;
  /** Everything it printed. */
  output: string;
}

/** The lowest priority: checks take the processor time that the tests leave, and slow none of them. */
const NICENESS = 19;

/** Runs scripts of package.json one after the other and resolves when the last one ended; none rejects. */
export async function runStaticChecks(
  names: readonly string[],
  root: string,
  signal: AbortSignal,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const name of names) if (!signal.aborted) results.push(await runStaticCheck(name, root, signal));
  return results;
}

async function runStaticCheck(name: string, root: string, signal: AbortSignal): Promise<CheckResult> {
  const startedAt = performance.now();
  const npm = process.env['npm_execpath'];
  const command = npm === undefined ? ['npm'] : [process.execPath, npm];
  const args = ['-n', String(NICENESS), ...command, 'run', '--silent', name];
  const child = spawn('nice', args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], signal });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      output += `${String(error)}\n`;
      // Of an aborted npm the script may live on for a while; nobody waits for it.
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(null);
    });
    child.on('close', resolve);
  });
  return { name, passed: code === 0, duration_ms: performance.now() - startedAt, output };
}
