import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ClientTransport } from '../../src/client/port.ts';
import { openGrpcTransport } from '../../src/grpc/client.ts';
import { openGrpcListener } from '../../src/grpc/server.ts';
import { openTcpTransport } from '../../src/tcp/client.ts';
import { openTcpListener } from '../../src/tcp/server.ts';
import { openXmlRpcTransport } from '../../src/xmlrpc/client.ts';
import { openXmlRpcListener } from '../../src/xmlrpc/server.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { opened, StandInManager, submit } from '../support/transports/stand-in-manager.ts';
import { certificates, quiet } from '../support/transports/suite.ts';

const WIRES = [
  ['tcp', openTcpListener, openTcpTransport],
  ['xmlrpc', openXmlRpcListener, openXmlRpcTransport],
  ['grpc', openGrpcListener, openGrpcTransport],
] as const;

for (const [protocol, listen, open] of WIRES) {
  for (const limits of [{ connections_max: 3 }, { connections_per_address_max: 3 }])
    test(`${protocol}: unproven callers lock out no proven ones (${Object.keys(limits)[0]})`, async (t) => {
      const { authority, server } = await certificates();
      const tls = { cert: server.pem, key: server.key, ca: null };
      const given = { manager: new StandInManager(), host: '127.0.0.1', port: 0, tls, limits };
      const listener = await listen({ ...given, clock: systemClock, log: silentLogger });
      t.after(() => listener.close(0));
      const { port } = listener.address;
      const connected = (): ClientTransport => {
        const made = open(
          { protocol, host: '127.0.0.1', port, tls: true },
          { ca: authority.pem },
          { clock: systemClock },
        );
        t.after(() => made.close());
        return made;
      };
      for (let number = 0; number < 3; number += 1) {
        const forged = { ...submit('Echo', {}), mac: Buffer.alloc(32, number) };
        // The rejection is signed for the client that was named.
        assert.equal(opened(await connected().call(forged, quiet), forged)['code'], 'INVALID_CHECKSUM');
      }
      const request = submit('Echo', { newcomer: true });
      assert.deepEqual(opened(await connected().call(request, quiet), request)['result'], { newcomer: true });
    });
}
