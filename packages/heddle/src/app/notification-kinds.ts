import type { Notices } from '@heddle/core/engine/port';
import type { KindDefinition } from '@heddle/kit';
import { errorNotification } from '../kinds/notification/error.ts';
import { genericNotification } from '../kinds/notification/generic.ts';
import { taskResultNotification } from '../kinds/notification/task-result.ts';

export interface NotificationKindsOptions {
  notices: Notices;
  /** Returns why a webhook may not call an address; null if it may. */
  ssrf: (url: string) => string | null;
}

/** The kinds that send notifications. They run in servers: what they send is stored together with their success. */
export function notificationKinds(options: NotificationKindsOptions): KindDefinition[] {
  return [genericNotification(options), taskResultNotification(options), errorNotification(options)];
}
