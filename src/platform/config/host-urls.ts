/** Maximum number of hosts in a URL. */
const hostsMax = 8;
/** The parts before and after the hosts of a URL, and the hosts. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;
/** The service writes, so it cannot use the other values of libpq. */
const sessions = ['read-write', 'primary'];

/**
 * Returns the URLs of the hosts of a URL such as `postgres://h1,h2:5433,[::1]/db`, one per host.
 * @see https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
 */
export function hostUrls(url: string): string[] {
  const [, before, hosts, after] = parts.exec(url) ?? [];
  if (hosts === undefined || !hosts.includes(',')) return [url];
  return hosts.split(',').map((host) => `${before}${host}${after}`);
}

/** Returns what is wrong with the hosts of a URL, without repeating the URL. */
export function hostFaults(url: string): string[] {
  const urls = hostUrls(url);
  if (urls.length === 1) return [];
  const session = new URL(urls[0] as string).searchParams.get('target_session_attrs');
  return [
    ...(urls.length > hostsMax ? [`must have at most ${hostsMax} hosts`] : []),
    ...(urls.some((one) => new URL(one).host === '') ? ['must have a host before and after each comma'] : []),
    ...(session === null || sessions.includes(session)
      ? []
      : [`target_session_attrs must be ${sessions.join(' or ')}: the service writes to the database`]),
  ];
}
