import type { Task } from '@heddle/client';
import { Empty } from '../ui/empty.tsx';
import { Json } from '../ui/json.tsx';
import { Section } from '../ui/page.tsx';

/** What the task was given, and the settings it was submitted with. */
export function InputTab({ task }: { task: Task }) {
  const { metadata } = task;
  return isEmpty(metadata) ? (
    <Empty title="It has no input" />
  ) : (
    <Section title="Input">
      <Json value={metadata} label="Input of the task" testId="metadata" />
    </Section>
  );
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0);
}
