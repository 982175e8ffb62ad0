import type { CDPSession, Page } from 'playwright-core';
import type { TestLogin, TestService } from './service';

/** A virtual authenticator of a page. */
export interface PageAuthenticator {
  cdp: CDPSession;
  authenticatorId: string;
}

/** Adds an authenticator to a page, which verifies its user and confirms every request. */
export async function addAuthenticator(page: Page, backupEligible = false): Promise<PageAuthenticator> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      defaultBackupEligibility: backupEligible,
      defaultBackupState: backupEligible,
    },
  });
  return { cdp, authenticatorId };
}

/** A device with passkeys, attached to a page. */
export class VirtualDevice {
  private constructor(
    private readonly page: Page,
    private readonly cdp: CDPSession,
    private readonly authenticatorId: string,
  ) {}

  /** Attaches a device that confirms every request. */
  static async attach(page: Page): Promise<VirtualDevice> {
    const { cdp, authenticatorId } = await addAuthenticator(page);
    return new VirtualDevice(page, cdp, authenticatorId);
  }

  /** Adds a passkey of a user over the API. */
  async enrol(service: TestService, { token }: TestLogin): Promise<void> {
    const { body } = await service.post('/auth/factor/passkey/options', { token, body: {} });
    const passkey = await this.page.evaluate(`(async () => {
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(body.options)});
      return (await navigator.credentials.create({ publicKey })).toJSON();
    })()`);
    const added = { name: 'Laptop', challenge: body.challenge, passkey };
    expect((await service.post('/auth/factor/passkey', { token, body: added })).status).toBe(201);
  }

  /** Sets whether the device recognizes its user. Otherwise the browser cancels its request. */
  async recognizes(isUserVerified: boolean): Promise<void> {
    await this.cdp.send('WebAuthn.setUserVerified', { authenticatorId: this.authenticatorId, isUserVerified });
  }

  /** Sets whether the device confirms requests as if it were touched. */
  async confirms(enabled: boolean): Promise<void> {
    const { authenticatorId } = this;
    await this.cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  }
}
