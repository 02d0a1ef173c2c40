import { HeddleError } from '@heddle/base/errors';
import { systemRandom } from '@heddle/base/random';
import { systemClock } from '@heddle/base/clock';
import { CommandFailure } from '@heddle/base/terminal/failure';
import { refused, systemFault, unwritable } from '@heddle/base/terminal/refusal';
import { untilInterrupted } from '@heddle/base/terminal/signals';
import { errorOf } from '@heddle/base/thrown';
import { RECON_DEFAULTS, type ProbeEnvironment, type ProbeProgress } from '../options.ts';
import type { ReconRecord } from '../records.ts';
import { endpoints } from '../targets/endpoints.ts';
import { createPace } from '../targets/pace.ts';
import type { EndpointSource } from '../targets/port.ts';
import { countWords, hostRateNotice, planOf } from './plan.ts';
import { dnsRecords, tcpRecords, tlsRecords } from './probes.ts';
import { RecordWriter } from './record-writer.ts';
import type { ReconRequest } from './options.ts';
import { RECON_EXIT, type ReconExit, type ReconTerminal } from './request.ts';
import { resolveTargets, type ResolvedTargets } from './resolve-targets.ts';

/** Refused targets and names without an address that are listed one by one. */
const NOTICES_MAX = 20;
const SEEDS = 2 ** 32;

/** `heddle recon`: from the command line to the exit code. */
export async function runRecon(request: ReconRequest, terminal: ReconTerminal): Promise<ReconExit> {
  try {
    return await untilInterrupted<ReconExit>((interrupted) => recon(request, terminal, interrupted));
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    if (error instanceof HeddleError) throw refused(withDetails(error), error);
    throw Object.assign(errorOf(error), { exitCode: RECON_EXIT.error });
  } finally {
    terminal.stopProgress();
  }
}

/** The details say what to do; some messages consist of nothing else. */
function withDetails({ message, details }: HeddleError): string {
  return [message, ...details.filter((detail) => !message.includes(detail))].join('\n  ');
}

async function recon(request: ReconRequest, terminal: ReconTerminal, interrupted: AbortSignal): Promise<ReconExit> {
  requireStateless(request);
  const aims = resolveTargets(request);
  const notices = new NoticeLimiter(terminal.notice);
  for (const { target, hosts, reason } of aims.refused) {
    notices.add(hosts === 1n ? `refused: ${reason}` : `refused: ${target} (${hosts} addresses): ${reason}`);
  }
  const seed = request.seed ?? Math.floor(systemRandom.next() * SEEDS);
  const words = request.probe === 'dns' ? await wordsIn(request.wordlist) : 0;
  if (request.dryRun) {
    notices.end();
    await terminal.print(terminal.plan(planOf(request, aims, seed, words)));
    return exitOf(aims, aims.targets.size, false);
  }
  if (aims.targets.size === 0) {
    notices.end();
    if (aims.refusedHosts === 0n)
      terminal.notice('nothing is left to probe: the lists are empty, or everything in them is excluded');
    return exitOf(aims, 0, false);
  }
  const limit = request.quiet ? null : hostRateNotice(request, aims);
  if (limit !== null) notices.add(limit);
  const run = new Run(request, terminal, notices, interrupted);
  return run.start(aims, { seed, words });
}

/** Lines in the style of naabu stand for open ports: closed ones would read as open. */
function requireStateless(request: ReconRequest): void {
  if (request.probe !== 'tcp' || !request.allStates || request.jsonStyle !== 'projectdiscovery') return;
  throw refused('--json-style projectdiscovery has no member for the state of a port; remove --all-states');
}

async function wordsIn(path: string | null): Promise<number | null> {
  try {
    return await countWords(path);
  } catch (error) {
    throw refused(`--wordlist ${path ?? ''}: ${systemFault(error)}`, error);
  }
}

/** One running probe, with the reasons to end it early. */
class Run {
  readonly #request: ReconRequest;
  readonly #terminal: ReconTerminal;
  readonly #notices: NoticeLimiter;
  readonly #abort = new AbortController();
  readonly #startedAt = systemClock.monotonic();
  #ending: 'interrupted' | 'closed' | 'failed' | null = null;
  #failure: unknown = null;
  #progress: ProbeProgress = { done: 0, total: 0, sent: 0, found: 0 };
  /** Endpoints passed to the probe. */
  #given = 0;
  /** Targets that turned out to be refused, or to have no address. */
  #refused = 0;
  #unresolved = 0;

