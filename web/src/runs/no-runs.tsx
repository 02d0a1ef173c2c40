import { useCan } from '../data/session.ts';
import { LinkButton } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';

/** Shown where runs would be: how to start the first one. */
export function NoRuns() {
  const can = useCan();
  return (
    <Empty title="No runs yet" command="heddle workflow submit FILE --watch">
      <p>A run is a batch or a workflow of tasks.</p>
      {can('submit') && (
        <p>
          <LinkButton href="/submit" look="primary">
            Submit a run
          </LinkButton>
        </p>
      )}
    </Empty>
  );
}
