import type { RemoteInfo } from 'node:dgram';

import { HeddleError } from '@heddle/base/errors';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { onNextTurn } from '@heddle/base/turn';
import type { DnsType } from '../records.ts';
import type { Pace } from '../targets/port.ts';
import type { DecodedResponse } from './decode.ts';
import { Matching, type Strays } from './matching.ts';
import { AnswerRate } from './answer-rate.ts';
import { messageIdOf, Reservations } from './reservations.ts';
import type { Resolver } from './resolver.ts';
import { ResolverSet } from './resolver-set.ts';
import { ATTEMPTS_MAX, Slots, type Settle } from './slots.ts';
import { TcpConnections } from './tcp-connections.ts';
import { Ticker } from './ticker.ts';
import { TimingWheel } from './timing-wheel.ts';
import { UdpSockets } from './udp-sockets.ts';
import { isFormatError, isResponse, judgeResponse, MALFORMED, type Verdict } from './verdict.ts';

export interface ExchangeOptions {
  /** `ip` or `ip:port`; empty: the system's resolvers. */
  readonly resolvers: readonly string[];
  readonly retries: number;
  readonly timeoutMs: number;
  readonly inFlight: number;
}

export interface ExchangeEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly pace: Pace;
  readonly onNotice?: ((notice: string) => void) | undefined;
}

/** How a response arrived. */
interface ResponseInfo {
  tcp: boolean;
  rttMs: number;
  /** Whether it answers the current attempt. */
  current: boolean;
}

const SLOTS_MAX = 32_768;
/** Packets sent before received ones are processed. */
const BATCH = 128;
/** Questions that may be accepted in one round without sending any. */
const FEEDS_MAX = 1024;

/**
 * Sends questions and settles each exactly once. Sending is limited by the slots, each resolver's window, and the
 * pace. `feed` is called if a question could be sent and none waits; it asks at least one, or returns false.
 */
export class Exchange {
  readonly #environment: ExchangeEnvironment;
  readonly #timeoutMs: number;
  readonly #attemptsMax: number;
  readonly #resolvers: ResolverSet;
  readonly #slots: Slots;
  readonly #wheel: TimingWheel;
  readonly #udp: UdpSockets;
  readonly #matching: Matching;
  readonly #ticker: Ticker;
  readonly #tcp: TcpConnections;
  readonly #reservations: Reservations;
  readonly #answerRate: AnswerRate;
  /** Whether the slot's question uses TCP. */
  readonly #overTcp: Uint8Array;
  readonly #tcpResolver: Uint16Array;
  readonly #feed: () => boolean;

  sent = 0;
  #open = 0;
  #received = 0;
  #pumping = false;
  #closed = false;
  #cancelWake: (() => void) | null = null;

