/** Where strangers come from: the honest are elsewhere. */
export const STRANGER = '127.0.0.77';

export interface StrangerAttack {
  readonly name: string;
  readonly wire: 'tcp' | 'xmlrpc' | 'grpc';
  readonly connections: number;
  readonly does: 'bad-macs' | 'unfinished' | 'drip' | 'resets' | 'hpack' | 'connect';
  /** Of one request. */
  readonly bytes?: number;
}

export interface StrangerWork {
  readonly attack: StrangerAttack;
  readonly port: number;
}
