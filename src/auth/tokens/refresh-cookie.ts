import { parseCookie, stringifySetCookie } from 'cookie';
import type { Config } from '../../platform/config/config';

/** The settings that decide the name and the attributes of the cookie. */
type CookieSettings = Pick<Config, 'PUBLIC_URL' | 'BASE_PATH'>;

/** The cookie with the refresh token, in one request and its response. */
export class RefreshCookie {
  /** @param send adds a `Set-Cookie` header to the response */
  constructor(
    private readonly settings: CookieSettings,
    private readonly header: string | undefined,
    private readonly send: (setCookie: string) => void,
  ) {}

  /**
   * Returns the refresh token, or undefined if the browser sent no cookie.
   * Returns an empty string, which is never a valid token, if the browser sent several cookies:
   * another application planted one of them, and their order does not tell which (H22).
   */
  read(): string | undefined {
    const name = nameOf(this.settings);
    // `parseCookie` keeps only the first of several cookies with the same name.
    // Decodes only pairs that contain the name: a header may have thousands of other pairs.
    const pairs = (this.header ?? '').split(';').filter((pair) => pair.includes(name));
    const values = pairs.map((pair) => parseCookie(pair)[name]);
    const [value, ...others] = values.filter((one) => one !== undefined);
    return others.length === 0 ? value : '';
  }

  /** Sets the cookie, which expires when the session ends without a refresh. */
  write(refresh_token: string, refresh_expires_in: number): void {
    this.send(setCookieOf(this.settings, refresh_token, refresh_expires_in));
  }

  /** Removes the cookie. Never call it on a failure: the cookie may be newer than the request. */
  remove(): void {
    this.send(setCookieOf(this.settings, '', 0));
  }
}

/**
 * Returns the name of the cookie. Other hosts cannot set a cookie with the prefix `__Host-`. The
 * prefix requires the path `/`: with `BASE_PATH`, other applications on the host would receive the
 * cookie, so the prefix is then `__Secure-` (OWASP ASVS 3.3.1).
 */
function nameOf({ PUBLIC_URL, BASE_PATH }: CookieSettings): string {
  // Cookies do not distinguish ports, and several services may run on localhost.
  if (isLocalhost(PUBLIC_URL)) return `carrier-identity-${new URL(PUBLIC_URL).port || '80'}`;
  return BASE_PATH === '' ? '__Host-carrier-identity' : '__Secure-carrier-identity';
}

function setCookieOf(settings: CookieSettings, value: string, maxAge: number): string {
  return stringifySetCookie({
    name: nameOf(settings),
    value,
    maxAge,
    path: settings.BASE_PATH === '' ? '/' : `${settings.BASE_PATH}/auth`,
    httpOnly: true,
    sameSite: 'strict',
    secure: !isLocalhost(settings.PUBLIC_URL),
  });
}

function isLocalhost(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && hostname === 'localhost';
}
