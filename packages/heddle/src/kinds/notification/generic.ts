import { GENERIC_KIND } from '@heddle/core/domain/notification/kinds';
import { defineKind } from '@heddle/kit';
import { ResultWithNotification } from '../definition/result-with-notification.ts';
import { requireAllowedChannel, type NotificationOptions } from './channel.ts';
import { notificationSchema } from './input.ts';

/** `GenericNotification`: sends the message of its templates. */
export function genericNotification({ notices, ssrf }: NotificationOptions) {
  return defineKind({
    name: GENERIC_KIND,
    input: notificationSchema,
    timeout_secs: 300,
    run: async (notification, { task }) => {
      requireAllowedChannel(notification, ssrf);
      const actions = await notices.compose({
        task,
        notification,
        type: 'task.notification',
        facts: {},
        words: (workflow) => ({ title: task.name === GENERIC_KIND ? `Workflow ${workflow}` : task.name, text: '' }),
        plain_if_template_fails: false,
      });
      return new ResultWithNotification({ sent: true, deliveries: actions.length }, actions);
    },
  });
}
