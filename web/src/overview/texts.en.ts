/** Texts of the start page. */
export const overviewTexts = {
  title: 'Overview',
  asOf: 'Updated',
  attention: {
    title: 'Needs attention',
    nothing: 'Nothing needs attention.',
    kinds: {
      users_locked: (count: string, one: boolean) => `${count} locked ${one ? 'user' : 'users'}`,
      users_must_enroll: (count: string, one: boolean) =>
        `${count} ${one ? 'user lacks' : 'users lack'} a required second factor`,
      api_keys_expiring: (count: string, one: boolean) =>
        `${count} ${one ? 'API key expires' : 'API keys expire'} within 14 days`,
      mails_failed: (count: string, one: boolean) => `${count} ${one ? 'e-mail' : 'e-mails'} could not be delivered`,
      attack: (count: string) => `${count} refused logins in the last hour, far more than usual`,
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
  sessionsHint: 'Logged in now',
  operations: 'Running operations',
  operationsHint: 'Bulk changes and imports',
  logins: {
    title: 'Logins in the last 24 hours',
    succeeded: 'Succeeded',
    failed: 'Failed',
    hour: 'Hour',
    byHour: 'Logins by hour',
    asTable: 'Show as table',
    asChart: 'Show as chart',
    none: 'No logins in the last 24 hours.',
    summary: (succeeded: string, failed: string, busiest: string) =>
      `Bar chart of the logins in the last 24 hours by hour: ${succeeded} succeeded, ${failed} failed. ` +
      `Most logins in the hour from ${busiest}.`,
    bar: (hour: string, succeeded: string, failed: string) => `${hour}: ${succeeded} succeeded, ${failed} failed`,
    now: 'now',
  },
};
