import { Link } from 'wouter';

interface NamedTasksProps {
  tasks: readonly { id: string; name: string }[];
  /** Shown if there are none. */
  none: string;
}

/** The first of some tasks, and how many more there are. */
export function NamedTasks({ tasks, none }: NamedTasksProps) {
  const [first] = tasks;
  if (first === undefined) return <span className="quiet">{none}</span>;
  return (
    <>
      <Link href={`/tasks/${first.id}`}>{first.name}</Link>
      {tasks.length > 1 && <span className="quiet"> and {tasks.length - 1} more</span>}
    </>
  );
}
