import { addressKey, clientAddress, isAddressOrCidr } from './ip';

describe('IP addresses', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['::ffff:7f00:1', '127.0.0.1'],
    ['::10.1.2.3', '0:0:0:0::/64'],
    ['[2001:db8::1]:8080', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('groups %s as %s (F34)', (ip, key) => {
    expect(addressKey(ip)).toBe(key);
  });

  it('accepts addresses and CIDRs', () => {
    expect(['10.0.0.0/8', '::/0', '1.2.3.4'].every(isAddressOrCidr)).toBe(true);
    expect(['10.0.0.0/33', '10.0.0.0/', 'fe80::1%eth0', 'x', '1.2.3.4/8/8', '1.2.3.4/08'].some(isAddressOrCidr)).toBe(
      false,
    );
  });

  it('takes only mapped IPv6 addresses for IPv4 addresses', () => {
    expect(['::ffff:10.1.2.3', '::10.1.2.3'].map(clientAddress)).toEqual(['10.1.2.3', '::a01:203']);
  });

  it('returns no address for a disconnected client, and the same key for all of them', () => {
    expect([clientAddress(undefined), addressKey(undefined), addressKey('')]).toEqual([null, 'unknown', 'unknown']);
  });
});
