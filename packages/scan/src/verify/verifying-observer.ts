import { Permits } from '@heddle/base/permits';
import { errorOf } from '@heddle/base/thrown';
import type { ScanObserver } from '../coordinator/observer.ts';
import type { DetectedFinding, Finding, Problem, ScanProgress } from '../result.ts';
import type { Verifier } from './verifier.ts';

/** Findings and problems that wait for an earlier verdict, at most. */
const WAITING_MAX = 256;

/** Passes findings on with their verdicts, in their order; several are verified at the same time. */
export class VerifyingObserver implements ScanObserver {
  readonly #inner: ScanObserver;
  readonly #verifier: Verifier;
  readonly #room = new Permits(WAITING_MAX);
  #last: Promise<void> = Promise.resolve();
  #failure: { error: unknown } | null = null;

  constructor(inner: ScanObserver, verifier: Verifier) {
    this.#inner = inner;
    this.#verifier = verifier;
  }

  accepts(finding: Finding): boolean {
    return this.#inner.accepts?.(finding) !== false;
  }

  onFinding({ companions, ...finding }: DetectedFinding): void | Promise<void> {
    const verification = this.#verifier.verify({ ...finding, ...(companions === undefined ? {} : { companions }) });
    // After a failure it is no longer awaited.
    verification.catch(() => undefined);
    return this.#append(async () => this.#inner.onFinding({ ...finding, verification: await verification }));
  }

  onProblem(problem: Problem): void | Promise<void> {
    return this.#append(async () => this.#inner.onProblem(problem));
  }

  onProgress(progress: ScanProgress): void {
    this.#inner.onProgress?.({ ...progress, verifying: this.#waiting });
  }

  /** Resolves once everything was passed on. Rejects with an error of the observer. */
  async settle(): Promise<void> {
    await this.#last;
    if (this.#failure !== null) throw errorOf(this.#failure.error);
    await this.#inner.settle?.();
  }

  get #waiting(): number {
    return this.#room.total - this.#room.free;
  }

  /** Returns a promise if no more may be appended for now. */
  #append(deliver: () => Promise<void>): void | Promise<void> {
    if (this.#failure !== null) throw errorOf(this.#failure.error);
    const permit = this.#room.tryAcquire();
    // Deliveries happen one after the other, so the first waiting one makes room.
    if (permit === null) return this.#room.acquire().then((granted) => this.#chain(deliver, granted));
    this.#chain(deliver, permit);
    return undefined;
  }

  #chain(deliver: () => Promise<void>, permit: Disposable): void {
    this.#last = this.#last.then(async () => {
      using _permit = permit;
      if (this.#failure !== null) return;
      try {
        await deliver();
      } catch (error) {
        this.#failure = { error };
      }
    });
  }
}
