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

/** There are none now, or no more for this account: other types, places or usage may still be had. */
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
  // What the token stands for was launched and ended meanwhile: another launch needs another token.
  'IdempotentInstanceTerminated',
]);

/** Another call with this token was different, so this one changes nothing. */
export const MISMATCH = 'IdempotentParameterMismatch';

export function codeOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

/** What an error of the service means for a launch; whoever cannot be understood may have launched. */
export function faultOf(error: unknown): LaunchFault {
  const code = codeOf(error);
  if (THROTTLED.has(code)) return 'throttled';
  if (CAPACITY.has(code)) return 'capacity';
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status !== undefined && status >= 400 && status < 500 ? 'refused' : 'unclear';
}

const ADVICE: Readonly<Record<LaunchFault, string>> = {
  throttled: 'EC2 asks for fewer calls; the launch is tried again',
  capacity: 'EC2 has none of these now; allow more instance types or subnets, or raise the quota',
  refused: 'EC2 refuses the launch; check its parameters and what the credentials may do',
  unclear: 'nobody knows whether EC2 launched; the same call is made again',
};

export function launchFailure(error: unknown): LaunchFailure {
  if (error instanceof LaunchFailure) return error;
  const fault = faultOf(error);
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new LaunchFailure(fault, `${ADVICE[fault]} (${reason})`, error);
}
