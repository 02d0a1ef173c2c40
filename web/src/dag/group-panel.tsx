import { useMemo, useState } from 'react';
import { StateFilter } from '../live/state-filter.tsx';
import { TaskList } from '../live/task-list.tsx';
import { Button } from '../ui/button.tsx';
import { endedOf } from '../ui/state.ts';
import type { State } from '../ui/state.ts';
import { OutcomeBar } from '../ui/state.tsx';
import type { TaskGroup } from './fold.ts';
import type { FoldedGraph } from './folded-graph.ts';
import { listedTask } from './listed-task.ts';
import type { TaskStore } from './task-store.ts';

/** Cards of one group that are drawn one by one. */
const UNFOLD_MAX = 2000;

interface GroupPanelProps {
  group: TaskGroup;
  /** Whether its tasks are drawn one by one. */
  isUnfolded: boolean;
  folded: FoldedGraph;
  store: TaskStore;
  onSelect: (id: string) => void;
}

/** A group of equal siblings: its tally and its tasks. */
export function GroupPanel({ group, isUnfolded, folded, store, onSelect }: GroupPanelProps) {
  const [shown, setShown] = useState<ReadonlySet<State>>(() => new Set());
  const { id, name, kind, members } = group;
  const tally = folded.tally(id);
  const tasks = useMemo(
    () =>
      members
        .map((member) => store.tasks.get(member)!)
        .filter(({ state }) => shown.size === 0 || shown.has(state))
        .map(listedTask),
    // The store changes in place; its version represents its content.
    [members, store, store.version, shown],
  );
  return (
    <div className="group-panel">
      <h2 data-testid="task-name">{name}</h2>
      <p className="quiet">
        {members.length.toLocaleString()} tasks of kind {kind} with the same dependencies,{' '}
        <span className="tabular">{endedOf(tally).toLocaleString()}</span> ended
      </p>
      <OutcomeBar tally={tally} />
      <StateFilter tally={tally} shown={shown} onChange={setShown} />
      {members.length <= UNFOLD_MAX && (
        <div className="panel-actions">
          <Button onClick={() => folded.setUnfolded(id, !isUnfolded)}>
            {isUnfolded ? 'Draw as one' : 'Draw one by one'}
          </Button>
        </div>
      )}
      <TaskList
        title="Its tasks"
        tasks={tasks}
        total={members.length}
        isFiltering={shown.size > 0}
        onShowAll={() => setShown(new Set())}
        onSelect={onSelect}
      />
    </div>
  );
}
