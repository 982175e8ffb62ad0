import type { ListSpec } from '../common/query/list-query';
import { rawSql, sql } from '../common/query/sql';
import { endedReasons } from './session.entity';

/** SQL that tells a live session. Its user's state is asked for where it matters: ending a user's sessions is part of disabling them. */
export const liveSession = rawSql('(sessions.ended_at is null and sessions.expires_at > now())');

/** What sessions can be filtered and sorted by. */
export const sessionList: ListSpec = {
  name: 'sessions',
  filter: {
    fields: {
      session_id: { column: 'sessions.session_id', type: 'uuid', meaning: 'Id of the session' },
      user_id: { column: 'sessions.user_id', type: 'uuid', meaning: 'Whose session' },
      user_type: { column: 'sessions.user_type', type: 'text', values: ['system', 'carrier'], meaning: 'Kind of user' },
      carrier_id: { column: 'sessions.carrier_id', type: 'text', nullable: true, meaning: 'Carrier of the user' },
      ip: { column: 'sessions.ip', type: 'address', nullable: true, meaning: 'Address of the login (address or CIDR)' },
      user_agent: { column: 'sessions.user_agent', type: 'text', nullable: true, meaning: 'User agent of the login' },
      active: {
        column: 'sessions.ended_at',
        type: 'boolean',
        equals: (value) => sql`${liveSession} = ${value}::boolean`,
        meaning: 'Whether it lives',
      },
      ended_reason: { column: 'sessions.ended_reason', type: 'text', nullable: true, values: endedReasons, meaning: 'Why it ended' },
      created_at: { column: 'sessions.created_at', type: 'time', meaning: 'Time of the login' },
      last_seen_at: { column: 'sessions.last_seen_at', type: 'time', meaning: 'Last activity, to the minute' },
      expires_at: { column: 'sessions.expires_at', type: 'time', meaning: 'When it ends if nothing happens' },
    },
  },
  sorts: {
    created_at: { column: 'sessions.created_at', type: 'timestamptz' },
    last_seen_at: { column: 'sessions.last_seen_at', type: 'timestamptz' },
  },
  defaultSort: 'created_at',
};
