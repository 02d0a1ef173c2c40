import { useState } from 'react';
import { login } from './api/session.ts';

/** Asks for a token if the server requires one. */
export function Login({ refused }: { refused: boolean }) {
  const [token, setToken] = useState('');
  const submit = (event: React.SyntheticEvent): void => {
    event.preventDefault();
    if (token.trim() !== '') login(token.trim());
  };
  return (
    <div className="page">
      <main className="card login">
        <h1>Log in</h1>
        <p>
          This server requires a token. Create one with <code>heddle token create</code>; viewing needs the scope{' '}
          <code>read</code>, canceling, pausing or retrying also <code>operate</code>.
        </p>
        {refused && (
          <p className="problem" role="alert">
            Invalid token: it may be mistyped, expired or revoked.
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
          <button type="submit" className="primary" disabled={token.trim() === ''}>
            Log in
          </button>
        </form>
        <p className="quiet">Stored in this tab only and deleted when the tab closes.</p>
      </main>
    </div>
  );
}
