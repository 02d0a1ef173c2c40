import { ONE_BYTES_MAX } from '../../store/upstream.ts';

const SHOWN_MAX = 5;

/**
 * Builds the message for expressions that read more than allowed, with the sizes and the remedy.
 *
 * @param sizes bytes by name, as far as counted
 */
export function excessReason(sizes: Readonly<Record<string, number>>): string {
  const largest = Object.entries(sizes).sort(([, a], [, b]) => b - a);
  const shown = largest.slice(0, SHOWN_MAX).map(([name, bytes]) => `${name} (${bytes} bytes)`);
  const more = largest.length > SHOWN_MAX ? ` and ${largest.length - SHOWN_MAX} more` : '';
  return (
    `what it reads is too large: ${shown.join(', ')}${more}; at most ${ONE_BYTES_MAX} bytes are allowed at ` +
    'once; store less, or use a generator or an aggregator, which reads results page by page'
  );
}
