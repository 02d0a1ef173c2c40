import { openTcpTransport } from '../../src/tcp/client.ts';
import { openTcpListener } from '../../src/tcp/server.ts';
import { describeRequestAttacks } from '../support/transports/request-attacks.ts';

describeRequestAttacks({
  protocol: 'tcp',
  progress: true,
  open: (options) => openTcpListener(options),
  transport: (endpoint, tls, clock) => openTcpTransport(endpoint, tls, { clock }),
});
