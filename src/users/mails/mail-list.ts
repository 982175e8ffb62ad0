import { namedEnum } from '../../platform/named-enum';
import type { ListSpec } from '../../http/lists/list-query';
import { mailNames } from '../../platform/mail/mail-name';

/** State of a mail that is not sent yet. */
export const mailStates = namedEnum('MailState', ['waiting', 'retrying', 'sending', 'failed']);

/** State of a mail in the login check. */
export const userMailStates = namedEnum('UserMailState', [...mailStates, 'sent']);

/** Filters and sort fields of mail lists. */
export const mailList: ListSpec = {
  name: 'mails',
  filter: {
    selects: 'mail',
    fields: {
      mail_id: { type: 'uuid', meaning: 'Id of the mail' },
      kind: { type: 'text', values: mailNames, meaning: 'Kind of mail' },
      state: { type: 'text', values: mailStates, meaning: 'State of the mail' },
      failing: { type: 'boolean', meaning: 'Failed at least twice, or got a 5xx response of the mail server' },
      user_id: { type: 'uuid', meaning: 'Id of the user who receives the mail' },
      carrier_id: { type: 'text', nullable: true, meaning: 'Carrier of the user' },
      recipient: { type: 'text', fold: true, meaning: 'Address of the recipient' },
      created_at: { type: 'time', meaning: 'When the mail was requested' },
      next_attempt_at: { type: 'time', nullable: true, meaning: 'Time of the next attempt' },
    },
  },
  sorts: { created_at: { type: 'time' }, next_attempt_at: { type: 'time', nullable: true } },
  defaultSort: 'created_at',
};
