import type { JsonObject, JsonValue } from '@heddle/base/json';
import type { Channel, NoticeAction, RenderedNotification } from './notification.ts';
import { cutText, oneLine } from './one-line.ts';

/** Subject of a notification, beside its own strings. */
export interface NoticeSubject {
  /** Event type by which receivers distinguish events: `workflow.failed`, `task.notification`. */
  type: string;
  /** Milliseconds since the epoch. */
  at: number;
  /** Members of the body's `data`: the workflow, the task, results. */
  facts: JsonObject;
  /** One line that names the workflow, and the task, for people. */
  origin: string;
}

const SLACK_HEADER_CHARACTERS = 150;
const SLACK_SECTION_CHARACTERS = 3000;
const MAIL_CHARACTERS = 100_000;

/** Returns the requests of a notification: one, or one mail per recipient, so that each is retried by itself. */
export function composeNotices(
  channel: Channel,
  rendered: RenderedNotification,
  subject: NoticeSubject,
): NoticeAction[] {
  const trigger = 'notify' as const;
  switch (channel.type) {
    case 'webhook': {
      const { url, verb, headers } = channel;
      const body = rendered.payload ?? standardBody(rendered, subject);
      return [{ trigger, channel: 'webhook', params: { url, verb, body, ...(headers === null ? {} : { headers }) } }];
    }
    case 'slack': {
      const body = rendered.payload ?? slackBody(rendered, subject);
      return [{ trigger, channel: 'slack', params: { url: channel.url, verb: 'Post', body } }];
    }
    case 'email': {
      const message = { to: channel.to, subject: oneLine(rendered.subject), text: mailText(rendered, subject) };
      return channel.to.map((recipient) => ({ trigger, channel: 'email', mail: { recipient, ...message } }));
    }
  }
}

/** Follows Standard Webhooks: type, time, and everything else in `data`. */
function standardBody({ title, text }: RenderedNotification, { type, at, facts }: NoticeSubject): JsonObject {
  return { type, timestamp: new Date(at).toISOString(), data: { title, text, ...facts } };
}

function slackBody({ title, text }: RenderedNotification, { origin }: NoticeSubject): JsonObject {
  const section = escaped(text);
  return {
    text: text === '' ? escaped(title) : `*${escaped(title)}*\n${cutText(section, SLACK_SECTION_CHARACTERS)}`,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cutText(title, SLACK_HEADER_CHARACTERS) } },
      ...(text === ''
        ? []
        : [{ type: 'section', text: { type: 'mrkdwn', text: cutText(section, SLACK_SECTION_CHARACTERS) } }]),
      { type: 'context', elements: [{ type: 'mrkdwn', text: escaped(cutText(origin, 500)) }] },
    ],
  };
}

/** Escapes what Slack would read as a link or a broadcast (`<!channel>`), since a task's result may hold anything. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function mailText({ title, text, payload }: RenderedNotification, { origin }: NoticeSubject): string {
  const parts = [
    text === '' ? title : text,
    ...(payload === undefined ? [] : [shownPayload(payload)]),
    `-- \n${origin}`,
  ];
  return cutText(parts.join('\n\n'), MAIL_CHARACTERS);
}

function shownPayload(payload: JsonValue): string {
  return typeof payload === 'string' ? payload : JSON.stringify(payload, null, 2);
}
