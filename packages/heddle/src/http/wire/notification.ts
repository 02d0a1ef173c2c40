import { Type, type Static } from 'typebox';

import { NOTIFY_STATES, NOTIFY_STATES_DEFAULT, type NoticeAction } from '@heddle/core/domain/notification/notification';
import { withoutPath } from '@heddle/base/redact';
import { paramsToWire, WebhookParamsDto } from './action.ts';
import { oneOf } from './basics.ts';

const closed = { additionalProperties: false };
const Url = Type.String({ minLength: 1, maxLength: 4096, description: 'http or https.' });
const Subject = Type.String({ minLength: 1, maxLength: 500, description: 'A template. Default: the title.' });

export const ChannelDto = Type.Object(
  {
    webhook: Type.Optional(
      Type.Object(
        {
          url: Url,
          verb: Type.Optional(oneOf(['Post', 'Put', 'Patch'], { default: 'Post' })),
          headers: Type.Optional(
            Type.Record(Type.String(), Type.String({ maxLength: 8192 }), {
              maxProperties: 64,
              description: 'Extra headers.',
            }),
          ),
        },
        { ...closed, description: 'A signed request, like the webhooks of tasks.' },
      ),
    ),
    slack: Type.Optional(
      Type.Object({ url: Url }, { ...closed, description: 'An incoming webhook that takes `{ text, blocks }`.' }),
    ),
    email: Type.Optional(
      Type.Object(
        {
          to: Type.Array(Type.String({ minLength: 3, maxLength: 254 }), { minItems: 1, maxItems: 50 }),
          subject: Type.Optional(Subject),
        },
        { ...closed, description: 'Sent through the mail server of `HEDDLE_SMTP_URL`.' },
      ),
    ),
  },
  { ...closed, minProperties: 1, maxProperties: 1, title: 'NotificationChannel', description: 'Exactly one of these.' },
);

/** An entry of a workflow's `notify`. */
export const WorkflowNotificationDto = Type.Object(
  {
    on: Type.Optional(
      Type.Array(oneOf([...NOTIFY_STATES]), {
        minItems: 1,
        default: [...NOTIFY_STATES_DEFAULT],
        description: 'The outcomes that are notified.',
      }),
    ),
    to: ChannelDto,
    title: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'A template: `{{ CEL }}`.' })),
    text: Type.Optional(Type.String({ minLength: 1, maxLength: 16_000, description: 'A template: `{{ CEL }}`.' })),
    payload: Type.Optional(
      Type.Unknown({ description: 'Replaces the whole default body; its strings are templates.' }),
    ),
  },
  { ...closed, title: 'WorkflowNotification' },
);
export type WorkflowNotificationDto = Static<typeof WorkflowNotificationDto>;

/** A notification in the outbox. */
export const NoticeDto = Type.Object(
  {
    kind: oneOf(['Webhook', 'Slack', 'Email']),
    trigger: oneOf(['Notify']),
    params: Type.Optional(WebhookParamsDto),
    mail: Type.Optional(
      Type.Object(
        { recipient: Type.String(), subject: Type.String(), text: Type.String() },
        { ...closed, description: 'With `Email`.' },
      ),
    ),
  },
  { ...closed, title: 'NoticeDto' },
);
export type NoticeDto = Static<typeof NoticeDto>;

const NOTICE_KIND = { webhook: 'Webhook', slack: 'Slack', email: 'Email' } as const;

export function noticeToWire(notice: NoticeAction): NoticeDto {
  const common = { kind: NOTICE_KIND[notice.channel], trigger: 'Notify' as const };
  if (notice.channel === 'email') {
    const { recipient, subject, text } = notice.mail;
    return { ...common, mail: { recipient, subject, text } };
  }
  const params = paramsToWire(notice.params);
  return { ...common, params: notice.channel === 'slack' ? { ...params, url: withoutPath(params.url) } : params };
}
