import type { Http2Server, Http2Session, ServerHttp2Stream } from 'node:http2';

import type { Server as GrpcServer } from '@grpc/grpc-js';

/** What the library keeps to itself and has no option for; a test holds that it is still there. */
interface Inside {
  commonServerOptions: object;
  http2Servers: Map<Http2Server, unknown>;
}

type StreamListener = (stream: ServerHttp2Stream, ...rest: unknown[]) => void;

/** Sets options of HTTP/2. To be called before the library makes its own server of it. */
export function setHttp2Options(server: GrpcServer, options: object): void {
  Object.assign((server as unknown as Inside).commonServerOptions, options);
}

export interface StreamHooks {
  /** A stream of a connection that is not cut, before the library hears of it; it is to call `begin` for that. */
  opened(stream: ServerHttp2Stream, session: Http2Session, begin: () => void): void;
  /** The library has heard of it. */
  begun(stream: ServerHttp2Stream, session: Http2Session): void;
}

/** Comes between HTTP/2 and the library: what has ended before it began costs no call. */
export function watchStreams(server: GrpcServer, hooks: StreamHooks): void {
  for (const http2Server of (server as unknown as Inside).http2Servers.keys()) {
    const listeners = http2Server.listeners('stream') as StreamListener[];
    http2Server.removeAllListeners('stream');
    http2Server.on('stream', (stream: ServerHttp2Stream, ...rest: unknown[]) => {
      const { session } = stream;
      if (session === undefined || session.destroyed) return;
      // Until the library listens.
      stream.on('error', () => undefined);
      hooks.opened(stream, session, () => {
        if (stream.destroyed || isOver(session)) return;
        for (const listener of listeners) listener.call(http2Server, stream, ...rest);
        if (!isOver(session)) hooks.begun(stream, session);
      });
    });
  }
}

/** Asked through a function because the compiler does not see that the library may end it. */
function isOver({ destroyed }: Http2Session): boolean {
  return destroyed;
}
