import { memo } from 'react';
import { formatDuration, useSharedNow } from '../times.ts';
import { StateGlyph } from '../ui/glyphs.tsx';
import { STATE, STATES, endedOf, totalOf } from '../ui/state.ts';
import { OutcomeBar, TallyList } from '../ui/state.tsx';
import { useGroup, useMarks, useTally, useTree, useTreeNode } from './tree-context.ts';
import type { ContainerNode, TaskNode } from './tree-node.ts';
import { PAGE_SIZE } from './tree-view.ts';
import type { Group } from './tree-view.ts';

interface ItemProps {
  id: string;
  level: number;
  place: number;
  siblings: number;
}

/** A node and, if it is an open container, its children. The surrounding tree handles clicks and keys. */
export const TreeItem = memo(function TreeItem(props: ItemProps) {
  const node = useTreeNode(props.id);
  if (node === undefined) return null;
  return node.type === 'task' ? <TaskItem {...props} node={node} /> : <ContainerItem {...props} node={node} />;
});

function TaskItem({ node, level, place, siblings }: ItemProps & { node: TaskNode }) {
  const { selected, active } = useMarks(node.id);
  const { label: stateLabel } = STATE[node.state];
  return (
    <div
      role="treeitem"
      data-id={node.id}
      data-node={node.id}
      className={`node task s-${node.state}`}
      aria-label={`${node.label}, ${stateLabel}, ${node.kind}`}
      aria-level={level}
      aria-setsize={siblings}
      aria-posinset={place}
      aria-selected={selected}
      tabIndex={active ? 0 : -1}
      title={`${node.label} · ${node.kind}\n${stateLabel}${node.reason === null ? '' : `: ${node.reason}`}`}
    >
      <StateGlyph state={node.state} size={20} />
      <span className="node-name">{node.label}</span>
      <TaskNote node={node} />
    </div>
  );
}

/** How long the task ran; drawn by the style sheet, because the name of a node is that of its task. */
function TaskNote({ node }: { node: TaskNode }) {
  if (node.state === 'creating' && node.expected !== null) {
    return <Note text={`${(node.created ?? 0).toLocaleString()} of ${node.expected.toLocaleString()}`} />;
  }
  if (node.startedAt === null) return null;
  const tries = node.attempt > 1 ? `try ${node.attempt} · ` : '';
  if (node.endedAt !== null) return <Note text={tries + formatDuration(node.endedAt - node.startedAt)} />;
  return STATE[node.state].ended ? <Note text={tries} /> : <Running since={node.startedAt} before={tries} />;
}

function Running({ since, before }: { since: number; before: string }) {
  return <Note text={before + formatDuration(useSharedNow() - since)} />;
}

function Note({ text }: { text: string }) {
  return <span className="node-note tabular" data-note={text} />;
}

function ContainerItem(props: ItemProps & { node: ContainerNode }) {
  const { node, level } = props;
  const group = useGroup(node.id);
  return (
    <div className={`node container ${node.mode} s-${node.state}`} data-node={node.id} data-open={group.open}>
      <ContainerHead {...props} group={group} />
      {group.held && (
        <p className="held quiet">
          Too many nodes.{' '}
          <button type="button" className="link" data-action="zoom">
            Focus this group
          </button>
        </p>
      )}
      {group.open && <GroupBody node={node} group={group} level={level} />}
    </div>
  );
}

const MODE_TEXT = { sequential: 'in sequence', parallel: 'in parallel' } as const;
const MODE_SIGN = { sequential: '↓', parallel: '⇉' } as const;

