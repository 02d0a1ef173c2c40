import { useState } from 'react';
import { login, useSession } from './api/session.ts';

/** Asks for a login if the server requires one. */
export function Login({ refused }: { refused: boolean }) {
  const { logins, refusal } = useSession();
  const [token, setToken] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = (event: React.SyntheticEvent): void => {
    event.preventDefault();
    if (token.trim() === '' || isBusy) return;
    setBusy(true);
    void login(token.trim()).finally(() => setBusy(false));
  };
  const oidc = logins?.oidc ?? null;
  return (
    <div className="page">
      <main className="card login">
        <h1>Log in</h1>
        {oidc !== null && (
          <p>
            <a className="primary" href={`${oidc.path}?return_to=${encodeURIComponent(currentPath())}`}>
              Log in with {oidc.label}
            </a>
          </p>
        )}
        <p>
          Log in with a token. Create one with <code>heddle token create</code>; viewing needs the scope{' '}
          <code>read</code>, canceling, pausing or retrying also <code>operate</code>.
        </p>
        {refused && (
          <p className="problem" role="alert">
            {refusal}
          </p>
        )}
        <form onSubmit={submit}>
          <label htmlFor="token">Token</label>
          <input
            id="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
          <button type="submit" className="primary" disabled={token.trim() === '' || isBusy}>
            Log in
          </button>
        </form>
        <p className="quiet">The browser stays logged in, on all tabs, until you log out or the login expires.</p>
      </main>
    </div>
  );
}

function currentPath(): string {
  return `${location.pathname}${location.search}${location.hash}`;
}
