import { MailsRepository } from '../../src/user-mails/mails.repository';
import { administrator, carrierUser, limited, other_id, sqlExamples } from '../support/sql-examples';

export const mails = sqlExamples(MailsRepository, {
  find: [[other_id, limited]],
  list: [
    [administrator, {}],
    [carrierUser, { state_in: 'retrying,failed', recipient_like: 'example' }],
  ],
  countByState: [[]],
});