  constructor(options: ExchangeOptions, environment: ExchangeEnvironment, feed: () => boolean) {
    const slots = Math.max(1, Math.min(options.inFlight, SLOTS_MAX));
    this.#environment = environment;
    this.#timeoutMs = options.timeoutMs;
    this.#attemptsMax = Math.min(options.retries + 1, ATTEMPTS_MAX);
    this.#resolvers = new ResolverSet(options.resolvers, options.timeoutMs, slots, environment.random);
    if (this.#resolvers.all.length === 0) {
      throw new HeddleError('VALIDATION_FAILED', 'No resolver is configured', {
        details: ['resolvers: name at least one'],
      });
    }
    this.#slots = new Slots(slots);
    this.#wheel = new TimingWheel(slots, environment.clock.monotonic());
    this.#udp = new UdpSockets(environment.random);
    this.#matching = new Matching(this.#slots, this.#resolvers, this.#udp);
    this.#ticker = new Ticker(
      environment.clock,
      () => this.#received,
      (nowMs) => this.#tick(nowMs),
    );
    this.#tcp = new TcpConnections({
      onMessage: (slot, resolver, message) => this.#receiveTcp(slot, resolver, message),
      onLost: (slot, resolver, progress) => this.#lostTcp(slot, resolver, progress),
    });
    this.#reservations = new Reservations(slots, this.#udp);
    this.#answerRate = new AnswerRate(environment.pace);
    this.#overTcp = new Uint8Array(slots);
    this.#tcpResolver = new Uint16Array(slots);
    this.#feed = feed;
  }

  /** Questions that are not settled. */
  get open(): number {
    return this.#open;
  }

  get strays(): Readonly<Strays> {
    return this.#matching.strays;
  }

  get free(): number {
    return this.#slots.free;
  }

  /** Binds the sockets; must precede any sending. */
  async start(): Promise<void> {
    const families = new Set(this.#resolvers.all.map(({ address }) => address.family));
    await this.#udp.open(families, (socket, message, source) => this.#receive(socket, message, source));
    this.wake();
  }

  /** Asks a question; requires a free slot. `name` is normalized. */
  ask(name: string, type: DnsType, settle: Settle): void {
    const slot = this.#slots.take(name, type, settle);
    this.#open += 1;
    this.#slots.enqueue(slot);
  }

  /** Schedules sending for the next turn of the event loop. */
  wake(): void {
    if (this.#pumping || this.#closed) return;
    this.#pumping = true;
    onNextTurn(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  /** Closes every socket and timer. Open questions are never settled. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ticker.stop();
    this.#cancelWake?.();
    this.#udp.close();
    this.#tcp.close();
  }

  #pump(): void {
    let sent = 0;
    for (let feeds = 0; sent < BATCH && feeds < FEEDS_MAX && !this.#closed;) {
      const slot = this.#slots.peek();
      if (slot === -1) {
        if (this.#slots.free === 0 || !this.#feed()) return;
        feeds += 1;
      } else if (this.#transmit(slot)) {
        sent += 1;
      } else {
        return;
      }
    }
    this.wake();
  }

  readonly #askedAlready = (index: number): boolean => this.#slots.lastAttemptAt(this.#slots.peek(), index) !== -1;

  /** Sends the first queued question; returns false if it has to wait. */
  #transmit(slot: number): boolean {
    const { clock, pace } = this.#environment;
    const now = clock.monotonic();
    let index: number;
    let resolver: Resolver;
    for (;;) {
      index = this.#resolvers.choose(now, this.#askedAlready);
      if (index === -1) {
        // A timer may fire slightly early: a resolver that is still paced is waited for again, since no answer may wake
        // it.
        const pacedMs = this.#resolvers.pacedMs(now);
        if (pacedMs > 0) this.#wakeAfter(pacedMs);
        return false;
      }
      resolver = this.#resolvers.all[index]!;
      const waitMs = pace.take(resolver.address.ip);
      if (waitMs <= 0) break;
      resolver.pacedUntil = now + waitMs;
      this.#wakeAfter(waitMs);
      if (pace.available(1) === 0) return false;
    }
    this.#slots.dequeue();
    const reserved = this.#reservations.for(slot, resolver);
    this.#slots.setId(slot, messageIdOf(reserved));
    this.#slots.setEdns(slot, resolver.edns);
    const attempt = this.#slots.addAttempt(slot, index, now);
    this.#resolvers.count(slot, index);
    this.sent += 1;
    // The last attempt waits for the full timeout, so that no answer is missed by impatience.
    const last = attempt + 1 >= this.#attemptsMax;
    this.#wheel.set(slot, now + (last ? this.#timeoutMs : resolver.timeoutMs(attempt)));
    this.#udp.send(reserved, this.#slots.message(slot), resolver.address, this.#refusal(resolver));
    this.#ticker.start();
    return true;
  }

  /** Checks send errors for the first few packets of each resolver, and reports them once. */
  #refusal(resolver: Resolver): ((error: Error) => void) | null {
    if (resolver.alive || resolver.refused || resolver.inFlight > 4) return null;
    return (error) => {
      if (resolver.refused) return;
      resolver.refused = true;
      this.#environment.onNotice?.(`cannot send to resolver ${resolver.text}: ${error.message}`);
    };
  }

  #wakeAfter(ms: number): void {
    if (this.#cancelWake !== null) return;
    this.#cancelWake = this.#environment.clock.after(Math.max(1, ms), () => {
      this.#cancelWake = null;
      this.wake();
    });
  }

  #receive(socket: number, message: Buffer, source: RemoteInfo): void {
    this.#received += 1;
    const slot = this.#matching.slotOf(socket, message, source);
    if (slot === -1) return;
    if (this.#overTcp[slot] === 1) this.#matching.strays.late += 1;
    else this.#answered(slot, this.#matching.attemptTo(slot, source), message);
  }

  #answered(slot: number, attempt: number, message: Buffer): void {
    const now = this.#environment.clock.monotonic();
    const index = this.#slots.resolverOf(slot, attempt);
    const resolver = this.#resolvers.all[index]!;
    const current = attempt === this.#slots.attempts[slot]! - 1;
    if (current) this.#resolvers.uncount(slot);
    this.#answerRate.noteAnswer(resolver, !(current && this.#slots.isSent(slot)));
    resolver.onAnswer(this.#slots.roundTripMs(slot, attempt, now), now);
    if (isFormatError(message) && resolver.edns && !resolver.ednsWorked) {
      resolver.edns = false;
      this.#slots.failure[slot] = 'FORMERR';
      this.#slots.failedBy[slot] = index;
      if (current) this.#retryOrFail(slot, true);
      return;
    }
    const verdict = judgeResponse(message, this.#slots.questionEnd[slot]!);
    if (verdict.kind === 'truncated') this.#startTcp(slot, index, now);
    else
      this.#conclude(slot, index, verdict, { tcp: false, rttMs: this.#slots.sinceSentMs(slot, attempt, now), current });
  }

  #conclude(slot: number, index: number, verdict: Verdict, how: ResponseInfo): void {
    const resolver = this.#resolvers.all[index]!;
    if (verdict.kind === 'usable') {
      if (resolver.edns) resolver.ednsWorked = true;
      this.#settle(slot, resolver.text, verdict.status, verdict.response, how);
      return;
    }
    resolver.onFailure();
    const status = verdict.kind === 'failed' ? verdict.status : 'MALFORMED';
    this.#slots.failure[slot] = status;
    this.#slots.failedBy[slot] = index;
    // A late failure is no evidence about the current attempt.
    if (!how.current) return;
    const others = this.#resolvers.all.some((_, other) => this.#slots.lastAttemptAt(slot, other) === -1);
    const passing =
      verdict.kind === 'failed' && verdict.passing && (status === 'MALFORMED' || this.#slots.attempts[slot]! < 2);
    this.#retryOrFail(slot, others || passing);
  }

  /** Retries a question if that is useful and allowed, else settles it with the last result. */
  #retryOrFail(slot: number, worthIt: boolean): void {
    this.#wheel.clear(slot);
    this.#overTcp[slot] = 0;
    if (worthIt && this.#slots.attempts[slot]! < this.#attemptsMax) {
      if (this.#slots.isSent(slot)) this.#slots.enqueue(slot);
      this.wake();
      return;
    }
    const failure = this.#slots.failure[slot] ?? null;
    const resolver = failure === null ? null : this.#resolvers.all[this.#slots.failedBy[slot]!]!.text;
    this.#settle(slot, resolver, failure ?? 'TIMEOUT', null, null);
  }

  #startTcp(slot: number, index: number, now: number): void {
    this.#resolvers.uncount(slot);
    this.#overTcp[slot] = 1;
    this.#tcpResolver[slot] = index;
    this.#slots.leaveLine(slot);
    this.#wheel.set(slot, now + this.#timeoutMs);
    const { address } = this.#resolvers.all[index]!;
    this.#tcp.ask(slot, this.#slots.message(slot), index, address);
  }

  #receiveTcp(slot: number, index: number, message: Buffer): void {
    const sentMs = this.#environment.clock.monotonic();
    const attempt = this.#slots.lastAttemptAt(slot, index);
    const rttMs = this.#slots.sinceSentMs(slot, attempt, sentMs);
    const mine = isResponse(message) && this.#matching.answersQuestion(slot, message);
    const verdict: Verdict = mine ? judgeResponse(message, this.#slots.questionEnd[slot]!) : MALFORMED;
    this.#conclude(slot, index, verdict, { tcp: true, rttMs, current: true });
  }

  #lostTcp(slot: number, index: number, progress: boolean): void {
    if (this.#closed || this.#overTcp[slot] !== 1) return;
    if (progress) this.#tcp.ask(slot, this.#slots.message(slot), index, this.#resolvers.all[index]!.address);
    else this.#retryOrFail(slot, true);
  }

  #tick(nowMs: number): boolean {
    this.#wheel.expire(nowMs, (slot) => this.#expire(slot, nowMs));
    this.#answerRate.report();
    return this.#wheel.size > 0;
  }

  #expire(slot: number, now: number): void {
    if (!this.#slots.isSent(slot) || this.#closed) return;
    if (this.#overTcp[slot] === 1) {
      this.#tcp.expire(slot, this.#tcpResolver[slot]!);
    } else {
      const attempt = this.#slots.attempts[slot]! - 1;
      const resolver = this.#resolvers.all[this.#slots.resolverOf(slot, attempt)]!;
      this.#resolvers.uncount(slot);
      this.#answerRate.noteTimeout(resolver);
      resolver.onTimeout(now, now - this.#slots.sinceSentMs(slot, attempt, now));
    }
    this.#retryOrFail(slot, true);
  }

  #settle(
    slot: number,
    resolver: string | null,
    status: string,
    response: DecodedResponse | null,
    how: ResponseInfo | null,
  ): void {
    const slots = this.#slots;
    const settle = slots.settle[slot]!;
    const outcome = {
      name: slots.name[slot]!,
      type: slots.type[slot]!,
      status,
      resolver,
      answers: response?.answers ?? {},
      ttl: response?.ttl ?? null,
      tcp: how?.tcp ?? false,
      rtt_ms: how === null ? null : how.rttMs,
    };
    this.#resolvers.uncount(slot);
    this.#wheel.clear(slot);
    this.#reservations.free(slot);
    this.#overTcp[slot] = 0;
    slots.release(slot);
    this.#open -= 1;
    settle(outcome);
    this.wake();
  }
}
