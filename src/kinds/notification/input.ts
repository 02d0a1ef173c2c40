import type { JsonObject } from '../../domain/json.ts';
import type { Notification } from '../../domain/notification/notification.ts';
import { NOTIFICATION_MEMBERS, readNotification } from '../../domain/parse/notification.ts';
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
