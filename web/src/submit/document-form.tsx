import { useState } from 'react';
import type { ReactNode } from 'react';
import { submitBatch, submitWorkflow } from '../api/operations.ts';
import type { Submitted } from '../api/operations.ts';
import { parseJson } from '../data/parse-input.ts';
import { Button } from '../ui/button.tsx';
import { FormGrid, TextField } from '../ui/form.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { useDocumentSchema } from './use-document-schema.ts';

export interface Document {
  /** Of a batch; that of a workflow is in its text. */
  name: string;
  text: string;
  /** Where it comes from. */
  note: ReactNode;
}

interface DocumentFormProps {
  type: 'batch' | 'workflow';
  document: Document;
  onChange: (document: Document) => void;
  onSubmitted: (submitted: Submitted) => void;
}

/** An editor of many megabytes would be slow. */
const EDITED_CHARS_MAX = 2_000_000;

/** How the server calls the document in what it says about it. */
const ROOT = { batch: 'tasks', workflow: '' } as const;

/** A batch or a workflow as JSON, checked against the schema of its body and those of its kinds. */
export function DocumentForm({ type, document, onChange, onSubmitted }: DocumentFormProps) {
  const { name, text, note } = document;
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [faults, setFaults] = useState(0);
  const schema = useDocumentSchema(type, text);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const body = parseJson(text, `The ${type}`);
      onSubmitted(await (type === 'batch' ? submitBatch(body, name) : submitWorkflow(body)));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  if (text.length > EDITED_CHARS_MAX) {
    return (
      <p>
        This {type} is too large to edit here. Download its definition, and submit it with{' '}
        <code>heddle {type === 'batch' ? 'submit' : 'workflow submit'} FILE</code>.
      </p>
    );
  }
  return (
    <>
      {note ?? (
        <p className="quiet">
          The body of <code>{type === 'batch' ? 'POST /task' : 'POST /v1/workflows'}</code>. Kinds and their inputs are
          completed and checked.
        </p>
      )}
      <div className="form-part">
        {type === 'batch' && (
          <FormGrid>
            <TextField
              label="Name of the batch"
              hint="Optional. Runs with one name are compared."
              value={name}
              onChange={(next) => onChange({ ...document, name: next })}
            />
          </FormGrid>
        )}
        <JsonEditor
          label={type === 'batch' ? 'Batch' : 'Workflow'}
          text={text}
          onChange={(next) => onChange({ ...document, text: next })}
          schema={schema}
          error={error}
          root={ROOT[type]}
          onFaults={setFaults}
        />
        {error !== null && <ProblemBox error={error} />}
        <div className="view-actions">
          <Button look="primary" disabled={busy} onClick={() => void submit()}>
            Submit {type}
          </Button>
          {faults > 0 && <span className="quiet">The server will judge what is marked.</span>}
        </div>
      </div>
    </>
  );
}
