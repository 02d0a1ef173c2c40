import { openGrpcTransport } from '../../../src/remote/grpc/client.ts';
import { openGrpcListener } from '../../../src/remote/grpc/server.ts';
import { openTcpTransport } from '../../../src/remote/tcp/client.ts';
import { openTcpListener } from '../../../src/remote/tcp/server.ts';
import { openXmlRpcTransport } from '../../../src/remote/xmlrpc/client.ts';
import { openXmlRpcListener } from '../../../src/remote/xmlrpc/server.ts';

/** Listener and client transport of each protocol. */
export const WIRES = {
  tcp: [openTcpListener, openTcpTransport],
  xmlrpc: [openXmlRpcListener, openXmlRpcTransport],
  grpc: [openGrpcListener, openGrpcTransport],
} as const;
export type Wire = keyof typeof WIRES;
