import { CopyButton } from './copy.tsx';

/** A value as indented JSON, scrollable by keyboard, with a button that copies it. */
export function Json({ value, label, testId }: { value: unknown; label: string; testId?: string }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <div className="json-box">
      <pre className="json" tabIndex={0} role="region" aria-label={label} data-testid={testId}>
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
