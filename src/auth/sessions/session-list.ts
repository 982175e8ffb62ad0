import { userTypes } from '../../access/actor';
import type { Scope } from '../../access/scope';
import type { ListSpec } from '../../http/lists/list-query';
import { endedReasons } from './session.entity';

/** Sessions that an actor may read or end. */
export interface SessionReach {
  scope: Scope;
  /** all sessions within the scope instead of the actor's own */
  others: boolean;
}

/** Filters and sort fields of session lists. */
export const sessionList: ListSpec = {
  name: 'sessions',
  filter: {
    selects: 'session',
    fields: {
      session_id: { type: 'uuid', meaning: 'Id of the session' },
      user_id: { type: 'uuid', meaning: 'Id of the user' },
      user_type: { type: 'text', values: userTypes, meaning: 'Kind of user' },
      name: { type: 'text', fold: true, meaning: 'Login name of the user' },
      email: { type: 'text', fold: true, meaning: 'E-mail address of the user' },
      carrier_id: { type: 'text', nullable: true, meaning: 'Carrier of the user' },
      ip: { type: 'address', nullable: true, meaning: 'Address of the login (address or CIDR)' },
      user_agent: { type: 'text', nullable: true, meaning: 'User agent of the login' },
      active: { type: 'boolean', meaning: 'Whether the session is live' },
      mfa: { type: 'boolean', meaning: 'Whether the user authenticated with two factors' },
      ended_reason: { type: 'text', nullable: true, values: endedReasons, meaning: 'Why the session ended' },
      created_at: { type: 'time', meaning: 'Time of the login' },
      last_seen_at: { type: 'time', meaning: 'Last activity, to the minute' },
      expires_at: { type: 'time', meaning: 'When the session expires without activity' },
    },
  },
  sorts: { created_at: { type: 'time' }, last_seen_at: { type: 'time' }, expires_at: { type: 'time' } },
  defaultSort: 'created_at',
};
