import { openGrpcTransport } from '../../../src/grpc/client.ts';
import { openGrpcListener } from '../../../src/grpc/server.ts';
import { openTcpTransport } from '../../../src/tcp/client.ts';
import { openTcpListener } from '../../../src/tcp/server.ts';
import { openXmlRpcTransport } from '../../../src/xmlrpc/client.ts';
import { openXmlRpcListener } from '../../../src/xmlrpc/server.ts';

/** Listener and client transport of each protocol. */
export const WIRES = {
  tcp: [openTcpListener, openTcpTransport],
  xmlrpc: [openXmlRpcListener, openXmlRpcTransport],
  grpc: [openGrpcListener, openGrpcTransport],
} as const;
export type Wire = keyof typeof WIRES;
