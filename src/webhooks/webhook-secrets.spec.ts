import { Webhook } from 'standardwebhooks';
import { currentTime } from '../platform/clock';
import { WebhookSecrets } from './webhook-secrets';

const id = '0191f0a0-0000-7000-8000-000000000000';
const first = new WebhookSecrets({ APP_SECRET: 'a'.repeat(40) });
const second = new WebhookSecrets({ APP_SECRET: 'b'.repeat(40), APP_SECRET_PREVIOUS: 'a'.repeat(40) });
const third = new WebhookSecrets({ APP_SECRET: 'b'.repeat(40) });

describe('the secrets of webhooks', () => {
  const { secret, sealed } = first.mint(id);
  const now = Math.floor(currentTime().getTime() / 1_000);
  const sign = (secrets: WebhookSecrets, stored = sealed, webhook_id = id) =>
    secrets.sign({ webhook_id, secret: stored, old_secret: null }, 'change', now, '{"a":1}');

  it('sign like the library of Standard Webhooks', () => {
    expect(new Webhook(secret).verify('{"a":1}', sign(first) ?? {})).toEqual({ a: 1 });
    expect(() => new Webhook(secret).verify('{"a":2}', sign(first) ?? {})).toThrow();
  });

  it('can be read for their own webhook only, and not without their APP_SECRET', () => {
    expect(sign(first, sealed, id.replace('7000', '7001'))).toBeNull();
    expect(sign(third)).toBeNull();
  });

  it('move from APP_SECRET_PREVIOUS to APP_SECRET, the old one of a rotation too', () => {
    const old = first.mint(id).sealed;
    const renewed = second.renew({ webhook_id: id, secret: sealed, old_secret: old });
    expect(new Webhook(secret).verify('{"a":1}', sign(third, renewed?.secret) ?? {})).toEqual({ a: 1 });
    expect(sign(third, renewed?.old_secret ?? undefined)).not.toBeNull();
    expect(second.renew({ webhook_id: id, secret: renewed?.secret ?? sealed, old_secret: null })).toBeNull();
    expect(third.renew({ webhook_id: id, secret: sealed, old_secret: null })).toBeNull();
  });
});
