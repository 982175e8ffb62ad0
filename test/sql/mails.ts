import { mailList } from '../../src/users/mails/mail-list';
import { MailsRepository } from '../../src/users/mails/mails.repository';
import { listQuery } from '../support/contract/list-queries';
import { administrator, carrierUser, limited, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

export const mails = sqlExamples(MailsRepository, {
  find: [[other_id, limited]],
  list: [
    [administrator, listQuery(mailList)],
    [carrierUser, listQuery(mailList, { state_in: 'retrying,failed', recipient_like: 'example' })],
  ],
  listOf: [[user_id, 10]],
  countByState: [[]],
  listLinks: [[[user_id]]],
  listSuspendedKeys: [[user_id]],
});
