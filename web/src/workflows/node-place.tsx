import { Button } from '../ui/button.tsx';
import { Field, Fields } from '../ui/fields.tsx';
import { useTree } from './tree-context.ts';
import type { TaskNode, TreeNode } from './tree-node.ts';

const POLICY_MEANING: Readonly<Record<string, string>> = {
  FailOnFailure: 'a failure stops its sequence',
  ContinueOnPartialFailure: 'a partial failure lets its sequence continue',
  ContinueOnFailure: 'any failure lets its sequence continue',
};

export function PolicyField({ policy }: { policy: string }) {
  return (
    <Field label="Policy">
      {policy}
      <span className="quiet"> · {POLICY_MEANING[policy] ?? ''}</span>
    </Field>
  );
}

/** The container around a node. */
export function WithinField({ node }: { node: TreeNode }) {
  const { store, view } = useTree();
  const parent = node.parent === null ? undefined : store.nodes.get(node.parent);
  if (parent === undefined) return null;
  return (
    <Field label="Within">
      <Button look="plain" className="inline" onClick={() => view.reveal(parent.id)}>
        {parent.label}
      </Button>
      <span className="quiet"> · level {store.ancestors(node.id).length}</span>
    </Field>
  );
}

/** Where a task stands in the tree, and what its failure means there. */
export function TaskPlace({ node }: { node: TaskNode }) {
  return (
    <Fields>
      <WithinField node={node} />
      <PolicyField policy={node.policy} />
      {node.expected !== null && (
        <Field label="Creates">
          <span className="tabular">
            {(node.created ?? 0).toLocaleString()} of {node.expected.toLocaleString()} nodes
          </span>
        </Field>
      )}
    </Fields>
  );
}
