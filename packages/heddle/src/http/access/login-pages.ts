import type { FastifyReply } from 'fastify';

const STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 36rem; margin: 15vh auto 0; padding: 0 1rem }
h1 { font-size: 1.4rem }`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

function page(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)} - Heddle</title>
${head}<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

/**
 * Responds with a page that leads on to a path of this server. A redirect would still be part of the navigation that the
 * provider began, in which browsers withhold the cookie of the session; a page of this server begins its own.
 */
export function sendOnward(reply: FastifyReply, path: string): FastifyReply {
  const address = escaped(path);
  const refresh = `<meta http-equiv="refresh" content="0; url=${address}">\n`;
  return send(reply, 200, page('Logged in', refresh, `<p><a href="${address}">Continue</a></p>`));
}

/** Responds with a page that says why a login failed. */
export function sendFailure(
  reply: FastifyReply,
  failure: { status: number; title: string; lines: readonly string[]; again: string | null },
): FastifyReply {
  const { status, title, lines, again } = failure;
  const retry = again === null ? '' : `<a href="${escaped(again)}">Try again</a> · `;
  const body = lines.map((line) => `<p>${escaped(line)}</p>`).join('\n');
  return send(reply, status, page(title, '', `${body}\n<p>${retry}<a href="/">Log in another way</a></p>`));
}

function send(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').header('cache-control', 'no-store').send(text);
}
