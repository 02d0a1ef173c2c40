import assert from 'node:assert/strict';
import { connect, type ClientHttp2Stream } from 'node:http2';
import { test } from 'node:test';

import { openGrpcListener } from '../../src/grpc/server.ts';
import type { Health } from '../../src/manager/port.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { StandInManager } from '../support/transports/stand-in-manager.ts';

class StatedManager extends StandInManager {
  state: Health['status'] = 'healthy';

  override health(): Health {
    return { ...super.health(), status: this.state };
  }
}

const message = (name: string): Buffer => {
  const field = name === '' ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, name.length]), Buffer.from(name)]);
  return Buffer.concat([Buffer.from([0, 0, 0, 0, field.length]), field]);
};

const SERVING = '00000000020801';
const NOT_SERVING = '00000000020802';
const SERVICE_UNKNOWN = '00000000020803';

test('health is reported to checks and watchers until the listener closes', async (t) => {
  const manager = new StatedManager();
  const clock = new VirtualClock();
  const listener = await openGrpcListener({ manager, host: '127.0.0.1', port: 0, tls: null, clock, log: silentLogger });
  const session = connect(`http://127.0.0.1:${listener.address.port}`);
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  const ask = (method: string, name: string): { hex: string; stream: ClientHttp2Stream } => {
    const path = `/grpc.health.v1.Health/${method}`;
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    const asked = { hex: '', stream };
    stream.on('data', (bytes: Buffer) => (asked.hex += bytes.toString('hex')));
    stream.on('error', () => undefined);
    stream.end(message(name));
    return asked;
  };
  const answerOf = async (name: string): Promise<string> => {
    const asked = ask('Check', name);
    await new Promise((resolve) => asked.stream.once('close', resolve));
    return asked.hex;
  };
  assert.deepEqual([await answerOf(''), await answerOf('heddle.remote.v1.Executor')], [SERVING, SERVING]);
  const watching = ask('Watch', '');
  const unknown = ask('Watch', 'nobody');
  await eventually(() => watching.hex === SERVING && unknown.hex === SERVICE_UNKNOWN, 'the current state is reported');
  await clock.advance(1_000);
  manager.state = 'draining';
  assert.equal(await answerOf(''), NOT_SERVING);
  await clock.advance(1_000);
  await eventually(() => watching.hex === SERVING + NOT_SERVING, 'only the change is reported');
  assert.equal(unknown.hex, SERVICE_UNKNOWN);
  const closed = listener.close(60_000);
  await eventually(() => watching.stream.closed && unknown.stream.closed, 'the calls of watchers to end');
  session.close();
  await closed;
});
