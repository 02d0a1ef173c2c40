import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy.tsx';
import { Field, Fields } from '../ui/fields.tsx';
import { Section } from '../ui/page.tsx';
import { STATE, endedOf, totalOf } from '../ui/state.ts';
import { OutcomeBar, StateBadge, TallyList } from '../ui/state.tsx';
import { Ago, Took } from '../ui/time.tsx';
import { PolicyField, WithinField } from './node-place.tsx';
import { useGroup, useTally, useTree } from './tree-context.ts';
import type { ContainerNode } from './tree-node.ts';
import type { TreeStore } from './tree-store.ts';

/** A container: its tally, what it waits for, and its plain fields. */
export function ContainerPanel({ node }: { node: ContainerNode }) {
  const { store, view } = useTree();
  const tally = useTally(node.id);
  const group = useGroup(node.id);
  const { ended, bad } = STATE[node.state];
  const turn = node.startedAt === null && !ended ? waitsFor(store, node) : null;
  return (
    <>
      <h2 data-testid="task-name">{node.label}</h2>
      <p className="lead-line">
        <StateBadge state={node.state} />
        <span className="quiet">{node.mode === 'sequential' ? 'a sequence' : 'in parallel'}</span>
      </p>
      <div className="panel-actions">
        <Button onClick={() => view.zoomTo(node.id)}>Focus</Button>
        {view.focus !== node.id && (
          <Button onClick={() => view.toggle(node.id)}>{group.open ? 'Close' : 'Open'}</Button>
        )}
      </div>
      {node.reason !== null && (
        <div className="reason" data-bad={bad || undefined} role="note" aria-label="Reason">
          <p>{node.reason}</p>
        </div>
      )}
      {turn !== null && (
        <Section title="Why it is not running" testId="explain">
          <p>{turn}</p>
        </Section>
      )}
      {node.openGenerators > 0 && !ended && (
        <p className="quiet">
          {node.openGenerators === 1 ? 'A generator' : `${node.openGenerators} generators`} may still add children, so
          it stays open.
        </p>
      )}
      <Section title="Tasks" beside={`${endedOf(tally).toLocaleString()} of ${totalOf(tally).toLocaleString()} ended`}>
        <OutcomeBar tally={tally} />
        <TallyList tally={tally} />
      </Section>
      <Section title="Details">
        <ContainerFields node={node} />
      </Section>
    </>
  );
}

function ContainerFields({ node }: { node: ContainerNode }) {
  const { children, open, tolerated } = node.counts;
  return (
    <Fields>
      <Field label="Children">
        <span className="tabular">
          {children.toLocaleString()}
          {open > 0 && <span className="quiet"> · {open.toLocaleString()} unfinished</span>}
          {tolerated > 0 && <span className="quiet"> · {tolerated.toLocaleString()} tolerated failures</span>}
        </span>
      </Field>
      {node.startedAt !== null && (
        <Field label="Started">
          <Ago at={node.startedAt} />
        </Field>
      )}
      {node.startedAt !== null && (
        <Field label="Ran">
          <Took from={node.startedAt} to={node.endedAt} />
        </Field>
      )}
      <PolicyField policy={node.policy} />
      <WithinField node={node} />
      {node.localId !== null && <Field label="Local name">{node.localId}</Field>}
      <Field label="Container">
        <CopyText text={node.id} />
      </Field>
    </Fields>
  );
}

/** Describes what a container waits for. */
function waitsFor(store: TreeStore, node: ContainerNode): string {
  const parent = node.parent === null ? undefined : store.nodes.get(node.parent);
  if (parent?.type !== 'container') return 'It starts as soon as the manager processes it.';
  if (parent.mode === 'parallel') return `It waits for its container "${parent.label}" to start.`;
  const siblings = store.childrenOf(parent.id);
  const before = siblings
    .slice(0, Math.max(0, siblings.indexOf(node.id)))
    .map((id) => store.nodes.get(id)!)
    .find((sibling) => !STATE[sibling.state].ended);
  return before === undefined
    ? `It waits for its container "${parent.label}" to start.`
    : `It is in a sequence and waits for "${before.label}" to end.`;
}
