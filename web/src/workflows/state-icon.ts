import canceledIcon from '../icons/canceled.svg?url';
import creatingIcon from '../icons/creating.svg?url';
import failureIcon from '../icons/failure.svg?url';
import partialIcon from '../icons/partial.svg?url';
import runningIcon from '../icons/running.svg?url';
import successIcon from '../icons/success.svg?url';
import timeoutIcon from '../icons/timeout.svg?url';
import waitingIcon from '../icons/waiting.svg?url';
import type { NodeState } from './node-state.ts';

export const STATE_ICON: Record<NodeState, string> = {
  Pending: waitingIcon,
  Running: runningIcon,
  PendingTaskCreation: creatingIcon,
  Succeeded: successIcon,
  PartiallyFailed: partialIcon,
  Failed: failureIcon,
  Timeout: timeoutIcon,
  Disabled: canceledIcon,
};
