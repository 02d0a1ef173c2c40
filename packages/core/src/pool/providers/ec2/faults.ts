import { LaunchFailure, type LaunchFault } from '../../port/provider.ts';

const THROTTLED = new Set([
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'EC2ThrottledException',
  'TooManyRequestsException',
]);

/** No capacity now, or none for this account; other types, subnets or usage classes may still be available. */
const CAPACITY = new Set([
  'InsufficientInstanceCapacity',
  'InsufficientHostCapacity',
  'InsufficientCapacity',
  'InsufficientReservedInstanceCapacity',
  'InsufficientFreeAddressesInSubnet',
  'InstanceLimitExceeded',
  'VcpuLimitExceeded',
  'MaxSpotInstanceCountExceeded',
  'SpotMaxPriceTooLow',
  'UnfulfillableCapacity',
  'Unsupported',
  // The instances of this token were launched and have ended; another launch needs another token.
  'IdempotentInstanceTerminated',
]);

/** The token was already used with different parameters, so the call changed nothing. */
export const MISMATCH = 'IdempotentParameterMismatch';

export function codeOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

/** Classifies an error of the service; after an unknown error, instances may have been launched. */
function faultOf(error: unknown): LaunchFault {
  const code = codeOf(error);
  if (THROTTLED.has(code)) return 'throttled';
  if (CAPACITY.has(code)) return 'capacity';
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status !== undefined && status >= 400 && status < 500 ? 'refused' : 'unclear';
}

const ADVICE: Readonly<Record<LaunchFault, string>> = {
  throttled: 'EC2 throttled the call; the launch is retried',
  capacity: 'EC2 has no capacity; allow more instance types or subnets, or raise the quota',
  refused: 'EC2 refused the launch; check its parameters and the permissions of the credentials',
  unclear: 'EC2 may or may not have launched instances; the same call is repeated',
};

export function launchFailure(error: unknown): LaunchFailure {
  if (error instanceof LaunchFailure) return error;
  const fault = faultOf(error);
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new LaunchFailure(fault, `${ADVICE[fault]} (${reason})`, error);
}
