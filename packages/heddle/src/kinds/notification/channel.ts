import type { Notification } from '@heddle/core/domain/notification/notification';
import type { Notices } from '@heddle/core/engine/port';

export interface NotificationOptions {
  notices: Notices;
  /** Returns why an address must not receive a webhook; null if it may. Checked again before sending. */
  ssrf: (url: string) => string | null;
}

/** @throws Error if the channel is not allowed */
export function requireAllowedChannel({ channel }: Notification, ssrf: NotificationOptions['ssrf']): void {
  const fault = channel.type === 'email' ? null : ssrf(channel.url);
  if (fault !== null) throw new Error(`input.to.${channel.type}.url: ${fault}`);
}
