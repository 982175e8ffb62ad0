import type { Browser } from 'playwright-core';
import type { TestAnswer, TestLogin, TestRequest, TestService } from '../service';
import { VirtualDevice } from '../console/virtual-device';

/** The result of `navigator.credentials.create()` or `get()` as a browser serializes it. */
export type PasskeyJson = Record<string, unknown> & { id: string; response: Record<string, unknown> };

/** A passkey inside the virtual authenticator. */
export interface VirtualCredential {
  credentialId: string;
  signCount: number;
  [field: string]: unknown;
}

/** Origin of the default `PUBLIC_URL` of tests. */
const passkeyOrigin = 'http://localhost:3000';

/** A page of a portal. Its scripts convert options and results between JSON and WebAuthn. */
const html = `<!doctype html>
<title>Log in</title>
<input id="name" autocomplete="username webauthn">
<script>
  const create = async (options) => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return (await navigator.credentials.create({ publicKey })).toJSON();
  };
  const get = async (options, request) => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return (await navigator.credentials.get({ publicKey, ...request })).toJSON();
  };
</script>`;

/**
 * A real page on an origin of the service, and a virtual authenticator that keeps passkeys.
 * The page serializes options and results exactly as a portal does.
 */
export class PasskeyBrowser extends VirtualDevice {
  static async open(browser: Browser, origin = passkeyOrigin, backupEligible = false): Promise<PasskeyBrowser> {
    const page = await (await browser.newContext()).newPage();
    await page.route(`${origin}/**`, (route) => route.fulfill({ contentType: 'text/html', body: html }));
    await page.goto(`${origin}/login`);
    return new PasskeyBrowser(page, ...(await VirtualDevice.authenticatorOf(page, backupEligible)));
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  /** Opens a page of another origin in the same tab, with the same authenticator. */
  async goto(origin: string): Promise<void> {
    await this.page.route(`${origin}/**`, (route) => route.fulfill({ contentType: 'text/html', body: html }));
    await this.page.goto(`${origin}/login`);
  }

  /** Creates a passkey. */
  create(options: object): Promise<PasskeyJson> {
    return this.page.evaluate(`create(${JSON.stringify(options)})`);
  }

  /** Signs a challenge with a passkey. With `conditional`, the passkey is offered as autofill. */
  get(options: object, mediation: 'optional' | 'conditional' = 'optional'): Promise<PasskeyJson> {
    return this.page.evaluate(`get(${JSON.stringify(options)}, ${JSON.stringify({ mediation })})`);
  }

  /** Lists the passkeys of the authenticator. */
  async credentials(): Promise<VirtualCredential[]> {
    const { credentials } = await this.cdp.send('WebAuthn.getCredentials', { authenticatorId: this.authenticatorId });
    return credentials as unknown as VirtualCredential[];
  }

  /** Replaces a passkey by a copy with another signature counter, as a cloned authenticator has. */
  async setCounter(credentialId: string, signCount: number): Promise<void> {
    const { authenticatorId } = this;
    const credential = (await this.credentials()).find((one) => one.credentialId === credentialId);
    if (credential === undefined) throw new Error('no such passkey');
    await this.cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId });
    await this.cdp.send('WebAuthn.addCredential', {
      authenticatorId,
      credential: { ...credential, signCount } as never,
    });
  }
}

/** The options of a request, and the challenge that goes back with the passkey. */
export interface PasskeyOptions {
  options: Record<string, unknown>;
  challenge: string;
}

/** A user with a passkey. */
export interface PasskeyHolder extends TestLogin {
  name: string;
  email: string;
  factor_id: string;
  recovery_codes: string[];
}

/** Requests options. */
export async function optionsOf(
  service: TestService,
  path: string,
  request: TestRequest = {},
): Promise<PasskeyOptions> {
  const { status, body, text } = await service.post(path, request);
  if (status !== 200) throw new Error(`${path}: ${text}`);
  return body as PasskeyOptions;
}

/** Enrols a passkey over the API. */
export async function addPasskey(
  service: TestService,
  device: PasskeyBrowser,
  token: string,
  name = 'Laptop',
): Promise<TestAnswer> {
  const { options, challenge } = await optionsOf(service, '/auth/factor/passkey/options', { token });
  const passkey = await device.create(options);
  return service.post('/auth/factor/passkey', { token, body: { name, challenge, passkey } });
}

/** Creates a user who has a passkey on a device. */
export async function passkeyHolder(
  service: TestService,
  device: PasskeyBrowser,
  fields: Record<string, unknown> = {},
): Promise<PasskeyHolder> {
  const user = await service.loginAs(fields);
  const { status, body, text } = await addPasskey(service, device, user.token);
  if (status !== 201) throw new Error(`enrolment: ${text}`);
  return { ...user, factor_id: body.factor_id, recovery_codes: body.recovery_codes };
}

/** Signs the challenge of a login without name. Returns the body of the login. */
export async function signLogin(
  service: TestService,
  device: PasskeyBrowser,
): Promise<{ challenge: string; passkey: PasskeyJson }> {
  const { options, challenge } = await optionsOf(service, '/auth/passkey/options');
  return { challenge, passkey: await device.get(options) };
}

/** Logs in without name and password. */
export async function loginWithPasskey(service: TestService, device: PasskeyBrowser, ip?: string): Promise<TestAnswer> {
  const body = await signLogin(service, device);
  return service.post('/auth/passkey/login', ip === undefined ? { body } : { body, ip });
}
