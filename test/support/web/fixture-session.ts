import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';

import { sendJson, sendProblem } from './fixture-answers.ts';

const COOKIE = 'heddle_session=open';

export function isLoggedIn({ headers }: IncomingMessage): boolean {
  return headers.cookie === COOKIE;
}

/** Answers `/v1/session` like the server. @param token opens a session; null: no login is required */
export async function answerSession(
  request: IncomingMessage,
  response: ServerResponse,
  token: string | null,
): Promise<void> {
  if (request.method === 'DELETE') {
    response.writeHead(204, { 'set-cookie': 'heddle_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict' }).end();
    return;
  }
  if (request.method === 'POST') {
    if (((await json(request)) as { token: string }).token !== token) {
      sendProblem(response, 401, 'Invalid token: it may be mistyped, expired or revoked');
      return;
    }
    response.setHeader('set-cookie', `${COOKIE}; Path=/; HttpOnly; SameSite=Strict`);
  }
  const isUser = token !== null && (request.method === 'POST' || isLoggedIn(request));
  const user = { name: 'Ann', role: 'admin', scopes: ['read', 'operate'], session_id: 'open', expires_at: null };
  sendJson(response, {
    authentication: token === null ? 'none' : 'required',
    user: isUser ? user : null,
    logins: { token: token !== null, oidc: null },
  });
}
