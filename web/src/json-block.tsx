/** A value as indented JSON, scrollable by keyboard. */
export function JsonBlock({ value, testId }: { value: unknown; testId?: string }) {
  return (
    <pre className="json" tabIndex={0} data-testid={testId}>
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}
