import { eventLoopTurn } from '@heddle/base/turn';
import type { ProbeEnvironment, TcpOptions } from '../../options.ts';
import { EndpointFeed } from '../endpoint-feed.ts';
import type { PortReport, PortVerdict } from '../port-report.ts';
import { scopeId } from '../address-words.ts';
import { BannerStage } from './banner-stage.ts';
import { CookieKey } from './cookie.ts';
import { EACCES, EPERM } from '../libc.ts';
import { READY, Slots, WAITING } from './slots.ts';
import { TryTimeouts } from './try-timeouts.ts';
import { unreachableReason } from './unreachable.ts';
import type { Answer, SendFaults, Wire } from './wire.ts';

/** How long the loop runs before it yields to the rest of the process. */
const TURN_MS = 4;
/** How long it sleeps while there is nothing to send or receive. */
const IDLE_MS = 1;
const BATCH = 4096;
const REFUSALS_MAX = 64;
const OBSERVE_EVERY_MS = 50;

/** Number of slots: the packets of one second, within these limits. */
const SLOTS_MIN = 4096;
const SLOTS_MAX = 262_144;

/** What a scan needs of the sockets of one family. */
export type SynWire = Pick<Wire, 'full' | 'queued' | 'put' | 'flush' | 'receive' | 'close'>;

/** Maximum attempts that the source port can distinguish. */
const TRIES_MAX = 16;

export interface SynScanParts {
  options: TcpOptions;
  environment: ProbeEnvironment;
  /** Ends the scan for any reason. */
  signal: AbortSignal;
  report: PortReport;
  /** Opens the sockets of a family; throws if they are unavailable. The scan closes them. */
  openWire: (family: 4 | 6) => SynWire;
}

/**
 * Probes with single SYN packets. Each endpoint has a slot until it is settled; there are as many slots as packets
 * within a timeout at the pace's rate (4,096 to 262,144), which bounds memory together with two batches of 4,096
 * endpoints read ahead. A probe without an answer within its network's timeout is sent again, `retries` times; the
 * last attempt waits the whole timeout.
 */
