import type { Measurement } from './results.ts';
import type { SubjectName } from './registry.ts';
import type { SubjectClient } from './subject-client.ts';

/** One line of a comparison: usually a subject as it is, sometimes one subject in two situations. */
export interface Participant {
  /** The subject's name in the results. */
  label: string;
  subject: SubjectName;
  /** Brings the process up to speed; not measured. */
  warmUp(subject: SubjectClient): Promise<void>;
  round(subject: SubjectClient): Promise<Measurement[]>;
}

/** Participants that take turns, round after round. */
export interface Scenario {
  /** The benches that its rounds measure: it runs when one of them is wanted. */
  benches: readonly string[];
  rounds: number;
  participants: readonly Participant[];
}

/** Participants that differ in nothing but the subject. */
export function each(subjects: readonly SubjectName[], steps: Pick<Participant, 'warmUp' | 'round'>): Participant[] {
  return subjects.map((subject) => ({ label: subject, subject, ...steps }));
}
