import { openGrpcTransport } from '../../src/grpc/client.ts';
import { openGrpcListener } from '../../src/grpc/server.ts';
import { describeTransport } from '../support/transports/suite.ts';

describeTransport({
  protocol: 'grpc',
  progress: true,
  open: (options) => openGrpcListener(options),
  transport: (endpoint, tls, clock) => openGrpcTransport(endpoint, tls, { clock }),
});
