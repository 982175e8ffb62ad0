import { mailFault } from './mail-fault';

const key = Buffer.alloc(32, 1);
const faultOf = (message: string, recipient = 'ada.b@example.com') =>
  mailFault(new Error(message), 'reset', recipient, key);

it.each([
  ['550 5.1.1 <ada.b@example.com>: user unknown', '550 5.1.1 <[address]>: user unknown'],
  ['550 no such user: Ada.B.', '550 no such user: [address]'],
  ["450 greylisted, rcpt=ada.b@EXAMPLE.com,from='x@y.test'", "450 greylisted, rcpt=[address],from='[address]'"],
  ['connect ECONNREFUSED 127.0.0.1:25', 'connect ECONNREFUSED 127.0.0.1:25'],
])('removes addresses from "%s"', (message, shown) => {
  expect(faultOf(message).message).toBe(shown);
});

it('names the mail and a keyed hash of the recipient, the same for every spelling', () => {
  const { fields } = faultOf('x');
  expect(fields).toEqual({ mail: 'reset', recipient_hash: expect.stringMatching(/^[0-9a-f]{16}$/) });
  expect(faultOf('y', 'ADA.B@example.com').fields).toEqual(fields);
  expect(faultOf('x', 'ada.c@example.com').fields).not.toEqual(fields);
  expect(mailFault(new Error('x'), 'reset', 'ada.b@example.com', Buffer.alloc(32, 2)).fields).not.toEqual(fields);
});
