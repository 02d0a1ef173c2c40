/**
 * Receives the notification of a completed scan and prints new findings: `node examples/secret-scan/notified.ts [URL]`.
 * Listens on port 9100, which the workflow's webhook calls.
 */
import { createServer, type Server } from 'node:http';

const PORT = 9100;

interface Finding {
  rule_id: string;
  path: string;
  line: number;
  redacted: string;
}

/** The lines printed for a target: one for each finding that is new and open. */
export async function newFindings(heddle: string, target: string): Promise<string[]> {
  const query = new URLSearchParams({ target, state: 'new', triage: 'open' });
  const response = await fetch(`${heddle}/v1/findings?${query.toString()}`);
  const findings = (await response.json()) as Finding[];
  return findings.map(({ rule_id, path, line, redacted }) => `${path}:${line} ${rule_id} ${redacted}`);
}

/** @param told receives the lines of each completed scan */
export function listen(heddle: string, port: number, told: (lines: string[]) => void): Server {
  return createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { target } = JSON.parse(body) as { target: string };
      newFindings(heddle, target).then(
        (lines) => {
          told(lines);
          response.writeHead(204).end();
        },
        () => response.writeHead(503).end(),
      );
    });
  }).listen(port, '127.0.0.1');
}

if (import.meta.main) {
  listen(process.argv[2] ?? 'http://127.0.0.1:8085', PORT, (lines) => {
    console.log([`${lines.length} new findings`, ...lines].join('\n  '));
  });
}
