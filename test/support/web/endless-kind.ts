import { defineKind } from '@heddle/kit';

/** Runs until it is canceled. */
export default defineKind({
  name: 'Endless',
  run: (_input, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
});
