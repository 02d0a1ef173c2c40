import { openXmlRpcTransport } from '../../../src/remote/xmlrpc/client.ts';
import { openXmlRpcListener } from '../../../src/remote/xmlrpc/server.ts';
import { describeTransport } from '../transports/suite.ts';

describeTransport({
  protocol: 'xmlrpc',
  progress: false,
  open: (options) => openXmlRpcListener(options),
  transport: (endpoint, tls, clock) => openXmlRpcTransport(endpoint, tls, { clock }),
});