/** What represents a container in the tree. */
function ContainerHead({ node, group, level, place, siblings }: ItemProps & { node: ContainerNode; group: Group }) {
  const tally = useTally(node.id);
  const { selected, active } = useMarks(node.id);
  const { view } = useTree();
  const total = totalOf(tally);
  const alone = view.focus === node.id;
  const isGrowing = node.openGenerators > 0 && !STATE[node.state].ended;
  return (
    <div
      role="treeitem"
      data-id={node.id}
      className="group-head"
      aria-level={level}
      aria-setsize={siblings}
      aria-posinset={place}
      aria-expanded={group.open}
      {...(group.open ? { 'aria-owns': `body-${node.id}` } : {})}
      aria-selected={selected}
      tabIndex={active ? 0 : -1}
    >
      <div className="group-title">
        {!alone && (
          <span className="twisty" data-action="toggle" aria-hidden="true">
            {group.open ? '▾' : '▸'}
          </span>
        )}
        <StateGlyph state={node.state} size={20} />
        <b className="node-name" title={node.reason ?? node.label}>
          {node.label}
        </b>
        <span className="mode" title={`Its children run ${MODE_TEXT[node.mode]}`}>
          <span aria-hidden="true">{MODE_SIGN[node.mode]}</span>
          <span className="visually-hidden">
            , {STATE[node.state].label}, {MODE_TEXT[node.mode]},{' '}
          </span>
        </span>
        <span className="node-note tabular">
          {endedOf(tally).toLocaleString()} of {total.toLocaleString()}
          <span className="visually-hidden"> ended</span>
        </span>
        {!alone && (
          <span className="zoom" data-action="zoom" title="Focus this group (Z)" aria-hidden="true">
            ⤢
          </span>
        )}
      </div>
      <div className="group-tally">
        {total > 0 && (
          <span aria-hidden="true">
            <OutcomeBar tally={tally} />
          </span>
        )}
        {!group.open && total > 0 && <TallyList tally={tally} />}
        {isGrowing && <p className="quiet open-generators">A generator may still add nodes.</p>}
      </div>
    </div>
  );
}

function GroupBody({ node, group, level }: { node: ContainerNode; group: Group; level: number }) {
  return (
    <>
      <GroupControls node={node} group={group} />
      <div role="group" className="group-body" id={`body-${node.id}`}>
        {group.ids.map((id, i) => (
          <TreeItem key={id} id={id} level={level + 1} place={group.from + i + 1} siblings={group.total} />
        ))}
      </div>
      {group.loading && (
        <p className="quiet group-empty" role="status">
          Loading…
        </p>
      )}
      {group.total === 0 && (
        <p className="quiet group-empty">
          {group.filter === null ? 'Empty' : `None ${STATE[group.filter].label.toLowerCase()} now`}
        </p>
      )}
    </>
  );
}

/** The pages and the filter of a container with many children. */
function GroupControls({ node, group }: { node: ContainerNode; group: Group }) {
  const { store } = useTree();
  const tally = useTally(node.id);
  const total = store.totalOf(node.id);
  const cut = group.from + group.ids.length < Math.min(group.total, group.from + PAGE_SIZE) && !group.loading;
  if (total <= PAGE_SIZE && !cut && group.filter === null) return null;
  const last = group.from + group.ids.length;
  const states = store.isComplete(node.id) ? STATES.filter((key) => (tally[key] ?? 0) > 0 || key === group.filter) : [];
  return (
    <div className="group-controls" role="toolbar" aria-label={`Pages of ${node.label}`}>
      <button type="button" data-action="first" disabled={group.from === 0} aria-label="First page">
        «
      </button>
      <button type="button" data-action="previous" disabled={group.from === 0} aria-label="Previous page">
        ‹
      </button>
      <span className="tabular" data-testid="page-range">
        {group.total === 0 ? '0' : `${(group.from + 1).toLocaleString()}–${last.toLocaleString()}`} of{' '}
        {group.total.toLocaleString()}
      </span>
      <button type="button" data-action="next" disabled={group.from + PAGE_SIZE >= group.total} aria-label="Next page">
        ›
      </button>
      <button type="button" data-action="last" disabled={group.from + PAGE_SIZE >= group.total} aria-label="Last page">
        »
      </button>
      {states.map((state) => (
        <button
          key={state}
          type="button"
          className="state-choice"
          data-action="filter"
          data-state={state}
          aria-pressed={group.filter === state}
        >
          <StateGlyph state={state} size={13} /> {STATE[state].label}
        </button>
      ))}
      {cut && <span className="quiet">Too many nodes: focus this group to see the rest.</span>}
    </div>
  );
}
