/** Protocols of collectors, as in `OTEL_EXPORTER_OTLP_PROTOCOL`. */
export const OTLP_PROTOCOLS = ['grpc', 'http/protobuf', 'http/json'] as const;

export type OtlpProtocol = (typeof OTLP_PROTOCOLS)[number];

/** Default ports of collectors. */
const GRPC_PORT = '4317';
const HTTP_PORT = '4318';
const TRACES_PATH = '/v1/traces';

/**
 * Returns how and where spans are delivered. Port 4317 means gRPC unless a protocol is set. Over HTTP a base URL
 * without a path gets `/v1/traces`, and one with a path is used as it is; gRPC has no path.
 */
export function targetOf(
  endpoint: string | null,
  protocol: OtlpProtocol | null,
): { protocol: OtlpProtocol; url: string } {
  const port = protocol === 'grpc' ? GRPC_PORT : HTTP_PORT;
  const url = new URL(endpoint ?? `http://localhost:${port}`);
  const chosen = protocol ?? (url.port === GRPC_PORT ? 'grpc' : 'http/json');
  if (chosen === 'grpc') return { protocol: chosen, url: url.origin };
  if (url.pathname === '/') url.pathname = TRACES_PATH;
  return { protocol: chosen, url: url.href };
}
