import { RemoteFailure } from '../../protocol/codes.ts';
import type { SubmitRequest } from '../../protocol/messages.ts';
import type { Caller, Received } from '../../security/port.ts';
import { allows } from '../../security/scopes.ts';
import { isAllowed, type ManagerContext } from '../context.ts';
import { readSubmit } from '../request-fields.ts';

/** What is known of a request before it fails, for the response and the audit log. */
export interface Asking {
  caller: Caller | null;
  eventName: string | null;
}

export interface Submission {
  readonly caller: Caller;
  readonly request: SubmitRequest;
}

/**
 * Step 3: checks the caller, the size and form of the payload, the allow-list and the scopes; stops at the first fault.
 */
export async function validate(context: ManagerContext, received: Received, asking: Asking): Promise<Submission> {
  const caller = await authenticate(context, received, asking);
  const request = readSubmit(received.request.payload);
  asking.eventName = request.event_name;
  if (!isAllowed(context, request.event_name)) {
    throw new RemoteFailure('EVENT_NOT_WHITELISTED', `The event ${request.event_name} is not allowed here`);
  }
  if (!allows(caller.scopes, `task:execute:${request.event_name}`)) {
    throw new RemoteFailure('FORBIDDEN', `The token does not allow running ${request.event_name}`);
  }
  return { caller, request };
}

/** Performs the checks common to all methods. */
export async function authenticate(context: ManagerContext, received: Received, asking: Asking): Promise<Caller> {
  const caller = await context.options.authenticator.authenticate(received);
  asking.caller = caller;
  const { payloadBytesMax } = context.settings;
  if (received.request.payload.length > payloadBytesMax) {
    const details = [`body: has ${received.request.payload.length} bytes; ${payloadBytesMax} are allowed`];
    throw new RemoteFailure('MALFORMED', 'The payload is too large', { details });
  }
  return caller;
}
