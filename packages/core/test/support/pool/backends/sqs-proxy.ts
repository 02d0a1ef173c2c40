/** An HTTP proxy between the SDK and SQS that records the calls of a queue and drops responses on demand. */
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface SqsBody {
  readonly MaxNumberOfMessages?: number;
  readonly WaitTimeSeconds?: number;
  readonly VisibilityTimeout?: number;
  readonly Entries?: readonly { readonly DelaySeconds?: number }[];
}

export class SqsProxy {
  /** Message calls as one line each, in order of arrival. */
  readonly calls: string[] = [];
  /** Calls of this name are executed, and their responses are lost. */
  losesAnswersOf: string | null = null;
  readonly #server: Server;
  readonly #target: URL;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((request, response) => void this.#pass(request, response));
  }

  static async start(target: string): Promise<SqsProxy> {
    const proxy = new SqsProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const name = String(request.headers['x-amz-target']).replace('AmazonSQS.', '');
    if (/Message/.test(name)) this.calls.push(lineOf(name, JSON.parse(body.toString()) as SqsBody));
    const { hostname, port } = this.#target;
    const { url = '/', method = 'POST', headers } = request;
    const onward = forward({ hostname, port, path: url, method, headers }, (answer) => {
      if (this.losesAnswersOf === name) {
        answer.resume();
        answer.once('end', () => response.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.once('error', () => response.destroy());
    onward.end(body);
  }
}

function lineOf(name: string, body: SqsBody): string {
  if (name === 'ReceiveMessage') {
    return `${name} ${body.MaxNumberOfMessages}, wait ${body.WaitTimeSeconds}, hidden ${body.VisibilityTimeout}`;
  }
  const { Entries: entries = [] } = body;
  const delay = name === 'SendMessageBatch' ? `, delay ${entries[0]?.DelaySeconds}` : '';
  return `${name} ${entries.length}${delay}`;
}
