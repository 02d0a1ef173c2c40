import type { FastifyRequest } from 'fastify';

/** What the handlers of routes that are also served directly know of a request; those of the framework have all of it. */
export type Call = Pick<FastifyRequest, 'headers' | 'heddle'> & {
  readonly body: unknown;
  readonly query: unknown;
  /** Address of the caller. */
  readonly ip?: string | undefined;
};

/** Takes what a handler answers beside the body that it returns. */
export interface CallReply {
  code(status: number): unknown;
  header(name: string, value: string): unknown;
}
