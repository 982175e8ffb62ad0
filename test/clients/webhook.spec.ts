import { webhook, WebhookError } from '@carrier-identity/client';
import { Webhook } from 'standardwebhooks';

const secret = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`;
const other = `whsec_${Buffer.from('another secret of 24 byte').toString('base64')}`;
const data = { change_id: '0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f', type: 'user.changed', target_type: 'user' };
const body = JSON.stringify({ type: data.type, timestamp: '2026-11-20T13:00:00.000Z', data });

/** Headers as the package `standardwebhooks` signs them. */
function signed(by: string, at = new Date()): Record<string, string> {
  const signature = new Webhook(by).sign(data.change_id, at, body);
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  return { 'webhook-id': data.change_id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
}

describe('webhook()', () => {
  it('accepts signatures of standardwebhooks, for text and bytes, with headers of Node and of fetch', () => {
    const { verify } = webhook(secret);
    const event = { id: data.change_id, type: data.type, timestamp: '2026-11-20T13:00:00.000Z', data };
    expect(verify(signed(secret), body)).toEqual(event);
    expect(verify(new Headers(signed(secret)), Buffer.from(body))).toEqual(event);
  });

  it('accepts any of several signatures and secrets while a secret is rotated', () => {
    const headers = signed(secret);
    headers['webhook-signature'] = `v1a,AAAA ${signed(other)['webhook-signature']} ${headers['webhook-signature']}`;
    expect(webhook(secret).verify(headers, body).type).toBe('user.changed');
    expect(webhook(other, secret).verify(signed(secret), body).type).toBe('user.changed');
  });

  it('rejects a wrong secret, body, id or version, an old or future time, and missing headers', () => {
    const { verify } = webhook(secret);
    const headers = signed(secret);
    const minutes = (count: number) => signed(secret, new Date(Date.now() + count * 60_000));
    const forged: [Record<string, string>, string][] = [
      [signed(other), body],
      [headers, body.replace('user.changed', 'user.deleted')],
      [{ ...headers, 'webhook-id': 'another' }, body],
      [{ ...headers, 'webhook-signature': String(headers['webhook-signature']).replace('v1,', 'v2,') }, body],
      [{ ...headers, 'webhook-signature': '' }, body],
      [{ ...headers, 'webhook-timestamp': 'now' }, body],
      [minutes(-6), body],
      [minutes(6), body],
      [{}, body],
    ];
    for (const [wrong, text] of forged) expect(() => verify(wrong, text)).toThrow(WebhookError);
    expect(verify(minutes(-4), body).id).toBe(data.change_id);
  });

  it('refuses to start without a secret, because an empty one would accept forged webhooks', () => {
    for (const wrong of [[], [''], ['whsec_'], ['secret']]) expect(() => webhook(...wrong)).toThrow(TypeError);
  });
});
