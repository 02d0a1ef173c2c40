export { RemoteFailure, REMOTE_CODES, type RemoteCode } from '../protocol/codes.ts';
export type {
  EventSummary,
  PendingResponse,
  RecentTask,
  StatusResponse,
  SuccessResponse,
  TaskProgress,
  Tier,
} from '../protocol/messages.ts';
export { RemoteCallFailure } from './failures.ts';
export type {
  CallLimits,
  CancelAnswer,
  ClientTlsFiles,
  EndpointState,
  RemoteExecutorOptions,
  RemoteTask,
  RetryNotice,
  SubmitOptions as RemoteSubmitOptions,
  TaskAnswer,
  TaskReference,
} from './options.ts';
export type { ClientCredentials } from '../security/client-credentials.ts';
export { TransportFailure, type ClientTls } from './port.ts';
export { RemoteExecutor } from './remote-executor.ts';
