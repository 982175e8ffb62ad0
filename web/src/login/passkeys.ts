import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
  WebAuthnAbortService,
} from '@simplewebauthn/browser';
import { ApiProblem } from '../api/problems';
import type { components } from '../api/schema';

type Options = components['schemas']['PasskeyOptionsResponse'];

/** Whether this browser can use passkeys on this page. Passkeys need HTTPS or localhost. */
export const canUsePasskeys = window.isSecureContext && browserSupportsWebAuthn();

/** Asks the user for a passkey. @throws ApiProblem `passkey.not_used` if the user cancels */
export async function askForPasskey({ options }: Options): Promise<Record<string, unknown>> {
  try {
    return { ...(await startAuthentication({ optionsJSON: requestOptions(options) })) };
  } catch {
    throw new ApiProblem({ code: 'passkey.not_used', status: 0 });
  }
}

/**
 * Lets the browser offer passkeys in the field for the login name, and waits until the user selects
 * a passkey. Returns null if another passkey prompt replaces this one.
 */
export async function offerPasskeys({ options }: Options): Promise<object | null> {
  if (!(await browserSupportsWebAuthnAutofill())) return null;
  try {
    return await startAuthentication({ optionsJSON: requestOptions(options), useBrowserAutofill: true });
  } catch {
    return null;
  }
}

const requestOptions = (options: Options['options']) => options as unknown as PublicKeyCredentialRequestOptionsJSON;

/** Creates a passkey. Returns null if the user cancels or the device already has a passkey. */
export async function createPasskey({ options }: Options): Promise<object | null> {
  try {
    return await startRegistration({ optionsJSON: options as unknown as PublicKeyCredentialCreationOptionsJSON });
  } catch {
    return null;
  }
}

/** Cancels the passkey prompt, for example when the login page closes. */
export function cancelPasskeyPrompt(): void {
  WebAuthnAbortService.cancelCeremony();
}
