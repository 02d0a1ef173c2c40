import type { Measurement } from './results.ts';
import type { SubjectName } from './registry.ts';
import type { SubjectClient } from './subject-client.ts';

/** One line of a comparison: usually a subject, sometimes one subject in two configurations. */
export interface Participant {
  /** The subject's name in the results. */
  label: string;
  subject: SubjectName;
  /** The directory of the bench of another version of Heddle, whose subject runs; by default this one. */
  directory?: string;
  /** Warms up the process; not measured. */
  warmUp(subject: SubjectClient): Promise<void>;
  round(subject: SubjectClient): Promise<Measurement[]>;
}

/** Participants that alternate, round after round. */
export interface Scenario {
  /** The benches that its rounds measure: it runs if one of them is requested. */
  benches: readonly string[];
  rounds: number;
  participants: readonly Participant[];
}

/** Participants that differ only in the subject. */
export function each(subjects: readonly SubjectName[], steps: Pick<Participant, 'warmUp' | 'round'>): Participant[] {
  return subjects.map((subject) => ({ label: subject, subject, ...steps }));
}
