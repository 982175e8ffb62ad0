import { queryClient } from './query-client';

declare module '@tanstack/react-query' {
  interface Register {
    queryKey: readonly [Subject, ...unknown[]];
  }
}

/** A subject of the API. The key of each query starts with the subject that it reads. */
export type Subject =
  | 'address-blocks'
  | 'api-keys'
  | 'attacks'
  | 'audit'
  | 'carriers'
  | 'factors'
  | 'mails'
  | 'me'
  | 'operations'
  | 'overview'
  | 'roles'
  | 'sessions'
  | 'users'
  | 'webhooks';

/** What a change of a subject makes stale besides the subject itself and the overview. */
const staleWith: Record<Subject, Subject[]> = {
  'address-blocks': ['attacks', 'audit', 'users'],
  'api-keys': ['audit'],
  attacks: [],
  audit: [],
  carriers: [],
  factors: ['me', 'users', 'sessions', 'audit'],
  mails: ['users'],
  me: ['users', 'sessions', 'audit'],
  operations: ['users', 'carriers', 'sessions', 'mails', 'audit'],
  overview: [],
  roles: ['me', 'users', 'sessions', 'audit'],
  sessions: ['users', 'audit'],
  users: ['carriers', 'factors', 'sessions', 'mails', 'api-keys', 'audit'],
  webhooks: ['audit'],
};

/** Reloads what the page shows of a changed subject, and of everything that depends on it. */
export async function changed(subject: Subject): Promise<void> {
  const subjects: Subject[] = [subject, 'overview', ...staleWith[subject]];
  await Promise.all(subjects.map((name) => queryClient.invalidateQueries({ queryKey: [name] })));
}
