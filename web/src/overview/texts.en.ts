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
      attack: (count: string) => `${count} rejected logins in the last hour, far more than usual`,
      mails_failing: (count: string, one: boolean) =>
        `${count} ${one ? 'e-mail is' : 'e-mails are'} failing and will be retried`,
      webhooks_disabled: (count: string, one: boolean) =>
        `${count} ${one ? 'webhook was' : 'webhooks were'} disabled by the service`,
      webhooks_failing: (count: string, one: boolean) => `${count} ${one ? 'webhook is' : 'webhooks are'} failing`,
    },
    remedies: {
      attack: 'Find out where the logins come from, and block the network.',
      users_locked: 'Unlock users, or wait until the lockout ends.',
      users_must_enroll: 'Remind the users, or issue enrollment codes.',
      api_keys_expiring: 'Replace the secret, and choose a later expiry.',
      mails_failed: 'Check the addresses, and send the e-mails again.',
      mails_failing: 'Read the responses of the mail server, and correct wrong addresses.',
      webhooks_disabled: 'A module is missing changes. Find the reason, and enable the webhook again.',
      webhooks_failing: 'Read the responses of the targets, or skip a change that fails.',
    },
  },
  health: {
    title: 'Health',
    parts: { mail: 'E-mail', jobs: 'Background jobs', webhooks: 'Webhooks', database: 'Database', disk: 'Disk' },
    states: { ok: 'OK', warning: 'Warning', critical: 'Critical' },
    details: {
      nothingWaits: 'Nothing waiting',
      onTime: 'On time',
      mail: (waiting: string, oldest: string) => `${waiting} waiting, the oldest for ${oldest}`,
      jobs: (overdue: string, failed: string) => `${overdue} overdue, ${failed} failed`,
      webhooks: (disabled: string, failing: string) => `${disabled} disabled, ${failing} failing`,
      behind: (time: string) => `Behind by ${time}`,
      database: (size: string, used: string, max: string) => `${size}, ${used} of ${max} connections`,
      disk: (free: string, total: string) => `${free} of ${total} free`,
    },
    problems: {
      mail: {
        warning: ['Some e-mails are failing', 'Read the responses of the mail server.'],
        critical: [
          'The mail server cannot be used',
          'Check that it is running, and check its address and credentials.',
        ],
      },
      jobs: {
        warning: ['Background jobs failed', 'The log of the service contains their errors.'],
        critical: ['Background jobs have stalled', 'Check that an instance runs them, and read its log.'],
      },
      webhooks: {
        warning: ['Webhooks are delayed', 'Check that an instance sends them, and read its log.'],
        critical: ['Webhooks were disabled', 'Find the reason, and enable them again.'],
      },
      database: {
        warning: ['The database is running out of connections', 'Lower DATABASE_POOL_MAX, or raise max_connections.'],
        critical: ['The database has almost no free connections', 'Lower DATABASE_POOL_MAX, or raise max_connections.'],
      },
      disk: {
        warning: ['The disk of the database is filling up', 'Free space, or enlarge the disk.'],
        critical: [
          'The disk of the database is almost full',
          'Free space now. The database stops when the disk is full.',
        ],
      },
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
  sessions: 'Sessions',
  sessionsHint: 'Live now',
  operations: 'Operations',
  operationsHint: 'Running now',
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
