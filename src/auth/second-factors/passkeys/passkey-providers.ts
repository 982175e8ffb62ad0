import providers from './passkey-providers.json';

const names = new Map(Object.entries(providers.names));

/**
 * Returns the name of the product that keeps a passkey, such as `Google Password Manager`, or null
 * if it is not known. The name helps users to recognise a passkey; it proves nothing.
 * @param aaguid model of the authenticator, as it described itself at enrolment
 */
export function providerOf(aaguid: string | null): string | null {
  return names.get(aaguid ?? '') ?? null;
}
