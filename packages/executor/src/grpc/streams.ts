import type { Http2Server, Http2Session, ServerHttp2Stream } from 'node:http2';

import type { Server as GrpcServer } from '@grpc/grpc-js';

/** Internal members of the library without a public option; a test verifies that they exist. */
interface ServerInternals {
  commonServerOptions: object;
  http2Servers: Map<Http2Server, unknown>;
}

type StreamListener = (stream: ServerHttp2Stream, ...rest: unknown[]) => void;

/** Sets HTTP/2 options. Must be called before the library creates its HTTP/2 server. */
export function setHttp2Options(server: GrpcServer, options: object): void {
  Object.assign((server as unknown as ServerInternals).commonServerOptions, options);
}

export interface StreamHooks {
  /** Called for a new stream of an open connection, before the library sees it; `begin` passes it on. */
  opened(stream: ServerHttp2Stream, session: Http2Session, begin: () => void): void;
  /** Called after the library has received the stream. */
  begun(stream: ServerHttp2Stream, session: Http2Session): void;
}

/** Intercepts streams before the library, so that streams that end before they begin cost no call. */
export function watchStreams(server: GrpcServer, hooks: StreamHooks): void {
  for (const http2Server of (server as unknown as ServerInternals).http2Servers.keys()) {
    const listeners = http2Server.listeners('stream') as StreamListener[];
    http2Server.removeAllListeners('stream');
    http2Server.on('stream', (stream: ServerHttp2Stream, ...rest: unknown[]) => {
      const { session } = stream;
      if (session === undefined || session.destroyed) return;
      // Ignores errors until the library listens for them.
      stream.on('error', () => undefined);
      hooks.opened(stream, session, () => {
        if (stream.destroyed || isDestroyed(session)) return;
        for (const listener of listeners) listener.call(http2Server, stream, ...rest);
        if (!isDestroyed(session)) hooks.begun(stream, session);
      });
    });
  }
}

/** A function, because the compiler does not see that the library may end the session. */
function isDestroyed({ destroyed }: Http2Session): boolean {
  return destroyed;
}
