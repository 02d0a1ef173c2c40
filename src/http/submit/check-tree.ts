import { ACTION_MEMBER } from '../../domain/parse/actions.ts';
import { pathOf, placeOf, type Place } from '../../domain/parse/path.ts';
import type { NewContainerNode, NewNode } from '../../domain/workflow.ts';

/** Webhooks of a tree that may not be called, each with its place; an address is looked at once. */
export function treeAddressFaults(root: NewContainerNode, ssrf: (url: string) => string | null): string[] {
  const known = new Map<string, string | null>();
  const faultOf = (url: string): string | null => {
    const fault = known.get(url) ?? (known.has(url) ? null : ssrf(url));
    known.set(url, fault);
    return fault;
  };
  const faults: string[] = [];
  const pending: { node: NewNode; place: Place }[] = [{ node: root, place: placeOf(null, 'root') }];
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
