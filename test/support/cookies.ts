import { password, type TestAnswer, type TestRequest, type TestService } from './service';

/** Form of a refresh token. */
export const refreshTokenForm = /^[A-Za-z0-9_-]{86}$/;
/** What browsers add to requests of pages of the service. */
export const sameOrigin = { 'sec-fetch-site': 'same-origin' };
/** Name of the refresh cookie of a service on port 3000 of localhost. */
export const cookieName = 'carrier-identity-3000';

/** Returns the `Set-Cookie` headers of a response. */
export function setCookiesOf({ headers }: TestAnswer): string[] {
  return [headers['set-cookie'] ?? []].flat().map(String);
}

/** Returns the value of the only cookie that a response sets. */
export function cookieOf(answer: TestAnswer): string {
  const cookies = setCookiesOf(answer);
  if (answer.status !== 200 || cookies.length !== 1) throw new Error(`no cookie: ${answer.text}`);
  return /=([^;]*)/.exec(cookies[0] ?? '')?.[1] ?? '';
}

/** Returns the headers of a request with refresh cookies. */
export function withCookies(...values: string[]): { headers: { cookie: string } } {
  return { headers: { cookie: values.map((value) => `${cookieName}=${value}`).join('; ') } };
}

/** A page of the service, which uses the cookie transport for a user. */
export class CookiePage {
  private constructor(
    private readonly service: TestService,
    readonly name: string,
  ) {}

  /** Creates a user with a page. */
  static async create(service: TestService): Promise<CookiePage> {
    return new CookiePage(service, (await service.createUser()).name);
  }

  /** Name and password of the user. */
  get credentials(): { login: string; password: string } {
    return { login: this.name, password };
  }

  /** Sends a request with `transport: "cookie"` to `/auth/<path>`. */
  post(path: string, body: object, request: TestRequest = {}): Promise<TestAnswer> {
    return this.service.post(`/auth/${path}`, {
      ...request,
      body: { transport: 'cookie', ...body },
      headers: { ...sameOrigin, ...request.headers },
    });
  }

  /** Logs in, and returns the new session with its tokens. */
  async login(): Promise<{ cookie: string; token: string; session_id: string }> {
    const answer = await this.post('login', this.credentials);
    return { cookie: cookieOf(answer), token: answer.body.access_token, session_id: answer.body.session_id };
  }
}
