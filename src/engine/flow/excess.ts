import { ONE_BYTES_MAX } from '../../store/upstream.ts';

const SHOWN_MAX = 5;

/**
 * That expressions read more than is allowed, which sizes it comes to, and what to do about it.
 *
 * @param sizes bytes by name, as far as they were counted
 */
export function excessReason(sizes: Readonly<Record<string, number>>): string {
  const largest = Object.entries(sizes).sort(([, a], [, b]) => b - a);
  const shown = largest.slice(0, SHOWN_MAX).map(([name, bytes]) => `${name} (${bytes} bytes)`);
  const more = largest.length > SHOWN_MAX ? ` and ${largest.length - SHOWN_MAX} more` : '';
  return (
    `what it reads is too large: ${shown.join(', ')}${more}, where ${ONE_BYTES_MAX} bytes are allowed at ` +
    'once; have less left behind, or use a generator or an aggregator, which reads results page by page'
  );
}
