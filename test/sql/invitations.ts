import { InvitationsRepository } from '../../src/user-mails/invitations.repository';
import { sqlExamples, user_id } from '../support/sql-examples';

export const invitations = sqlExamples(InvitationsRepository, {
  listLinks: [[[user_id]]],
  listSuspendedKeys: [[user_id]],
});
