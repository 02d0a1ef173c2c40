import { Suspense, lazy, useCallback, useId, useMemo, useRef, useState } from 'react';
import type { CodeViewProps } from './code/code-view.tsx';
import { ApiError } from '../api/client.ts';
import { Button } from './button.tsx';
import { faultsOfDetails } from './code/json-path.ts';
import './json-editor.css';

// Without the library of editors, as in a browser whose language it does not know, texts can still be edited.
const CodeView = lazy(() => import('./code/code-view.tsx').catch(() => ({ default: PlainView })));

interface JsonEditorProps {
  label: string;
  text: string;
  onChange: (text: string) => void;
  /** Checks and completes the document; null: only its syntax is checked. */
  schema: object | null;
  /** Why the server refused the document; its details are shown at the places that they name. */
  error?: unknown;
  /** How those details call this document: `input`; '' if they begin with its members. */
  root?: string;
  /** Told how many faults there are. */
  onFaults?: (count: number) => void;
}

const FAULTS_LISTED = 8;

interface ListedFault {
  from: number;
  line: number;
  message: string;
}

const NONE: readonly ListedFault[] = [];

/** Edits JSON: checked while one types, completed from a schema, usable by keyboard alone. Loaded when it is first used. */
export function JsonEditor({ label, text, onChange, schema, error, root = '', onFaults }: JsonEditorProps) {
  const hint = useId();
  const goTo = useRef<((position: number) => void) | null>(null);
  const [faults, setFaults] = useState(NONE);
  const [refusedText, setRefusedText] = useState<{ error: unknown; text: string } | null>(null);
  if (error !== undefined && error !== null && refusedText?.error !== error) setRefusedText({ error, text });
  // What the server said is about the text that it was sent.
  const isCurrent = refusedText !== null && refusedText.error === error && refusedText.text === text;
  const serverFaults = useMemo(
    () => (isCurrent && error instanceof ApiError ? faultsOfDetails(error.details, root) : []),
    [isCurrent, error, root],
  );
  const report = useCallback(
    (found: readonly ListedFault[]) => {
      setFaults(found);
      onFaults?.(found.length);
    },
    [onFaults],
  );
  const view: CodeViewProps = {
    label,
    text,
    onChange,
    schema: schema as CodeViewProps['schema'],
    serverFaults,
    root: /^\w*$/.test(root) ? root : '',
    onFaults: report,
    goTo,
    describedBy: hint,
  };
  return (
    <div className="json-editor">
      <Suspense fallback={<PlainView {...view} />}>
        <CodeView {...view} />
      </Suspense>
      <p id={hint} className="quiet json-editor-hint">
        {schema !== null && (
          <>
            <kbd>Ctrl</kbd> <kbd>Space</kbd> completes.{' '}
          </>
        )}
        <kbd>Tab</kbd> indents; <kbd>Esc</kbd>, then <kbd>Tab</kbd> leaves the editor.
      </p>
      <div role="status" className="json-editor-faults" aria-label={`Faults of ${label}`}>
        {faults.length > 0 && (
          <ul>
            {faults.slice(0, FAULTS_LISTED).map((fault, i) => (
              <li key={i}>
                <Button look="plain" onClick={() => goTo.current?.(fault.from)}>
                  Line {fault.line}
                </Button>{' '}
                {fault.message}
              </li>
            ))}
            {faults.length > FAULTS_LISTED && <li>and {faults.length - FAULTS_LISTED} more</li>}
          </ul>
        )}
      </div>
    </div>
  );
}

/** Until the editor is loaded, and where it cannot be: the server checks what is sent. */
function PlainView({ label, text, onChange, describedBy }: CodeViewProps) {
  return (
    <textarea
      className="code-plain"
      aria-label={label}
      aria-describedby={describedBy}
      spellCheck={false}
      rows={12}
      value={text}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
