import { WebhookTargets } from './webhook-targets';

const strict = new WebhookTargets([]);
const relaxed = new WebhookTargets(['10.1.0.0/16', '127.0.0.1', 'fd00:1::/32']);
const forbidden = { code: 'webhook.url_forbidden' };

it.each([
  ...['127.0.0.1', '127.1', '2130706433', '017700000001', '0x7f000001', '0x7f.1', '127.0.0.1.', '１２７.0.0.1'],
  ...['0.0.0.0', '0', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '192.0.0.192', '198.18.0.1'],
  ...['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', '224.0.0.1', '255.255.255.255'],
  ...['240.0.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1', '192.88.99.1'],
  ...['[::]', '[::1]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:8.8.8.8]'],
  ...['[::ffff:0:127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b::8.8.8.8]', '[64:ff9b:1::a9fe:a9fe]'],
  ...['[2002:7f00:1::]', '[2001:0:7f00:1::]', '[fe80::1]', '[fec0::1]', '[fc00::1]', '[fd00:ec2::254]'],
  ...['[ff02::1]', '[100::1]', '[2001:db8::1]', '[3fff::1]', '[4000::1]', '[::8.8.8.8]'],
])('rejects a URL with the address %s (W1)', (host) => {
  expect(strict.faultOf(`https://${host}/hook`)).toMatchObject(forbidden);
});

it.each([
  ['another scheme', 'ftp://hooks.example.net/'],
  ['a file', 'file:///etc/passwd'],
  ['a data URL', 'data:text/plain,x'],
  ['a user name', 'https://user@hooks.example.net/'],
  ['a password', 'https://:secret@hooks.example.net/'],
  ['a host name as user name', 'https://hooks.example.net@127.0.0.1/'],
  ['a fragment', 'https://hooks.example.net/#part'],
  ['the port of SSH', 'https://hooks.example.net:22/'],
  ['the port of SMTP', 'https://hooks.example.net:25/'],
  ['the port of plain HTTP', 'https://hooks.example.net:80/'],
  ['the last well-known port', 'https://hooks.example.net:1023/'],
])('rejects a URL with %s (W4)', (_what, url) => {
  expect(strict.faultOf(url)).toMatchObject(forbidden);
  expect(relaxed.faultOf(url)).toMatchObject(forbidden);
});

it('rejects HTTP without allowed networks, and outside them (W6)', () => {
  expect(strict.faultOf('http://hooks.example.net/')).toMatchObject(forbidden);
  expect(relaxed.faultOf('http://93.184.216.34/')).toMatchObject(forbidden);
  expect(relaxed.permits('http:', '93.184.216.34')).toBe(false);
});

it('rejects text that is no URL, and URLs of more than 2,048 characters', () => {
  for (const url of ['', 'hooks.example.net', 'https://', 'https://host:99999/', 'https://[fe80::1%25eth0]/'])
    expect([url, strict.faultOf(url)]).toEqual([url, { code: 'field.malformed', detail: 'must be a URL' }]);
  const path = 'https://hooks.example.net/'.padEnd(2_048, 'x');
  expect(strict.faultOf(path)).toBeUndefined();
  expect(strict.faultOf(`${path}x`)).toMatchObject({ code: 'field.too_long', params: { max: 2_048 } });
});

it.each([
  ...['https://hooks.example.net', 'https://hooks.example.net:443/a?b=c@d', 'https://hooks.example.net:1024/'],
  ...['https://93.184.216.34:8443/', 'https://[2606:4700::1111]/', 'https://münchen.example/'],
])('accepts the public target %s', (url) => expect(strict.faultOf(url)).toBeUndefined());

it('accepts exactly the allowed networks, also without TLS', () => {
  for (const host of ['10.1.255.1', '127.0.0.1', '[fd00:1:ff::1]', 'hooks.internal'])
    for (const url of [`http://${host}/`, `http://${host}:8080/`, `https://${host}:8443/`])
      expect([url, relaxed.faultOf(url)]).toEqual([url, undefined]);
  for (const host of ['10.2.0.1', '127.0.0.2', '[fd00:2::1]', '[::ffff:10.1.0.1]'])
    expect([host, relaxed.faultOf(`http://${host}/`)]).toMatchObject([host, forbidden]);
});
