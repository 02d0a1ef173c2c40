import type { RemoteMethod } from '../protocol/messages.ts';
import type { Answers } from './answer.ts';
import { Balance } from './balance.ts';
import { endpointUrl, parseEndpoint } from './endpoint.ts';
import { RemoteCallFailure } from './failures.ts';
import type { Link } from './link.ts';
import { judge } from './retrying.ts';
import { isOutcome } from './task-calls.ts';

export interface ReadCall<Method extends RemoteMethod> {
  readonly method: Method;
  readonly payload: Uint8Array;
  readonly signal: AbortSignal;
  readonly answerWithinMs: number;
}

/** A set of interchangeable endpoints. */
export class Group {
  readonly links: readonly Link[];
  readonly balance: Balance;

  constructor(links: readonly Link[]) {
    this.links = links;
    this.balance = new Balance(links);
  }

  /** @throws TypeError if the URL is not one of this client's endpoints */
  linkOf(endpoint: string): Link {
    const url = endpointUrl(parseEndpoint(endpoint));
    const link = this.links.find((each) => each.url === url);
    if (link === undefined) throw new TypeError(`${url} is not an endpoint of this client`);
    return link;
  }

  /** Tries endpoints one after another until one responds; only for read-only calls. */
  async callAny<Method extends 'events' | 'event' | 'status'>(readCall: ReadCall<Method>): Promise<Answers[Method]> {
    const passed = new Set<Link>();
    for (;;) {
      const link = this.balance.choose(passed);
      try {
        return await link.call<Method>(readCall);
      } catch (error) {
        passed.add(link);
        if (readCall.signal.aborted || passed.size === this.links.length || judge(error) === 'final') throw error;
      }
    }
  }

  /** Calls the endpoint that holds a task, or all of them if it is not known. */
  async callHolder<T>(endpoint: string | undefined, ask: (link: Link) => Promise<T>): Promise<T> {
    if (endpoint !== undefined) return ask(this.linkOf(endpoint));
    // A task's failure is a valid outcome from its holder, just like a result.
    const calls = this.links.map((link) =>
      ask(link).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (isOutcome(error)) return { error };
          throw error;
        },
      ),
    );
    const first = await Promise.any(calls).catch((failures: unknown) => {
      throw mostSpecific((failures as AggregateError).errors);
    });
    if ('error' in first) throw first.error;
    return first.value;
  }

  /** Probes failed endpoints whenever there is a call; their circuit breakers limit the rate. */
  probeFailed(signal: AbortSignal): void {
    const failed = this.links.filter(({ rank }) => rank >= 2);
    if (failed.length > 0) void probeAll(failed, signal);
  }

  /** Requests the status of each endpoint. Never throws. */
  probe(signal: AbortSignal): Promise<void> {
    return probeAll(this.links, signal);
  }

  async close(): Promise<void> {
    await Promise.all(this.links.map((link) => link.close()));
  }
}

async function probeAll(links: readonly Link[], signal: AbortSignal): Promise<void> {
  await Promise.all(links.map((link) => link.probe(signal)));
}

/** Prefers other errors over NOT_FOUND: the task is missing only if every endpoint says so. */
function mostSpecific(errors: readonly unknown[]): unknown {
  const isMissing = (error: unknown): boolean => error instanceof RemoteCallFailure && error.code === 'NOT_FOUND';
  return errors.find((error) => !isMissing(error)) ?? errors[0];
}
