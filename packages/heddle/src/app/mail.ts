import { smtpServer, type MailServer } from '../dispatch/mail.ts';
import { parseMailSender, parseSmtpAddress, type MailSender, type SmtpAddress } from '../dispatch/smtp-address.ts';
import type { Clock } from '@heddle/base/clock';
import type { SettingValues } from './settings.ts';

/** Returns the mail server of the settings, null if there is none. Connects when the first mail is sent. */
export function mailServerOf(settings: SettingValues, clock: Clock): MailServer | null {
  const address = settings.smtpUrl === '' ? null : parseSmtpAddress(settings.smtpUrl);
  if (address === null) return null;
  return smtpServer({
    address,
    sender: senderOf(settings, address),
    connectionsMax: Math.min(settings.webhookConcurrencyPerHost, settings.webhookConcurrency),
    timeoutMs: settings.webhookTimeoutSecs * 1000,
    clock,
  });
}

function senderOf({ smtpFrom }: SettingValues, { user, host }: SmtpAddress): MailSender {
  const named = smtpFrom === '' ? parseMailSender(user ?? '') : parseMailSender(smtpFrom);
  return named ?? parseMailSender(`heddle@${host}`) ?? { name: '', address: 'heddle@localhost' };
}
