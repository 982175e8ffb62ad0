import type { CDPSession, Page } from 'playwright-core';
import type { TestLogin, TestService } from '../service';

/** Marks a page that offers passkeys in a field. */
const markOffers = `
  const get = navigator.credentials?.get.bind(navigator.credentials);
  if (get)
    navigator.credentials.get = (options) => {
      const request = get(options);
      if (options.mediation === 'conditional') document.documentElement.dataset.offersPasskeys = '';
      return request;
    };
`;

/** A device with passkeys, attached to a page. */
export class VirtualDevice {
  protected constructor(
    readonly page: Page,
    protected readonly cdp: CDPSession,
    protected readonly authenticatorId: string,
  ) {}

  /** Attaches a device that confirms every request. */
  static async attach(page: Page): Promise<VirtualDevice> {
    await page.addInitScript({ content: markOffers });
    return new VirtualDevice(page, ...(await VirtualDevice.authenticatorOf(page)));
  }

  /** Adds an authenticator to a page, which verifies its user and confirms every request. */
  protected static async authenticatorOf(page: Page, backupEligible = false): Promise<[CDPSession, string]> {
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
    return [cdp, authenticatorId];
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

  /**
   * Waits until the page offers passkeys in a field. An offer that comes later would replace the
   * request of a button.
   */
  async waitForOffer(): Promise<void> {
    await this.page.waitForSelector('html[data-offers-passkeys]');
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
