import { InvitationsRepository } from '../../src/user-mails/invitations.repository';
import { hash, user_id, sqlExamples } from '../support/sql-examples';

const job = { user_id: user_id, mail: 'invitation' as const, email: 'jane@example.com' };

export const invitations = sqlExamples(InvitationsRepository, {
  add: [
    [
      [{ user_id: user_id, limit_key: hash, job, job_key: `invitation:${user_id}` }],
      { name: 'invitations', max: 3, window_seconds: 3_600 },
    ],
  ],
});
