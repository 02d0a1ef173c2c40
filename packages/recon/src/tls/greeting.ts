import type { Endpoint } from '../targets/port.ts';
import { clientHello } from './client-hello.ts';
import type { Offer } from './client-hello.ts';
import { converse } from './conversation.ts';
import type { ConnectionOptions, Dialog } from './conversation.ts';
import type { TlsFault } from './fault.ts';
import { Flight } from './flight.ts';
import type { ProbeKeys } from './key-exchange.ts';
import type { SentChain } from './certificate-message.ts';
import type { ServerHello } from './server-hello.ts';
import { StartTlsDialog } from './starttls.ts';
import type { StartTlsProtocol } from './starttls.ts';

/** The result of one offer: what was learned, and the fault that limited it. */
export interface Greeting {
  readonly server_hello: ServerHello | null;
  readonly chain: SentChain | null;
  /** Undefined if it was not observed. */
  readonly alpn: string | null | undefined;
  readonly fault: TlsFault | null;
  /** From the ClientHello to the first bytes of the answer; null without one. */
  readonly rtt_ms: number | null;
}

export interface GreetingOptions extends ConnectionOptions {
  readonly offer: Offer;
  readonly goal: 'hello' | 'certificates';
  readonly starttls: StartTlsProtocol | null;
  readonly keys: ProbeKeys;
}

/**
 * Connects, sends one ClientHello (a second one if requested), reads the answer as far as needed, and closes.
 *
 * @throws the signal's reason
 */
export async function greet(endpoint: Endpoint, options: GreetingOptions): Promise<Greeting> {
  const dialog = new GreetingDialog(options);
  const fault = await converse(endpoint, dialog, options);
  return dialog.result(fault);
}

class GreetingDialog implements Dialog {
  readonly #options: GreetingOptions;
  readonly #hello: Buffer;
  readonly #flight: Flight;
  #prelude: StartTlsDialog | null = null;
  #askedAt = 0;
  #answeredAt: number | null = null;

  constructor(options: GreetingOptions) {
    this.#options = options;
    this.#hello = clientHello(options.offer);
    this.#flight = new Flight(options.goal, this.#hello, options.keys);
  }

  begin(localAddress: string): Uint8Array | null {
    const { starttls } = this.#options;
    if (starttls === null) return this.#ask();
    this.#prelude = new StartTlsDialog(starttls, localAddress);
    return null;
  }

  receive(bytes: Uint8Array): Uint8Array | 'done' | null {
    if (this.#prelude !== null) return this.#preludeStep(this.#prelude, bytes);
    this.#answeredAt ??= this.#options.clock.monotonic();
    const state = this.#flight.push(bytes);
    if (state === 'retry') return this.#sendSecondHello();
    return state === 'done' ? 'done' : null;
  }

  closed(): TlsFault {
    return this.#prelude?.closed() ?? this.#flight.closed();
  }

  result(fault: TlsFault | null): Greeting {
    const { server_hello, chain, alpn } = this.#flight;
    const rtt_ms = this.#answeredAt === null ? null : this.#answeredAt - this.#askedAt;
    return { server_hello, chain, alpn, fault, rtt_ms };
  }

  #preludeStep(prelude: StartTlsDialog, bytes: Uint8Array): Uint8Array | null {
    const step = prelude.receive(bytes);
    if (step !== 'tls') return step;
    this.#prelude = null;
    return this.#ask();
  }

  #ask(): Uint8Array {
    this.#askedAt = this.#options.clock.monotonic();
    return this.#hello;
  }

  #sendSecondHello(): Uint8Array {
    const { offer, keys } = this.#options;
    const { group, cookie } = this.#flight.server_hello!;
    const key_share = group === null ? offer.key_share : keys.share(group);
    const hello = clientHello({ ...offer, key_share, ...(cookie === null ? {} : { cookie }) });
    this.#flight.retried(hello);
    return hello;
  }
}
