import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { WebhookIdentity } from '../dispatch/webhook-request.ts';
import type { SecretStore } from '@heddle/core/store/secrets';

const REFRESH_MS = 5_000;

interface SigningOptions {
  secrets: SecretStore;
  /** Configured keys; if there are none, those of the database are used. */
  webhookKeys: readonly Uint8Array[];
  hostUrl: string;
  version: string;
  clock: Clock;
  log: Logger;
}

/** The keys that sign webhooks and handles, kept current: a rotation by any process takes effect within seconds. */
export class SigningIdentity implements WebhookIdentity {
  readonly hostUrl: string;
  readonly version: string;
  readonly #options: SigningOptions;
  readonly #loop: Loop;
  #handleKeys: readonly Uint8Array[] = [];
  #signingKeys: readonly Uint8Array[] = [];

  /** Reads the keys, and creates the missing ones. */
  static async load(options: SigningOptions): Promise<SigningIdentity> {
    const identity = new SigningIdentity(options);
    await identity.#refresh();
    return identity;
  }

  private constructor(options: SigningOptions) {
    this.#options = options;
    this.hostUrl = options.hostUrl;
    this.version = options.version;
    const { clock, log } = options;
    const runOnce = (): Promise<'idle'> => this.#refresh().then(() => 'idle');
    this.#loop = new Loop({ name: 'signing keys', intervalMs: REFRESH_MS, clock, log, runOnce });
  }

  get handleKey(): Uint8Array {
    return this.#handleKeys[0]!;
  }

  get signingKeys(): readonly Uint8Array[] {
    return this.#signingKeys;
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #refresh(): Promise<void> {
    const { secrets, webhookKeys } = this.#options;
    this.#handleKeys = await secrets.keys('handle');
    this.#signingKeys = webhookKeys.length > 0 ? webhookKeys : await secrets.keys('webhook');
  }
}
