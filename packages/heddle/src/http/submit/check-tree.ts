import { HeddleError } from '@heddle/base/errors';
import type { WorkflowNotification } from '@heddle/core/domain/notification/notification';
import { ACTION_MEMBER } from '@heddle/core/domain/parse/actions';
import { pathOf, placeOf, type Place } from '@heddle/base/parse/path';
import type { NewNode } from '@heddle/base/vocabulary/workflow';

/**
 * Throws if webhooks of a tree may not be called; checks each address once.
 * @param place path of the tree in the request
 * @throws HeddleError VALIDATION_FAILED that names each of them
 */
export function requireAllowedAddresses(root: NewNode, place: Place, ssrf: (url: string) => string | null): void {
  const faults = addressFaults(root, place, ssrf);
  if (faults.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details: faults });
}

/**
 * Throws if a notification of a workflow's end may not be sent to its address.
 * @param place path of the workflow in the request; null if it is the whole request
 * @throws HeddleError VALIDATION_FAILED that names each address
 */
export function requireAllowedNotifications(
  notify: readonly WorkflowNotification[],
  place: Place | null,
  ssrf: (url: string) => string | null,
): void {
  const details = notify.flatMap(({ channel }, index) => {
    const fault = channel.type === 'email' ? null : ssrf(channel.url);
    if (fault === null) return [];
    const to = placeOf(placeOf(placeOf(place, 'notify'), index), 'to');
    return [`${pathOf(placeOf(placeOf(to, channel.type), 'url'))}: ${fault}`];
  });
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
}

function addressFaults(root: NewNode, at: Place, ssrf: (url: string) => string | null): string[] {
  const known = new Map<string, string | null>();
  const faultOf = (url: string): string | null => {
    const fault = known.get(url) ?? (known.has(url) ? null : ssrf(url));
    known.set(url, fault);
    return fault;
  };
  const faults: string[] = [];
  const pending: { node: NewNode; place: Place }[] = [{ node: root, place: at }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { node, place } = next;
    if (node.type === 'container') {
      const children = placeOf(place, 'children');
      for (const [index, child] of node.children.entries())
        pending.push({ node: child, place: placeOf(children, index) });
      continue;
    }
    for (const { trigger, params } of node.task.actions) {
      const fault = faultOf(params.url);
      if (fault !== null)
        faults.push(`${pathOf(placeOf(placeOf(place, ACTION_MEMBER[trigger]), 'params'))}.url: ${fault}`);
    }
  }
  return faults.sort();
}
