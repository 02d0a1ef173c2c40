import { openGrpcTransport } from '../../../src/remote/grpc/client.ts';
import { openGrpcListener } from '../../../src/remote/grpc/server.ts';
import { describeTransport } from '../transports/suite.ts';

describeTransport({
  protocol: 'grpc',
  progress: true,
  open: (options) => openGrpcListener(options),
  transport: (endpoint, tls, clock) => openGrpcTransport(endpoint, tls, { clock }),
});