  constructor(request: ReconRequest, terminal: ReconTerminal, notices: NoticeLimiter, interrupted: AbortSignal) {
    this.#request = request;
    this.#terminal = terminal;
    this.#notices = notices;
    if (interrupted.aborted) this.#end('interrupted');
    else interrupted.addEventListener('abort', () => this.#end('interrupted'), { once: true });
    terminal.onClosed((error) => {
      if (error.code !== 'EPIPE') this.#failure = unwritable(error);
      this.#end(error.code === 'EPIPE' ? 'closed' : 'failed');
    });
  }

  async start(aims: ResolvedTargets, drawn: { seed: number; words: number | null }): Promise<ReconExit> {
    const environment = this.#environment();
    const source = this.#request.probe === 'dns' ? null : await this.#endpoints(aims, drawn.seed);
    try {
      const records = await this.#records(aims, drawn, source, environment);
      await this.#write(records);
    } catch (error) {
      if (this.#ending === null) throw error;
    } finally {
      source?.close();
    }
    this.#terminal.stopProgress();
    this.#notices.end();
    if (this.#ending === 'failed') throw this.#failure;
    return this.#conclude(aims, drawn.seed);
  }

  #environment(): ProbeEnvironment {
    const { rate, hostRate } = this.#request;
    return {
      clock: systemClock,
      random: systemRandom,
      signal: this.#abort.signal,
      pace: createPace({ clock: systemClock, rate, hostRate }),
      onProgress: (progress) => {
        this.#progress = progress;
        this.#terminal.progress(progress);
      },
      onNotice: (notice) => this.#notices.add(notice),
    };
  }

  #records(
    aims: ResolvedTargets,
    drawn: { seed: number; words: number | null },
    source: EndpointSource | null,
    environment: ProbeEnvironment,
  ): Promise<AsyncIterable<ReconRecord>> {
    switch (this.#request.probe) {
      case 'tcp':
        return tcpRecords(this.#request, source!, environment);
      case 'tls':
        return tlsRecords(this.#request, source!, environment);
      case 'dns':
        this.#given = aims.targets.size;
        return dnsRecords(this.#request, { ...aims, ...drawn }, environment);
    }
  }

  /**
   * Endpoints also count targets that are dropped later; names are looked up by one set of sockets, which is closed at
   * the end.
   */
  async #endpoints(aims: ResolvedTargets, seed: number): Promise<EndpointSource & { close: () => void }> {
    const { openResolver } = await import('../resolve.ts');
    const resolver = openResolver({
      resolvers: this.#request.resolvers,
      timeoutMs: RECON_DEFAULTS.dnsTimeoutMs,
      clock: systemClock,
      random: systemRandom,
      signal: this.#abort.signal,
    });
    const source = endpoints({
      targets: aims.targets,
      ports: aims.ports,
      seed,
      scope: aims.scope,
      allAddresses: 'allAddresses' in this.#request && this.#request.allAddresses,
      resolve: (name) => resolver.resolve(name),
      onRefused: (_host, reason) => {
        this.#refused += 1;
        this.#notices.add(`refused: ${reason}`);
      },
      onUnresolved: (name, reason) => {
        this.#unresolved += 1;
        this.#notices.add(`not probed: ${name} ${reason}`);
      },
    });
    return {
      size: source.size,
      next: async (max, signal) => {
        const batch = await source.next(max, signal);
        this.#given += batch.length;
        return batch;
      },
      close: () => resolver.close(),
    };
  }

  async #write(records: AsyncIterable<ReconRecord>): Promise<void> {
    const writer = new RecordWriter((text) => this.#terminal.print(text));
    try {
      for await (const record of records) {
        const full = writer.write(this.#terminal.render(record));
        if (full !== undefined) await full;
        if (this.#abort.signal.aborted) break;
      }
    } finally {
      writer.flush();
    }
  }

  #conclude(aims: ResolvedTargets, seed: number): ReconExit {
    const { done, sent, found } = this.#progress;
    if (this.#ending === 'interrupted') {
      this.#terminal.notice(
        `Interrupted after ${done} of ${this.#progress.total}; --seed ${seed} gives the same order.`,
      );
      return RECON_EXIT.interrupted;
    }
    if (this.#ending === 'closed') return RECON_EXIT.incomplete;
    if (!this.#request.quiet) {
      const [what, packets, hits] = WORDS[this.#request.probe];
      const secs = ((systemClock.monotonic() - this.#startedAt) / 1000).toFixed(1);
      this.#terminal.notice(`${what(done)} in ${secs} s: ${hits(found)}, ${packets(sent)}`);
    }
    return exitOf({ refusedHosts: aims.refusedHosts + BigInt(this.#refused) }, this.#given, this.#unresolved > 0);
  }

  #end(ending: 'interrupted' | 'closed' | 'failed'): void {
    this.#ending ??= ending;
    this.#abort.abort();
  }
}

const counted =
  (one: string, several = `${one}s`) =>
  (count: number): string =>
    `${count} ${count === 1 ? one : several}`;

const WORDS = {
  tcp: [counted('port'), counted('packet'), counted('open', 'open')],
  dns: [counted('name'), counted('query', 'queries'), counted('answer')],
  tls: [counted('endpoint'), counted('connection'), counted('handshake')],
} as const;

function exitOf(
  { refusedHosts }: Pick<ResolvedTargets, 'refusedHosts'>,
  given: number,
  unresolved: boolean,
): ReconExit {
  if (refusedHosts > 0n && given === 0 && !unresolved) return RECON_EXIT.error;
  return refusedHosts > 0n || unresolved ? RECON_EXIT.incomplete : RECON_EXIT.done;
}

/** Prints notices: the first ones one by one, then the number of the rest. */
class NoticeLimiter {
  readonly #notice: (text: string) => void;
  #count = 0;

  constructor(notice: (text: string) => void) {
    this.#notice = notice;
  }

  add(text: string): void {
    this.#count += 1;
    if (this.#count <= NOTICES_MAX) this.#notice(text);
  }

  end(): void {
    if (this.#count > NOTICES_MAX) this.#notice(`and ${this.#count - NOTICES_MAX} more of these`);
    this.#count = 0;
  }
}
