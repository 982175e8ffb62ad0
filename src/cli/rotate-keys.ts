import { type Rotation, SigningKeyRotation } from '../signing-keys/signing-key-rotation.service';
import { withApplication } from './application';

const flags = ['--now', '--revoke'];

/** Makes the next signing key and says what it did. @throws when it does not know a flag */
export async function rotateKeys(args: string[]): Promise<void> {
  const unknown = args.filter((arg) => !flags.includes(arg));
  if (unknown.length > 0)
    throw new Error(`rotate-keys does not know ${unknown.join(' ')}; it takes ${flags.join(' and ')}`);
  const revoke = args.includes('--revoke');
  const now = args.includes('--now');
  await withApplication(async (app) =>
    console.log(describe(await app.get(SigningKeyRotation).rotate({ now, revoke }))),
  );
}

function describe({ done, kid, signs_from, revoked }: Rotation): string {
  const time = signs_from.toISOString();
  if (revoked > 0)
    return `The new key ${kid} signs. ${revoked} other${revoked === 1 ? ' is' : 's are'} revoked: sessions go on, their access tokens must be refreshed.`;
  if (done === 'none') return `Nothing to do: the key ${kid} is scheduled already, it signs from ${time} on.`;
  const what = done === 'made' ? `The new key ${kid}` : `The key ${kid}, which was scheduled for later,`;
  return `${what} signs from ${time} on. Older tokens stay good until they expire.`;
}
