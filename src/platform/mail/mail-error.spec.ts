import { mailError, shownMailError } from './mail-error';

const mail = { name: 'reset', recipient: 'Ada.B@example.com', key: Buffer.from('key') };
const shown = (error: unknown) => shownMailError(mailError(error, mail).message);
const failure = (message: string, fields: object) => Object.assign(new Error(message), fields);
const token = 'A'.repeat(43);

describe('errors of mails', () => {
  it('shows the first line of the response', () => {
    const response = '550 5.1.1 mailbox unavailable\r\n550 second line';
    expect(shown(failure('Message failed', { code: 'EMESSAGE', response }))).toBe('550 5.1.1 mailbox unavailable');
  });

  it.each([
    ['connect ECONNREFUSED 10.1.2.3:25', { code: 'ESOCKET' }, 'not reachable'],
    ['getaddrinfo ENOTFOUND smtp.internal', { code: 'EDNS' }, 'not reachable'],
    ['Missing credentials for "PLAIN"', { code: 'EAUTH' }, 'the login was rejected'],
    ['self-signed certificate', { code: 'ETLS' }, 'the connection cannot be encrypted'],
  ])('hides hosts and ports: %s', (message, fields, text) => {
    expect(shown(failure(message, fields))).toBe(text);
  });

  it('shows no text of any other error', () => {
    for (const message of ['relation "users" does not exist', 'ENOSPC: no space left on device, write /data/x'])
      expect(shown(failure(message, {}))).toBe('The service failed to prepare the mail. The log contains the error.');
  });

  it('shows neither links nor tokens that the server quotes (R21)', () => {
    const response = `554 spam: https://identity.example.net/auth/reset/${token} and ${token}`;
    expect(shown(failure('x', { response }))).toBe('554 spam: [link] and [token]');
  });

  it.each([
    ['550 5.1.1 <ada.b@example.com>: user unknown', '550 5.1.1 <[address]>: user unknown'],
    ['550 no such user: Ada.B.', '550 no such user: [address]'],
    ["450 greylisted, rcpt=ada.b@EXAMPLE.com,from='x@y.test'", "450 greylisted, rcpt=[address],from='[address]'"],
    ['connect ECONNREFUSED 127.0.0.1:25', 'connect ECONNREFUSED 127.0.0.1:25'],
  ])('removes addresses from "%s" (O9)', (text, clean) => {
    const { message, fields } = mailError(failure(text, { response: text }), mail);
    expect([message, fields['error']]).toEqual([`mail server: ${clean}`, clean]);
  });

  it('names the mail and a keyed hash of the recipient, the same for every spelling', () => {
    const fieldsOf = (recipient: string, key = mail.key) =>
      mailError(new Error('x'), { name: 'reset', recipient, key }).fields;
    const fields = fieldsOf('ada.b@example.com');
    const recipient_hash = expect.stringMatching(/^[0-9a-f]{16}$/);
    expect(fields).toEqual({ mail: 'reset', recipient_hash, error: 'x' });
    expect(fieldsOf('ADA.B@example.com')).toEqual(fields);
    expect(fieldsOf('ada.c@example.com')).not.toEqual(fields);
    expect(fieldsOf('ada.b@example.com', Buffer.from('other'))).not.toEqual(fields);
  });
});
