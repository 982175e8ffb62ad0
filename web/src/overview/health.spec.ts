import { type Health, problemsOf } from './health';

describe('the problems of the service', () => {
  const ok = { state: 'ok' } as const;
  const health = {
    mail: { state: 'warning' },
    jobs: { state: 'warning' },
    webhooks: { state: 'critical', disabled: 1, failing: 0 },
    database: ok,
    disk: ok,
  } as Health;

  it('leave out mails and webhooks that an item counts', () => {
    expect(problemsOf(health, ['mails_failing', 'webhooks_disabled'])).toEqual([{ part: 'jobs', state: 'warning' }]);
  });

  it('name mails and webhooks that no item counts yet', () => {
    expect(problemsOf(health, ['users_locked']).map(({ part }) => part)).toEqual(['webhooks', 'mail', 'jobs']);
  });
});
