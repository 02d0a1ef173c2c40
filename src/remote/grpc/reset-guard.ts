import type { Http2Server, Http2Session, ServerHttp2Stream } from 'node:http2';

import type { Server as GrpcServer } from '@grpc/grpc-js';

import type { Clock } from '../../runtime/clock.ts';

interface ResetCount {
  sinceMs: number;
  resets: number;
}

const WINDOW_MS = 1_000;

type StreamListener = (stream: ServerHttp2Stream, ...rest: unknown[]) => void;

/** Resets of one connection: as many at once as it may have streams, and so many more a second. Beyond, HTTP/2 ends it. */
const RESETS_PER_SECOND = 16;

/** What the library keeps to itself and has no option for; a test holds that it is still there. */
interface Inside {
  commonServerOptions: object;
  http2Servers: Map<Http2Server, unknown>;
}

/** Bounds how often a peer may reset its streams. To be called before the library makes its own server of HTTP/2. */
export function limitResets(server: GrpcServer, burst: number): void {
  const { commonServerOptions } = server as unknown as Inside;
  Object.assign(commonServerOptions, { streamResetBurst: burst, streamResetRate: RESETS_PER_SECOND });
}

/**
 * Cuts a connection at the reset that is one too many. HTTP/2 itself looks at its bound once a read, and thousands of
 * streams fit into one, each of which would cost a call of the library.
 */
export function cutAtResets(server: GrpcServer, burst: number, clock: Clock): void {
  for (const http2Server of (server as unknown as Inside).http2Servers.keys()) {
    const counts = new WeakMap<Http2Session, ResetCount>();
    for (const listener of http2Server.listeners('stream') as StreamListener[]) {
      http2Server.off('stream', listener);
      http2Server.on('stream', (stream: ServerHttp2Stream, ...rest: unknown[]) => {
        const { session } = stream;
        if (session === undefined || session.destroyed) return;
        stream.once('close', () => {
          if (stream.rstCode === 0) return;
          const nowMs = clock.monotonic();
          const before = counts.get(session);
          const count =
            before === undefined || nowMs - before.sinceMs > WINDOW_MS ? { sinceMs: nowMs, resets: 0 } : before;
          count.resets += 1;
          counts.set(session, count);
          if (count.resets > burst) session.destroy();
        });
        listener.call(http2Server, stream, ...rest);
      });
    }
  }
}
