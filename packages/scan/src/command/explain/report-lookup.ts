import { refused } from '@heddle/base/terminal/refusal';
import { readNamed } from '../known.ts';

/** Returns the path of a finding, by its fingerprint, from a report in JSON lines or a baseline. */
export function findInReport(file: string, fingerprint: string): { path: string } {
  const text = readNamed('--from-report', file);
  for (const value of valuesIn(text)) {
    const { fingerprint: own, path } = value;
    if (own === fingerprint && typeof path === 'string') return { path };
  }
  throw refused(
    `--from-report ${file}: has no finding ${fingerprint}; it must be a report of \`heddle scan --json\`, or a baseline`,
  );
}

/** A baseline has a finding on each line too, once the comma after it is left out. */
function* valuesIn(text: string): Generator<Record<string, unknown>> {
  for (const line of text.split('\n')) {
    try {
      const value: unknown = JSON.parse(line.trim().replace(/,$/, ''));
      if (typeof value === 'object' && value !== null) yield value as Record<string, unknown>;
    } catch {
      // The other lines of a baseline.
    }
  }
}
