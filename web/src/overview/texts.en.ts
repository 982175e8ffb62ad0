/** Texts of the start page. */
export const overviewTexts = {
  title: 'Overview',
  asOf: 'Counted',
  attention: {
    title: 'Needs attention',
    nothing: 'Nothing needs attention.',
    kinds: {
      users_locked: (count: string, one: boolean) => `${count} locked ${one ? 'user' : 'users'}`,
      users_must_enroll: (count: string, one: boolean) =>
        `${count} ${one ? 'user lacks' : 'users lack'} a second factor that a role requires`,
      api_keys_expiring: (count: string, one: boolean) =>
        `${count} ${one ? 'API key expires' : 'API keys expire'} within 14 days`,
      mails_failed: (count: string, one: boolean) => `${count} ${one ? 'mail' : 'mails'} could not be delivered`,
    },
  },
  users: {
    title: 'Users',
    status: { active: 'Active', invited: 'Invited', disabled: 'Disabled' },
    types: { carrier: 'Carrier Users', system: 'System Users' },
    statusTitle: 'Status',
    total: 'Total',
    link: (count: string, type: string, status: string) => `${type}, ${status}: ${count}`,
  },
  sessions: 'Live sessions',
  sessionsHint: 'Users who are logged in now',
  operations: 'Operations running',
  operationsHint: 'Bulk changes and imports',
  logins: {
    title: 'Logins of the last 24 hours',
    succeeded: 'Succeeded',
    failed: 'Failed',
    hour: 'Hour',
    byHour: 'Logins by hour',
    asTable: 'Show as table',
    asChart: 'Show as chart',
    none: 'No logins in the last 24 hours.',
    summary: (succeeded: string, failed: string, busiest: string) =>
      `Bar chart of the logins of the last 24 hours by hour: ${succeeded} succeeded, ${failed} failed. ` +
      `Most in the hour from ${busiest}.`,
    bar: (hour: string, succeeded: string, failed: string) => `${hour}: ${succeeded} succeeded, ${failed} failed`,
    now: 'now',
  },
};