export class SynScan {
  readonly #options: TcpOptions;
  readonly #environment: ProbeEnvironment;
  readonly #signal: AbortSignal;
  readonly #report: PortReport;
  readonly #openWire: (family: 4 | 6) => SynWire;
  readonly #wires: { 4?: SynWire; 6?: SynWire } = {};
  readonly #slots: Slots;
  readonly #slotMask: number;
  readonly #key: CookieKey;
  readonly #feed: EndpointFeed;
  readonly #banners: BannerStage;
  readonly #triesMax: number;
  readonly #timeouts: TryTimeouts;
  readonly #probe = { port: 0, attempt: 0, sequence: 0, scope: 0 };
  readonly #faults: SendFaults = {
    later: (slot) => this.#retransmit(slot),
    failed: (slot, errno) => this.#sendFailed(slot, errno),
  };
  readonly #take = (answer: Answer): void => this.#answered(answer);
  #now: number;
  #received = 0;
  #sentToResponsive = 0;
  #answeredByResponsive = 0;
  #observeAt = 0;

  constructor({ options, environment, signal, report, openWire }: SynScanParts) {
    this.#options = options;
    this.#environment = environment;
    this.#signal = signal;
    this.#report = report;
    this.#openWire = openWire;
    this.#triesMax = Math.min(TRIES_MAX, 1 + options.retries);
    this.#timeouts = new TryTimeouts(options.timeoutMs, this.#triesMax);
    const capacity = slotsFor(environment.pace.rate, options.timeoutMs, options.endpoints.size);
    this.#slots = new Slots(capacity, this.#triesMax, this.#timeouts.classesMs.length);
    this.#slotMask = this.#slots.capacity - 1;
    this.#key = new CookieKey(environment.random.bytes(8));
    this.#feed = new EndpointFeed(options.endpoints, signal, BATCH, () => undefined);
    this.#banners = new BannerStage(environment, report, options);
    this.#now = environment.clock.monotonic();
  }

  /** Resolves when every endpoint is settled or the signal aborts; no socket is open then. */
  async run(): Promise<void> {
    const { clock } = this.#environment;
    const abandon = (): void => this.#banners.abandon();
    this.#signal.addEventListener('abort', abandon, { once: true });
    try {
      while (!this.#signal.aborted && !this.#finished) {
        const until = clock.monotonic() + TURN_MS;
        let busy = true;
        while (busy && this.#now < until) busy = this.#pass();
        this.#report.progress(this.#now);
        if (busy) await eventLoopTurn();
        else await clock.sleep(IDLE_MS, this.#signal);
        this.#now = clock.monotonic();
      }
      this.#observe();
      this.#report.progress(this.#now, true);
    } finally {
      this.#signal.removeEventListener('abort', abandon);
      abandon();
      this.#wires[4]?.close();
      this.#wires[6]?.close();
    }
  }

  get #finished(): boolean {
    return this.#slots.used === 0 && this.#feed.ended && this.#banners.idle;
  }

  /** Sends a batch and reads what arrived; returns whether there was anything to do. */
  #pass(): boolean {
    this.#now = this.#environment.clock.monotonic();
    const sent = this.#send();
    this.#now = this.#environment.clock.monotonic();
    const drained = this.#receive();
    // Nothing expires while its answer may be unread.
    if (drained) this.#expire();
    if (this.#options.banner) this.#banners.advance(this.#now);
    if (this.#now >= this.#observeAt) this.#observe();
    return sent > 0 || this.#received > 0;
  }

  #send(): number {
    const { pace } = this.#environment;
    if (this.#report.full || this.#banners.full) return 0;
    let remaining = pace.available(256);
    let refusals = 0;
    for (let left = Math.min(REFUSALS_MAX * 4, this.#slots.lengthOf(READY)); left > 0 && remaining > 0; left--) {
      if (refusals >= REFUSALS_MAX || this.#batchFull) break;
      if (this.#put(this.#slots.first(READY))) remaining -= 1;
      else refusals += 1;
    }
    refusals = 0;
    while (remaining > 0 && refusals < REFUSALS_MAX && !this.#slots.full && !this.#batchFull) {
      const endpoint = this.#feed.take();
      if (endpoint === undefined) break;
      if (this.#put(this.#slots.take(endpoint))) remaining -= 1;
      else refusals += 1;
    }
    return this.#flush();
  }

  get #batchFull(): boolean {
    return this.#wires[4]?.full === true || this.#wires[6]?.full === true;
  }

  #flush(): number {
    let sent = 0;
    for (const wire of [this.#wires[4], this.#wires[6]]) {
      if (wire !== undefined && wire.queued > 0) sent += wire.flush(this.#faults);
    }
    this.#report.sent(sent);
    return sent;
  }

  /** Adds the packet of a slot to the batch of its family; returns false if the pace refused it. */
  #put(slot: number): boolean {
    const endpoint = this.#slots.endpoints[slot]!;
    if (this.#environment.pace.take(endpoint.ip) > 0) {
      this.#slots.append(slot, READY);
      return false;
    }
    const { words, ports, tries } = this.#slots;
    const wire = this.#wire(endpoint.family);
    const at = 4 * slot;
    const probe = this.#probe;
    probe.port = ports[slot]!;
    probe.attempt = tries[slot]!;
    probe.sequence = this.#sequence(slot, words, at, probe.port);
    probe.scope = endpoint.family === 6 ? scopeId(endpoint.ip) : 0;
    if (!wire.put(slot, words, at, probe)) {
      this.#report.notice('no-route', 'there is no route to some of the targets');
      this.#settle(slot, { state: 'filtered', reason: 'net-unreachable', rtt_ms: null });
      return true;
    }
    this.#slots.addTry(slot, this.#now);
    this.#slots.append(slot, WAITING + this.#timeouts.classOf(words, at, endpoint.family, probe.attempt));
    return true;
  }

  #wire(family: 4 | 6): SynWire {
    return (this.#wires[family] ??= this.#openWire(family));
  }

  /** Returns the keyed hash of the target, combined with the slot's number in its lowest bits. */
  #sequence(slot: number, words: Uint32Array, at: number, port: number): number {
    return (this.#key.hash(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!, port) ^ slot) >>> 0;
  }

  /** Reads one batch of each family; returns whether nothing is left to read. */
  #receive(): boolean {
    this.#received = 0;
    let drained = true;
    for (const wire of [this.#wires[4], this.#wires[6]]) {
      if (wire?.receive(this.#take) === true) drained = false;
    }
    return drained;
  }

  #answered(answer: Answer): void {
    this.#received += 1;
    const { words, port, sequence } = answer;
    const hash = this.#key.hash(words[0]!, words[1]!, words[2]!, words[3]!, port);
    const slot = (hash ^ sequence) >>> 0;
    // Anything but a slot's number is a forgery; a slot with another endpoint was already answered.
    if (slot > this.#slotMask || !this.#slots.holds(slot, words[0]!, words[1]!, words[2]!, words[3]!, port)) return;
    if (answer.attempt >= this.#slots.tries[slot]!) return;
    const rtt_ms = Math.max(0, this.#now - this.#slots.sentAt(slot, answer.attempt));
    const { family } = this.#slots.endpoints[slot]!;
    if (answer.type !== 'unreachable') {
      this.#timeouts.observe(words, 0, family, rtt_ms);
      this.#sentToResponsive += answer.attempt + 1;
      this.#answeredByResponsive += 1;
    }
    if (answer.type === 'syn-ack') this.#open(slot, rtt_ms);
    else if (answer.type === 'rst') this.#settle(slot, { state: 'closed', reason: 'rst', rtt_ms });
    else {
      const reason = unreachableReason(family, answer.code);
      this.#settle(slot, { state: 'filtered', reason, rtt_ms });
    }
  }

  #open(slot: number, rtt_ms: number): void {
    if (!this.#options.banner) {
      this.#settle(slot, { state: 'open', reason: 'syn-ack', rtt_ms });
      return;
    }
    this.#banners.add({ endpoint: this.#slots.endpoints[slot]!, rtt_ms });
    this.#slots.free(slot);
  }

  #expire(): void {
    const { classesMs } = this.#timeouts;
    for (let index = 0; index < classesMs.length; index++)
      this.#expireUntil(WAITING + index, this.#now - classesMs[index]!);
  }

  /** In each list, slots are in order of sending. */
  #expireUntil(place: number, sentUntil: number): void {
    const slots = this.#slots;
    for (let slot = slots.first(place); slot >= 0; slot = slots.first(place)) {
      const tries = slots.tries[slot]!;
      if (slots.sentAt(slot, tries - 1) > sentUntil) return;
      if (tries < this.#triesMax) slots.append(slot, READY);
      else this.#settle(slot, { state: 'filtered', reason: 'no-response', rtt_ms: null });
    }
  }

  #settle(slot: number, verdict: PortVerdict): void {
    this.#report.settle(this.#slots.endpoints[slot]!, 'syn', verdict);
    this.#slots.free(slot);
  }

  /** The system did not accept the packet: this was no attempt. */
  #retransmit(slot: number): void {
    this.#slots.tries[slot]! -= 1;
    this.#slots.append(slot, READY);
  }

  #sendFailed(slot: number, errno: number): void {
    const held = errno === EPERM || errno === EACCES;
    const reason = held ? 'not-permitted' : 'net-unreachable';
    const notice = held
      ? 'a packet filter on this machine blocks packets to some targets'
      : `some packets could not be sent (errno ${errno})`;
    this.#report.notice(reason, notice);
    this.#settle(slot, { state: 'filtered', reason, rtt_ms: null });
  }

  /** Only ports that answered reveal loss, by the packets they needed; silence need not be loss. */
  #observe(): void {
    this.#observeAt = this.#now + OBSERVE_EVERY_MS;
    if (this.#answeredByResponsive === 0) return;
    this.#environment.pace.observe(this.#sentToResponsive, this.#answeredByResponsive);
    this.#sentToResponsive = 0;
    this.#answeredByResponsive = 0;
  }
}

/** Returns a power of two, so that a slot's number is the lowest bits of a word. */
function slotsFor(rate: number, timeoutMs: number, endpoints: number): number {
  const needed = Math.min(Math.max(SLOTS_MIN, (rate * timeoutMs * 1.25) / 1000), SLOTS_MAX, Math.max(1, endpoints));
  return 2 ** Math.ceil(Math.log2(needed));
}
