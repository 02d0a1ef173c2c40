import type { OpenTransport } from './options.ts';

/** Opens the transport for an endpoint's protocol; protocol modules load on first use. */
export const openByProtocol: OpenTransport = async (endpoint, tls, clock) => {
  switch (endpoint.protocol) {
    case 'tcp': {
      const { openTcpTransport } = await import('../tcp/client.ts');
      return openTcpTransport(endpoint, tls, { clock });
    }
    case 'xmlrpc': {
      const { openXmlRpcTransport } = await import('../xmlrpc/client.ts');
      return openXmlRpcTransport(endpoint, tls, { clock });
    }
    case 'grpc': {
      const { openGrpcTransport } = await import('../grpc/client.ts');
      return openGrpcTransport(endpoint, tls, { clock });
    }
  }
};
