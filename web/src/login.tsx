import { useState } from 'react';
import { login } from './api/session.ts';
import { TopBar } from './top-bar.tsx';

/** Asks for a token, when the server wants one. */
export function Login({ refused }: { refused: boolean }) {
  const [token, setToken] = useState('');
  const submit = (event: React.SyntheticEvent): void => {
    event.preventDefault();
    if (token.trim() !== '') login(token.trim());
  };
  return (
    <div className="page">
      <TopBar />
      <main className="card login">
        <h1>Log in</h1>
        <p>
          This server asks for a token. Make one with <code>heddle token create</code>; to look it needs the scope{' '}
          <code>read</code>, to cancel, pause or retry also <code>operate</code>.
        </p>
        {refused && (
          <p className="problem" role="alert">
            That token was not accepted: it may be mistyped, expired or revoked.
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
        <p className="quiet">It is kept in this tab only and forgotten when the tab closes.</p>
      </main>
    </div>
  );
}
