/** Address of attackers; legitimate clients use another one. */
export const STRANGER = '127.0.0.77';

export interface StrangerAttack {
  readonly name: string;
  readonly wire: 'tcp' | 'xmlrpc' | 'grpc';
  readonly connections: number;
  readonly does: 'bad-macs' | 'unfinished' | 'drip' | 'resets' | 'hpack' | 'connect';
  /** Settings of one attacker. */
  readonly bytes?: number;
}

export interface StrangerWork {
  readonly attack: StrangerAttack;
  readonly port: number;
}
