import { createPeerSubject } from '../src/remote-execution/peer-subject.ts';
import type { Subject } from '../src/subject.ts';

export function createSubject(): Subject {
  return createPeerSubject('fresh-node');
}
