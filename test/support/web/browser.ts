import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium as playwright } from 'playwright-core';
import type { Browser } from 'playwright-core';
import sparticuz from '@sparticuz/chromium';

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Omitted from the default arguments: they would weaken what the tests check, or conflict with Playwright. */
const UNWANTED = /^--(disable-web-security|allow-running-insecure-content|headless|single-process|no-zygote)/;

const WRITTEN_PAUSE_MS = 200;
const WRITTEN_MAX_MS = 120_000;

/**
 * Starts a real headless Chromium; if it cannot start, the error names the missing system libraries. Tests start it before
 * their servers, which nothing would stop then.
 */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const executablePath = await sparticuz.executablePath();
  const args = [...sparticuz.args.filter((argument) => !UNWANTED.test(argument)), ...ARGUMENTS, ...more];
  try {
    return await onceWritten(() => playwright.launch({ executablePath, args, headless: true }));
  } catch (error) {
    throw new Error(`Chromium cannot start, so the page cannot be tested. ${missingLibraries(executablePath)}`, {
      cause: error,
    });
  }
}

/** The first tests on a machine unpack Chromium side by side, and it cannot start while any of them still writes it. */
async function onceWritten<T>(start: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + WRITTEN_MAX_MS; ;) {
    try {
      return await start();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ETXTBSY' || performance.now() > deadline) throw error;
      await sleep(WRITTEN_PAUSE_MS);
    }
  }
}

function missingLibraries(executablePath: string): string {
  try {
    const listing = execFileSync('ldd', [executablePath], { encoding: 'utf8' });
    const missing = [...listing.matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1]!);
    if (missing.length === 0) return 'No shared library is missing; the cause below says more.';
    return `Missing shared libraries: ${missing.join(', ')} (Debian: apt-get install libnss3 libnspr4 libexpat1).`;
  } catch {
    return 'ldd could not list its shared libraries.';
  }
}
