import type { Notification } from '../../domain/notification/notification.ts';
import type { Notices } from '../../engine/port.ts';

export interface NotificationOptions {
  notices: Notices;
  /** What is wrong with an address that a webhook is to go to; null where nothing is. Checked again when it is sent. */
  ssrf: (url: string) => string | null;
}

/** @throws Error where what is told may not go there */
export function requireAllowedChannel({ channel }: Notification, ssrf: NotificationOptions['ssrf']): void {
  const fault = channel.type === 'email' ? null : ssrf(channel.url);
  if (fault !== null) throw new Error(`input.to.${channel.type}.url: ${fault}`);
}
