import { openTcpTransport } from '../../src/tcp/client.ts';
import { openTcpListener } from '../../src/tcp/server.ts';
import { describeTransport } from '../support/transports/suite.ts';

describeTransport({
  protocol: 'tcp',
  progress: true,
  open: (options) => openTcpListener(options),
  transport: (endpoint, tls, clock) => openTcpTransport(endpoint, tls, { clock }),
});
