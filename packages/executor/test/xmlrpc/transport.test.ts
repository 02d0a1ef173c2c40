import { openXmlRpcTransport } from '../../src/xmlrpc/client.ts';
import { openXmlRpcListener } from '../../src/xmlrpc/server.ts';
import { describeTransport } from '../support/transports/suite.ts';

describeTransport({
  protocol: 'xmlrpc',
  progress: false,
  open: (options) => openXmlRpcListener(options),
  transport: (endpoint, tls, clock) => openXmlRpcTransport(endpoint, tls, { clock }),
});
