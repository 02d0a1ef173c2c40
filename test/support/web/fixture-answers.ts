import type { IncomingMessage, ServerResponse } from 'node:http';

/** A part of the stand-in for the server: handles its own requests and returns whether it did. */
export interface FixtureApi {
  handle(url: URL, request: IncomingMessage, response: ServerResponse): boolean;
}

/** The log of a task that has logged nothing. */
export const NOTHING_LOGGED = { attempt: null, lines: [], next: 0 };

/** What comes after a task of which nothing does. */
export const NO_DEPENDENTS = { total: 0, total_capped: false, held_up: 0, tasks: [] };

export function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function sendProblem(response: ServerResponse, status: number, error: string, details: string[] = []): void {
  const body = { type: 'about:blank', title: error, status, code: 'FIXTURE', error, details };
  response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body));
}
