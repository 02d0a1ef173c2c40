import type { Subject } from '../src/subject.ts';

export function createSubject(): Subject {
  throw new Error('the engine is not wired in yet');
}
