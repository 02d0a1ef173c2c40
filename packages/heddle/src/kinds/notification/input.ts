import type { JsonObject } from '@heddle/base/json';
import type { Notification } from '@heddle/core/domain/notification/notification';
import { NOTIFICATION_MEMBERS, readNotification } from '@heddle/core/domain/parse/notification';
import { schemaOf } from '../definition/input-schema.ts';

const EXCERPT_DEFAULT = 10;
const EXCERPT_MAX = 100;

export interface ResultNotificationInput {
  notification: Notification;
  /** Results that are included; the others are only counted. */
  limit: number;
}

export const notificationSchema = schemaOf<Notification, JsonObject>((input) => {
  input.refuseOthers(NOTIFICATION_MEMBERS);
  return readNotification(input);
});

export const resultNotificationSchema = schemaOf<ResultNotificationInput, JsonObject>((input) => {
  input.refuseOthers([...NOTIFICATION_MEMBERS, 'limit']);
  return { notification: readNotification(input), limit: input.integer('limit', 0, EXCERPT_MAX) ?? EXCERPT_DEFAULT };
});
