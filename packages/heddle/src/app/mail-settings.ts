import { parseMailSender, parseSmtpAddress } from '../dispatch/smtp-address.ts';
import * as kind from './setting.ts';

/** Settings of the mail server for notifications. */
export const MAIL_SETTING_GROUPS = {
  'E-mail': {
    smtpUrl: kind.checkedText({
      name: 'HEDDLE_SMTP_URL',
      fallback: '',
      fallbackText: 'none: no mail is sent',
      allowed: 'smtp[s]://[USER:PASSWORD@]HOST[:PORT], with ?starttls=required, optional or off for smtp://',
      check: (given) => parseSmtpAddress(given) !== null,
      show: kind.withoutPassword,
      description:
        'Mail server for notifications: `smtps://USER:PASSWORD@HOST`, or `smtp://HOST` with `?starttls=required` (the default with a password), `optional` or `off`',
    }),
    smtpFrom: kind.checkedText({
      name: 'HEDDLE_SMTP_FROM',
      fallback: '',
      fallbackText: 'the user of `HEDDLE_SMTP_URL`, else `heddle@HOST`',
      allowed: 'an address such as heddle@example.com or Heddle <heddle@example.com>',
      check: (given) => parseMailSender(given) !== null,
      description: 'Sender of mails: `heddle@example.com` or `Heddle <heddle@example.com>`',
    }),
  },
} as const;
