import { openXmlRpcTransport } from '../../src/xmlrpc/client.ts';
import { openXmlRpcListener } from '../../src/xmlrpc/server.ts';
import { describeRequestAttacks } from '../support/transports/request-attacks.ts';

describeRequestAttacks({
  protocol: 'xmlrpc',
  progress: false,
  open: (options) => openXmlRpcListener(options),
  transport: (endpoint, tls, clock) => openXmlRpcTransport(endpoint, tls, { clock }),
});
