import { type RotationResult, SigningKeyRotation } from '../auth/signing-keys/signing-key-rotation.service';
import { withApplication } from './application';

/** Creates the next signing key and prints the result. */
export async function rotateKeys(options: { now?: boolean; revoke?: boolean }): Promise<void> {
  await withApplication(async (app) => console.log(describe(await app.get(SigningKeyRotation).rotate(options))));
}

function describe({ created, kid, signs_from, revoked }: RotationResult): string {
  const time = signs_from.toISOString();
  if (revoked > 0) {
    const others = revoked === 1 ? '1 other key is' : `${revoked} other keys are`;
    return `The new key ${kid} signs. ${others} revoked. Sessions continue after a refresh of their access tokens.`;
  }
  if (!created) return `Nothing to do: the key ${kid} is already scheduled and signs from ${time} on.`;
  return `The new key ${kid} signs from ${time} on. Existing tokens stay valid until they expire.`;
}
