import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Dialog, FormDialog } from '../ui/dialog.tsx';
import { CheckField, FormGrid, SelectField, TextField } from '../ui/form.tsx';
import { Faults, FormField } from '../ui/form-field.tsx';
import { JsonEditor } from '../ui/json-editor.tsx';
import { Section } from '../ui/page.tsx';
import { notify } from '../ui/toast.tsx';

const SCHEMA = { type: 'object', properties: { retries: { type: 'integer', minimum: 0 } }, required: ['retries'] };

/** The parts of forms, with and without faults, and the dialogs that hold them. */
export function DesignForms() {
  const [name, setName] = useState('nightly-import');
  const [zone, setZone] = useState('UTC');
  const [isPaused, setPaused] = useState(false);
  const [json, setJson] = useState('{\n  "retries": -1\n}');
  const [opened, setOpened] = useState<'plain' | 'form' | null>(null);
  const openChange = (open: boolean): void => {
    if (!open) setOpened(null);
  };
  return (
    <Section title="Forms">
      <FormGrid>
        <TextField label="Job" hint="Letters, digits, - and _." value={name} onChange={setName} />
        <TextField
          label="Schedule"
          fault="* * * is no cron expression: it has 3 fields"
          value="* * *"
          onChange={setName}
        />
        <SelectField
          label="Time zone"
          value={zone}
          options={{ UTC: 'UTC', 'Europe/Berlin': 'Berlin' }}
          onChange={setZone}
        />
        <FormField label="Own control" hint="A field of its own gets its label and hint like this.">
          {(control) => <input {...control} className="input" type="date" defaultValue="2026-01-31" />}
        </FormField>
      </FormGrid>
      <CheckField label="Paused" checked={isPaused} onChange={setPaused} />
      <Faults
        role="status"
        faults={['root.children[0].kind is required', 'root.mode must be one of sequential, parallel']}
      />
      <JsonEditor label="Input" text={json} onChange={setJson} schema={SCHEMA} />
      <div className="design-row">
        <Button onClick={() => setOpened('plain')}>Open dialog</Button>
        <Button onClick={() => setOpened('form')}>Open form…</Button>
      </div>
      <Dialog open={opened === 'plain'} onOpenChange={openChange} title="Shortcuts">
        <p className="dialog-body">A dialog without a form: Escape closes it.</p>
      </Dialog>
      <FormDialog
        open={opened === 'form'}
        onOpenChange={openChange}
        title="Run “nightly-import” now?"
        verb="Run now"
        onConfirm={() => {
          notify('Started', 'nightly-import');
          return Promise.resolve();
        }}
      >
        The next occurrence is not affected.
      </FormDialog>
    </Section>
  );
}
