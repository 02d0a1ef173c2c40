import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';

import { defineEvent } from '@heddle/kit/event';

/** Returns the error code of an attempt; null if it succeeded. */
function codeOf(attempt: () => unknown): string | null {
  try {
    attempt();
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

export default [
  defineEvent({ name: 'files.list', run: (args) => readdirSync(args['path'] as string).sort() }),
  defineEvent({
    name: 'files.fill',
    run: () => {
      const block = Buffer.alloc(1024 * 1024, 1);
      const write = (path: string): string | null =>
        codeOf(() => {
          const descriptor = openSync(path, 'w');
          try {
            for (let count = 0; count < 64; count += 1) writeSync(descriptor, block);
          } finally {
            closeSync(descriptor);
          }
        });
      return { first: write('one'), second: write('two') };
    },
  }),
  defineEvent({
    name: 'files.fill-shared',
    run: (args) =>
      (args['paths'] as string[]).map((directory) => {
        const path = `${directory}/${args['name'] as string}`;
        const block = Buffer.alloc(1024 * 1024, 1);
        let written = 0;
        // Several files, each with its own limit.
        const code = codeOf(() => {
          for (; written < 64; written += 1) writeFileSync(`${path}-${written}`, block);
        });
        return { code, written };
      }),
  }),
  defineEvent({
    name: 'files.descriptors',
    run: () => {
      let opened = 0;
      const code = codeOf(() => {
        for (; opened < 100_000; opened += 1) openSync('/dev/null', 'r');
      });
      return { code, few: opened < 1_000 };
    },
  }),
  defineEvent({
    name: 'files.links',
    run: () => {
      mkdirSync('deep/er', { recursive: true });
      for (const target of ['/', '/proc/1/root', '/etc/passwd', '/event', '/dev']) {
        symlinkSync(target, `deep/er/link-${target.replaceAll('/', '_')}`);
      }
      writeFileSync('deep/file', 'left over');
      return readdirSync('deep/er').length;
    },
  }),
  defineEvent({
    name: 'files.write-outside',
    run: (args) => {
      const paths = ['/escaped', '/etc/escaped', '/dev/escaped', '/usr/escaped', '/heddle/escaped', '/event/escaped'];
      const own = args['paths'] as string[];
      return [...paths, ...own].filter((path) => codeOf(() => writeFileSync(path, 'x')) === null);
    },
  }),
  defineEvent({
    name: 'files.read-outside',
    run: (args) => {
      const paths = ['/etc/shadow', '/root', '/proc/1/mem', '/proc/kcore', '/dev/mem', '/proc/sysrq-trigger'];
      const read = (path: string): string | null => codeOf(() => readFileSync(path).subarray(0, 1));
      return [...paths, ...(args['paths'] as string[])].filter((path) => read(path) === null);
    },
  }),
  defineEvent({
    name: 'files.environment',
    run: () => ({
      names: Object.keys(process.env).sort(),
      first: existsSync('/proc/1/environ')
        ? (codeOf(() => readFileSync('/proc/1/environ')) ?? namesIn('/proc/1/environ'))
        : null,
      parent: codeOf(() => readFileSync(`/proc/${process.ppid}/environ`)),
    }),
  }),
  defineEvent({
    name: 'files.descriptors-inherited',
    run: () =>
      readdirSync('/proc/self/fd')
        .map((name) => {
          try {
            return readlinkSync(`/proc/self/fd/${name}`);
          } catch {
            return '';
          }
        })
        .filter((target) => target.startsWith('/') && !target.startsWith('/dev/') && !target.startsWith('/proc/')),
  }),
];

function namesIn(path: string): string[] {
  const entries = readFileSync(path, 'utf8').split('\0').filter(Boolean);
  return entries.map((entry) => entry.slice(0, entry.indexOf('='))).sort();
}
