import { useState } from 'react';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isBatchId(text: string): boolean {
  return UUID.test(text);
}

/** A field that opens a batch by its id or by a pasted URL of the console. */
export function OpenBatch() {
  const [text, setText] = useState('');
  const [refused, setRefused] = useState(false);
  const submit = (event: React.SyntheticEvent): void => {
    event.preventDefault();
    const id = text.trim().replace(/^.*[?&]batch=([^&#\s]+).*$/, '$1');
    if (isBatchId(id)) location.assign(`/view?batch=${encodeURIComponent(id)}`);
    else setRefused(true);
  };
  return (
    <form className="open-batch" onSubmit={submit} role="search">
      <label htmlFor="batch-id">Open a batch</label>
      <input
        id="batch-id"
        value={text}
        placeholder="batch ID"
        spellCheck={false}
        autoComplete="off"
        aria-invalid={refused}
        aria-describedby={refused ? 'batch-id-refused' : undefined}
        onChange={(event) => {
          setText(event.target.value);
          setRefused(false);
        }}
      />
      <button type="submit">Open</button>
      {refused && (
        <p id="batch-id-refused" className="field-problem" role="alert">
          A batch ID looks like 0199a3c2-7d41-7c4e-9b0f-2f6f7f1c9a55: it is the X-Batch-ID of the response that created
          it.
        </p>
      )}
    </form>
  );
}
