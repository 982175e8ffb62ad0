import { hostFaults, hostUrls } from './host-urls';

it('returns one URL per host, with its port and all other parts', () => {
  const urls = hostUrls('postgres://u:p,w@h1,h2:5433,[::1]:6,%2Frun/db?sslmode=disable&a=1,2');
  const expected = ['h1', 'h2:5433', '[::1]:6', '%2Frun'];
  expect(urls).toEqual(expected.map((host) => `postgres://u:p,w@${host}/db?sslmode=disable&a=1,2`));
});

it.each(['postgres://u@h/db?x=1,2', 'postgres://u:a,b@[::1]:1/db', 'postgres:///db?host=/run', 'not a URL'])(
  'leaves %s as it is',
  (url) => expect(hostUrls(url)).toEqual([url]),
);

it.each([
  ['postgres://h1,h2/db', []],
  ['postgres://h1,h2/db?target_session_attrs=primary', []],
  ['postgres://h1/db?target_session_attrs=any', []],
  ['postgres://h1,,h3/db', ['must have a host before and after each comma']],
  [`postgres://${Array(9).fill('h').join()}/db`, ['must have at most 8 hosts']],
  [
    'postgres://h1,h2/db?target_session_attrs=any',
    ['target_session_attrs must be read-write or primary: the service writes to the database'],
  ],
])('finds the faults of %s', (url, faults) => expect(hostFaults(url)).toEqual(faults));
