import type { CreatedToken, Token } from '@heddle/client';
import { useState } from 'react';
import { places, revokeToken } from '../api/places.ts';
import { createToken } from '../api/settings.ts';
import { useLive } from '../data/live.ts';
import { refreshAll } from '../data/query-client.ts';
import type { Scope } from '../data/session.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { ConfirmButton, Dialog, FormDialog } from '../ui/dialog.tsx';
import { Empty } from '../ui/empty.tsx';
import { CheckField, FormGrid, SelectField, TextField } from '../ui/form.tsx';
import { LiveTable } from '../ui/live-table.tsx';
import { Section } from '../ui/page.tsx';
import type { Column } from '../ui/table.tsx';
import { Ago } from '../ui/time.tsx';
import { done, namesIn } from './done.ts';
import { faultOf } from '../data/faults.ts';

const EVERY_MS = 5000;

const SCOPES: Readonly<Record<Scope, string>> = {
  read: 'see everything but secrets and settings',
  submit: 'submit tasks and workflows',
  operate: 'cancel, pause, retry, edit schedules; includes read and work',
  command: 'submit commands',
  work: 'claim and complete tasks',
  runner: 'register runners',
  admin: 'everything',
};

const DAY_SECS = 86_400;
const LIFETIMES: Readonly<Record<string, string>> = {
  [DAY_SECS]: '1 day',
  [30 * DAY_SECS]: '30 days',
  [90 * DAY_SECS]: '90 days',
  [365 * DAY_SECS]: '1 year',
  '': 'Never',
};

const TOKENS: readonly Column<Token>[] = [
  { header: 'Name', grow: true, cell: ({ name }) => name },
  { header: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
  { header: 'State', cell: ({ state }) => state },
  { header: 'Last used', cell: ({ last_used_at }) => <Ago at={last_used_at} absent="never" /> },
  { header: 'Expires', cell: ({ expires_at }) => <Ago at={expires_at} absent="never" /> },
  {
    header: 'Revoke',
    cell: ({ id, name, state }) =>
      state === 'live' && (
        <ConfirmButton
          label="Revoke"
          verb="Revoke token"
          look="danger"
          title={`Revoke ${name}?`}
          onConfirm={() => done(revokeToken(id), 'Token revoked')}
        >
          Programs and browsers that use it are refused within seconds.
        </ConfirmButton>
      ),
  },
];

/** Tokens of programs and browsers. */
export function Tokens() {
  const answer = useLive(['tokens'], places.tokens, { every: EVERY_MS });
  const [isOpen, setOpen] = useState(false);
  const [created, setCreated] = useState<CreatedToken | null>(null);
  return (
    <Section title="Tokens" beside={<Button onClick={() => setOpen(true)}>Create token…</Button>}>
      <LiveTable
        label="Tokens"
        answer={answer}
        columns={TOKENS}
        rowId={({ id }) => id}
        empty={<Empty title="No tokens" command="heddle token create --name NAME --scope read" />}
      />
      {isOpen && <NewTokenDialog onClose={() => setOpen(false)} onCreated={setCreated} />}
      {created !== null && <CreatedDialog token={created} onClose={() => setCreated(null)} />}
    </Section>
  );
}

interface NewTokenDialogProps {
  onClose: () => void;
  onCreated: (token: CreatedToken) => void;
}

function NewTokenDialog({ onClose, onCreated }: NewTokenDialogProps) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['read']);
  const [lifetime, setLifetime] = useState(String(90 * DAY_SECS));
  const [kinds, setKinds] = useState('');
  const create = async (): Promise<void> => {
    const token = await createToken({
      name,
      scopes: [...scopes],
      expires_in_secs: lifetime === '' ? null : Number(lifetime),
      ...(namesIn(kinds).length === 0 ? {} : { kinds: namesIn(kinds) }),
    });
    onCreated(token);
    await refreshAll();
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Create a token"
      verb="Create token"
      disabled={name.trim() === '' || scopes.length === 0}
      onConfirm={create}
    >
      {(error) => (
        <>
          <FormGrid>
            <TextField
              label="Name"
              hint="In lists and in the audit log."
              fault={faultOf(error, 'name')}
              value={name}
              onChange={setName}
            />
            <SelectField label="Expires" value={lifetime} onChange={setLifetime} options={LIFETIMES} />
          </FormGrid>
          <fieldset className="form-part">
            <legend className="form-label">Scopes</legend>
            {(Object.keys(SCOPES) as Scope[]).map((scope) => (
              <CheckField
                key={scope}
                label={
                  <>
                    <code>{scope}</code> <span className="quiet">{SCOPES[scope]}</span>
                  </>
                }
                checked={scopes.includes(scope)}
                onChange={(checked) =>
                  setScopes(checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
                }
              />
            ))}
          </fieldset>
          {scopes.includes('work') && (
            <TextField
              label="Kinds"
              hint="Whose tasks it may claim, separated by commas; empty: any."
              fault={faultOf(error, 'kinds')}
              value={kinds}
              onChange={setKinds}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}

/** Shows a token, which nothing can show again. */
function CreatedDialog({ token: { name, token }, onClose }: { token: CreatedToken; onClose: () => void }) {
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()} title={`Token ${name}`}>
      <p>Copy it now: it is not shown again.</p>
      <p className="copy-text">
        <code className="breakable" data-testid="token">
          {token}
        </code>
        <CopyButton text={token} />
      </p>
      <div className="dialog-actions">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
