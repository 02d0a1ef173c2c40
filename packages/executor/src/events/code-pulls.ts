import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Permits } from '@heddle/base/permits';
import type { AuditLog } from '../audit/port.ts';
import { CodeFault } from './code-fault.ts';
import type { CodeLimits } from './code-limits.ts';
import type { CodeOrigin } from './code-origin.ts';
import type { CodeStore, StoredCode } from './code-store.ts';
import type { CodeWriter } from './code-writer.ts';
import { type CodeFinding, scanCode } from './scan/scan-code.ts';
import { SharedAttempts } from './shared-attempts.ts';
import { requireSignature } from './signature.ts';

/** Concurrent downloads; further ones wait. */
const PULLS_AT_ONCE = 4;
/** Findings listed in one audit entry. */
const FINDINGS_SHOWN = 20;

export interface CodePullsOptions {
  store: CodeStore;
  limits: CodeLimits;
  codeScan: 'off' | 'report' | 'refuse';
  clock: Clock;
  log: Logger;
  audit: Pick<AuditLog, 'append'>;
  onPull: (source: CodeOrigin['source']['kind']) => void;
}

/** Adds code to the store: fetches, verifies and scans it, and only then moves it into place. */
export class CodePulls {
  readonly #options: CodePullsOptions;
  readonly #attempts: SharedAttempts<StoredCode>;
  readonly #permits = new Permits(PULLS_AT_ONCE);
  readonly #closing = new AbortController();

  constructor(options: CodePullsOptions) {
    this.#options = options;
    this.#attempts = new SharedAttempts(options.clock);
  }

  /**
   * Fetches code; concurrent requests share one download.
   *
   * @param eventName recorded in the audit log
   * @throws AttemptFailure, or the signal's reason
   */
  pull(origin: CodeOrigin, eventName: string, signal: AbortSignal): Promise<StoredCode> {
    return this.#attempts.run(origin.key, () => this.#pull(origin, eventName), signal);
  }

  /** Returns code fetched by an earlier run of the executor; null if it is missing or no longer matches its pins. */
  async recover(origin: CodeOrigin, digest: string, eventName: string): Promise<StoredCode | null> {
    const { store, log } = this.#options;
    const code = await store.recover(digest, !origin.ephemeral);
    try {
      if (code === null) throw new CodeFault('its code in the store was changed');
      await this.#accept(origin, { ...code, eventName });
    } catch (error) {
      log.warn(
        { err: error, event_name: eventName, digest },
        `could not reuse stored code of ${origin.source.label}; fetching it again`,
      );
      return null;
    }
    origin.digest = digest;
    return code;
  }

  async close(): Promise<void> {
    this.#closing.abort(new CodeFault('the executor is stopping'));
    await this.#attempts.settled();
  }

  async #pull(origin: CodeOrigin, eventName: string): Promise<StoredCode> {
    const { store, limits, log, audit, onPull } = this.#options;
    using _permit = await this.#permits.acquire(this.#closing.signal);
    const writer = await store.incoming(limits);
    let code: StoredCode;
    try {
      await this.#fetch(origin, writer);
      const { directory } = writer;
      const digest = writer.digest();
      await this.#accept(origin, { digest, directory, files: writer.files.map(({ path }) => path), eventName });
      code = await store.adopt(writer, !origin.ephemeral);
    } catch (error) {
      await store.drop(writer);
      log.warn(
        { err: error, event_name: eventName, source: origin.source.kind },
        `could not fetch code from ${origin.source.label}`,
      );
      throw error;
    }
    origin.digest = code.digest;
    audit.append({ action: 'pulled', event_name: eventName, source: origin.source.kind, digest: code.digest });
    log.info({ event_name: eventName, digest: code.digest }, `fetched code from ${origin.source.label}`);
    if (origin.ephemeral) onPull(origin.source.kind);
    return code;
  }

  async #fetch({ source }: CodeOrigin, writer: CodeWriter): Promise<void> {
    const { clock, limits } = this.#options;
    const late = new AbortController();
    const cancel = clock.after(limits.pull_secs * 1_000, () => {
      late.abort(new CodeFault(`fetching it took longer than ${limits.pull_secs} seconds`));
    });
    try {
      await source.fetch(writer, AbortSignal.any([late.signal, this.#closing.signal]));
    } finally {
      cancel();
    }
  }

  async #accept(origin: CodeOrigin, code: StoredCode & { eventName: string }): Promise<void> {
    const { digest } = code;
    if (origin.sha256 !== null && origin.sha256 !== digest) {
      throw new CodeFault(`its code does not match the pinned sha256: it has ${digest}`);
    }
    if (origin.digest !== null && origin.digest !== digest) {
      throw new CodeFault('its code differs from the first fetch');
    }
    if (origin.signature !== null) requireSignature(digest, origin.signature);
    if (this.#options.codeScan !== 'off') await this.#scan(origin, code);
  }

  async #scan(origin: CodeOrigin, { digest, directory, files, eventName }: StoredCode & { eventName: string }) {
    const { codeScan, audit, log } = this.#options;
    const findings = await scanCode(directory, files);
    if (findings.length === 0) return;
    const shown = findings.slice(0, FINDINGS_SHOWN).map(findingText);
    const refused = codeScan === 'refuse';
    audit.append({
      action: 'code_findings',
      event_name: eventName,
      source: origin.source.kind,
      digest,
      refused,
      count: findings.length,
      findings: shown,
    });
    log.warn({ event_name: eventName, digest, findings: shown, count: findings.length }, 'code scan reported findings');
    if (refused)
      throw new CodeFault(`the code scan reported ${findings.length} findings: ${shown.slice(0, 3).join(', ')}`);
  }
}

function findingText({ rule, path, line }: CodeFinding): string {
  return line === 0 ? `${rule} ${path}` : `${rule} ${path}:${line}`;
}
