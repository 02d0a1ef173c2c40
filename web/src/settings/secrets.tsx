import type { Secret } from '@heddle/client';
import { useState } from 'react';
import { places } from '../api/places.ts';
import { deleteSecret, setSecret } from '../api/settings.ts';
import { useKinds } from '../data/kinds.ts';
import { useLive } from '../data/live.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmButton, FormDialog } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { TextField } from '../ui/form.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Section } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { done, namesIn } from './done.ts';
import { faultOf } from '../data/faults.ts';

const EVERY_MS = 5000;

/** Secrets by name; no one is shown a value. */
export function Secrets() {
  const answer = useLive(['secrets'], places.secrets, { every: EVERY_MS });
  /** '' for a new one. */
  const [edited, setEdited] = useState<string | null>(null);
  const columns: readonly Column<Secret>[] = [
    ...SECRETS,
    {
      header: 'Change',
      cell: ({ name }) => (
        <span className="cell-buttons">
          <Button aria-label={`Replace ${name}`} onClick={() => setEdited(name)}>
            Replace
          </Button>
          <ConfirmButton
            label="Delete"
            verb="Delete secret"
            look="danger"
            title={`Delete ${name}?`}
            onConfirm={() => done(deleteSecret(name), 'Secret deleted')}
          >
            Tasks and webhooks that name it fail from now on.
          </ConfirmButton>
        </span>
      ),
    },
  ];
  return (
    <Section title="Secrets" beside={<Button onClick={() => setEdited('')}>Create secret…</Button>}>
      <LiveTable
        label="Secrets"
        answer={answer}
        columns={columns}
        rowId={({ name }) => name}
        empty={<Empty title="No secrets" command="heddle secret set NAME --grant KIND" />}
      />
      {edited !== null && (
        <SecretDialog
          existing={answer.data?.find(({ name }) => name === edited) ?? null}
          onClose={() => setEdited(null)}
        />
      )}
    </Section>
  );
}

const SECRETS: readonly Column<Secret>[] = [
  { header: 'Name', grow: true, cell: ({ name }) => name },
  { header: 'Granted to', cell: ({ grants }) => grants.join(', ') || 'no one' },
  { header: 'Readable', cell: ({ readable }) => (readable ? 'yes' : 'no: its key is missing') },
  { header: 'Set', cell: ({ updated_at }) => <Ago at={updated_at} /> },
];

function SecretDialog({ existing, onClose }: { existing: Secret | null; onClose: () => void }) {
  const [name, setName] = useState(existing?.name ?? '');
  const [value, setValue] = useState('');
  const [grants, setGrants] = useState(existing?.grants.join(', ') ?? '');
  const kinds = useKinds();
  const store = async (): Promise<void> => {
    const names = namesIn(grants);
    await done(setSecret(name, value, names.length === 0 ? null : names), `${name} is set`);
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={existing === null ? 'Create a secret' : `Replace ${existing.name}`}
      verb={existing === null ? 'Create secret' : 'Replace secret'}
      disabled={name === '' || value === ''}
      onConfirm={store}
    >
      {(error) => (
        <div className="form-part">
          {existing === null && (
            <TextField
              label="Name"
              placeholder="API_KEY"
              hint={
                <>
                  Capital letters, digits and _. Inputs name it: <code>{'{"secret": "API_KEY"}'}</code>
                </>
              }
              fault={faultOf(error, 'name')}
              value={name}
              onChange={setName}
            />
          )}
          <TextField
            label="Value"
            type="password"
            hint="At least 4 characters. It is stored encrypted and never shown."
            fault={faultOf(error, 'value')}
            value={value}
            onChange={setValue}
          />
          <TextField
            label="Granted to"
            hint="Kinds of tasks, and origins of webhooks (https://api.example.com), separated by commas."
            fault={faultOf(error, 'grants')}
            suggestions={kinds.map((kind) => kind.name)}
            value={grants}
            onChange={setGrants}
          />
        </div>
      )}
    </FormDialog>
  );
}
