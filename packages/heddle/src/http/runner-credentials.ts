import type { FastifyRequest } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { runnerSignature, verifyRunnerSignature } from '@heddle/base/signing';
import type { SigningKeys } from './ports.ts';

const PREFIX = 'hdr_';
const CREDENTIAL = /^Bearer +hdr_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([A-Za-z0-9_-]{43})$/;

/** Credentials that let a registered runner act as itself, and do nothing else: `hdr_ID.SIGNATURE`. */
export class RunnerCredentials {
  readonly #keys: SigningKeys;

  constructor(keys: SigningKeys) {
    this.#keys = keys;
  }

  async make(runnerId: string): Promise<string> {
    const [key] = await this.#keys.keys('handle');
    return `${PREFIX}${runnerId}.${runnerSignature(runnerId, key!)}`;
  }

  /** Returns whether the request has such a credential, valid or not. */
  isPresented({ headers: { authorization } }: Pick<FastifyRequest, 'headers'>): boolean {
    return authorization?.startsWith(`Bearer ${PREFIX}`) === true;
  }

  /** Returns the runner that sends the request; null if it has no such credential. */
  async runnerOf(request: Pick<FastifyRequest, 'headers'>): Promise<string | null> {
    if (!this.isPresented(request)) return null;
    const [, id = '', signature = ''] = CREDENTIAL.exec(request.headers.authorization ?? '') ?? [];
    if (verifyRunnerSignature(id, signature, await this.#keys.keys('handle'))) return id;
    throw new HeddleError('UNAUTHENTICATED', undefined, {
      details: ['authorization: the credential of the runner is not valid any more; register it again'],
    });
  }
}
